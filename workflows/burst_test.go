package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// two is a burst of two claims.
func two() []app.Claim {
	first, second := claim, claim
	first.BurstID, second.BurstID = "bst_1", "bst_1"
	second.ID, second.EventID = "dlv_2", "evt_2"
	return []app.Claim{second, first}
}

var twoDeliveries = []activities.BurstDelivery{
	{DeliveryID: "dlv_2", StoreID: "sto_1", Queue: "web_1", EventID: "evt_2", EventType: "order.created",
		SubscriptionID: "whk_1"},
	{DeliveryID: "dlv_1", StoreID: "sto_1", Queue: "web_1", EventID: "evt_1", EventType: "order.created",
		SubscriptionID: "whk_1"},
}

// burstEnv runs a burst with the given activity.
func burstEnv(
	t *testing.T, deliver func(context.Context, activities.BurstInput) (activities.BurstResult, error),
) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := environment()
	env.RegisterWorkflowWithOptions(Burst, workflow.RegisterOptions{Name: workflowBurst})
	env.RegisterActivityWithOptions(deliver, activity.RegisterOptions{Name: activityDeliverBurst})
	return env
}

func runBurst(env *testsuite.TestWorkflowEnvironment) {
	env.ExecuteWorkflow(workflowBurst, BurstInput{
		ID: "bst_1", Deliveries: twoDeliveries,
		Policy: Policy{Schedule: sixAttempts, AttemptLimit: 15 * time.Second},
	})
}

func burstStateOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (states BurstState) {
	t.Helper()
	value, err := env.QueryWorkflow(QueryState)
	if err == nil {
		err = value.Get(&states)
	}
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func TestBurst(t *testing.T) {
	t.Parallel()
	failures := 2 // errors of the activity, for example because the database is unreachable
	others := []activities.BurstOther{{DeliveryID: "dlv_1", Outcome: activities.OutcomeContinues, Reason: "HTTP 503"}}
	want := activities.BurstResult{Delivered: 1, Others: others}
	env := burstEnv(t, func(ctx context.Context, in activities.BurstInput) (activities.BurstResult, error) {
		wantInput := activities.BurstInput{Deliveries: twoDeliveries, RetryIn: 30 * time.Second}
		if diff := cmp.Diff(wantInput, in); diff != "" {
			t.Errorf("input of the activity (-want +got):\n%s", diff)
		}
		if !activity.GetInfo(ctx).IsLocalActivity {
			t.Error("DeliverBurst runs as a regular activity, want a local one")
		}
		if failures > 0 {
			failures--
			return activities.BurstResult{}, errors.New("the database is away")
		}
		return want, nil
	})
	runBurst(env)
	var got activities.BurstResult
	if err := env.GetWorkflowResult(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	states := BurstState{
		{"evt_2", "whk_1", "dlv_2", "delivered", "", ""},
		{"evt_1", "whk_1", "dlv_1", "continues", "HTTP 503", "delivery/evt_1/whk_1"},
	}
	if diff := cmp.Diff(states, burstStateOf(t, env)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// Burst ignores cancellation, because an operator means at most one of its deliveries.
func TestBurstIgnoresCancellation(t *testing.T) {
	t.Parallel()
	env := burstEnv(t, func(context.Context, activities.BurstInput) (activities.BurstResult, error) {
		return activities.BurstResult{Delivered: 2}, nil
	})
	env.RegisterDelayedCallback(env.CancelWorkflow, 0)
	runBurst(env)
	if err := env.GetWorkflowError(); err != nil || burstStateOf(t, env)[1].State != "delivered" {
		t.Errorf("error %v, state %+v, want all delivered", err, burstStateOf(t, env))
	}
}

func TestBurstStateInProgress(t *testing.T) {
	t.Parallel()
	for _, delivery := range burstState(BurstInput{Deliveries: twoDeliveries}, nil) {
		if delivery.State != stateAttempting || delivery.WorkflowID != "" {
			t.Errorf("state %+v, want %s without a workflow", delivery, stateAttempting)
		}
	}
}

func TestBurstDetails(t *testing.T) {
	t.Parallel()
	other := func(outcomes ...activities.Outcome) (others []activities.BurstOther) {
		for _, outcome := range outcomes {
			others = append(others, activities.BurstOther{Outcome: outcome})
		}
		return others
	}
	const continues, cancelled = activities.OutcomeContinues, activities.OutcomeCancelled
	const dead = activities.OutcomeDeadLetter
	for want, result := range map[string]activities.BurstResult{
		"32 delivered": {Delivered: 32},
		"31 delivered, 1 continues as its own workflow":                 {Delivered: 31, Others: other(continues)},
		"0 delivered, 2 continue as their own workflows, 1 dead letter": {Others: other(continues, dead, continues)},
		"1 delivered, 1 dead letter, 1 cancelled":                       {Delivered: 1, Others: other(dead, cancelled)},
	} {
		if got := burstDetails(result); got != want {
			t.Errorf("details %q, want %q", got, want)
		}
	}
}

// burstServer is a Temporal client that records the starts of bursts and returns one of its errors for each.
type burstServer struct {
	client.Client

	options []client.StartWorkflowOptions
	input   BurstInput
	errors  []error
}

func (s *burstServer) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, workflow any, args ...any,
) (client.WorkflowRun, error) {
	s.options, s.input = append(s.options, o), args[0].(BurstInput)
	if workflow != workflowBurst || len(s.errors) < len(s.options) {
		return nil, nil
	}
	return nil, s.errors[len(s.options)-1]
}

func TestStartBurst(t *testing.T) {
	t.Parallel()
	s := &burstServer{}
	if err := NewClient(s, Policy{Retention: time.Hour}, JobPolicy{}).StartClaims(t.Context(), two()); err != nil {
		t.Fatal(err)
	}
	want := BurstInput{ID: "bst_1", Deliveries: twoDeliveries, Policy: Policy{Retention: time.Hour}}
	if diff := cmp.Diff(want, s.input); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	o := s.options[0]
	if o.ID != "burst/bst_1" || o.TaskQueue != "bursts" || !o.EnableEagerStart ||
		o.WorkflowTaskTimeout != 10*time.Second || o.StaticSummary != "first attempts of 2 deliveries" ||
		o.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE {
		t.Errorf("options %+v, want an eager start with a unique id", o)
	}
	ids, _ := o.TypedSearchAttributes.GetKeywordList(attributeIDs)
	if diff := cmp.Diff([]string{"evt_1", "evt_2", "sto_1", "whk_1"}, ids); diff != "" {
		t.Errorf("ComandaIds (-want +got):\n%s", diff)
	}
}

// A burst that is already started is no error. If the namespace has lost the search attributes, the burst starts
// without them.
func TestStartBurstErrors(t *testing.T) {
	t.Parallel()
	unknown := serviceerror.NewInvalidArgument("no mapping defined")
	again := serviceerror.NewWorkflowExecutionAlreadyStarted("", "", "")
	for name, test := range map[string]struct {
		errors []error
		want   error
		starts int
	}{
		"started before":       {[]error{again}, nil, 1},
		"away":                 {[]error{errAway}, errAway, 1},
		"unknown attributes":   {[]error{unknown, nil}, nil, 2},
		"invalid in other way": {[]error{unknown, unknown}, unknown, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &burstServer{errors: test.errors}
			err := NewClient(s, Policy{}, JobPolicy{}).StartClaims(t.Context(), two())
			if !errors.Is(err, test.want) || len(s.options) != test.starts {
				t.Errorf("%s: %v after %d starts, want %v after %d", name, err, len(s.options), test.want, test.starts)
			}
			if test.starts == 2 && s.options[1].TypedSearchAttributes.Size() != 0 {
				t.Errorf("%s: search attributes of the second start %v, want none",
					name, s.options[1].TypedSearchAttributes)
			}
		})
	}
}
