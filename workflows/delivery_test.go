package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

var start = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// script runs a delivery whose attempts have given outcomes, and records its behaviour.
type script struct {
	*testsuite.TestWorkflowEnvironment
	outcomes []activities.DeliverResult // results of the attempts; the last one repeats
	made     []activities.DeliverInput
	lanes    []activities.Lane // lanes in which the attempts ran
	at       []time.Duration   // times of the attempts since the start
	ended    []string          // values of the search attribute, in order
	failures map[int]int       // number of errors of the activity, by attempt number
	during   map[int]func()    // called during the attempt, by attempt number
	input    DeliveryInput
	cancels  int
	canceled func() // called while the cancellation is recorded
	asked    int
	waits    int // number of operator's replays that are queued instead of begun
}

var (
	delivered = activities.DeliverResult{Outcome: activities.OutcomeDelivered, StatusCode: 204}
	refused   = activities.DeliverResult{Outcome: activities.OutcomeFailed, StatusCode: 503, Reason: "HTTP 503"}
	inactive  = activities.DeliverResult{Outcome: activities.OutcomeDeadLetter, Reason: app.ReasonInactive}
	deleted   = activities.DeliverResult{Outcome: activities.OutcomeCancelled, Reason: app.ReasonDeleted}
)

// sixAttempts is a retry schedule.
var sixAttempts = app.RetrySchedule{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}

func newScript(t *testing.T, outcomes ...activities.DeliverResult) *script {
	s := &script{TestWorkflowEnvironment: environment(), outcomes: outcomes}
	s.failures, s.during = map[int]int{}, map[int]func(){}
	s.input = DeliveryInput{
		DeliveryID: "dlv_1", StoreID: "sto_1", EventID: "evt_1", EventType: app.EventOrderCreated,
		SubscriptionID: "whk_1", Version: deliveryVersion, Queue: "web_1",
		Policy: Policy{
			Schedule: sixAttempts, Retention: 30 * 24 * time.Hour, AttemptLimit: 13 * time.Second,
		},
	}
	s.SetStartTime(start)
	s.RegisterWorkflowWithOptions(Delivery, workflow.RegisterOptions{Name: workflowDelivery})
	s.RegisterActivityWithOptions(s.deliver, activity.RegisterOptions{Name: activityDeliver})
	s.RegisterActivityWithOptions(s.cancel, activity.RegisterOptions{Name: activityCancel})
	s.RegisterActivityWithOptions(s.beginReplay, activity.RegisterOptions{Name: activityBeginReplay})
	s.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		state, _ := args.Get(0).(temporal.SearchAttributes).GetKeyword(attributeState)
		s.ended = append(s.ended, state)
	}).Maybe()
	t.Cleanup(func() { s.AssertExpectations(t) })
	return s
}

func (s *script) deliver(ctx context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
	if s.failures[in.Attempt] > 0 {
		s.failures[in.Attempt]--
		return activities.DeliverResult{}, errors.New("the database is away")
	}
	s.made = append(s.made, in)
	if activity.GetInfo(ctx).IsLocalActivity {
		s.lanes = append(s.lanes, activities.LaneFast)
	} else {
		s.lanes = append(s.lanes, activities.LaneSlow)
	}
	s.at = append(s.at, s.Now().Sub(start))
	if happen := s.during[in.Attempt]; happen != nil {
		happen()
	}
	return s.outcomes[min(len(s.made), len(s.outcomes))-1], nil
}

func (s *script) cancel(ctx context.Context, _ activities.CancelInput) error {
	if activity.GetInfo(ctx).TaskQueue == JobTaskQueue {
		s.cancels++
	}
	if s.canceled != nil {
		s.canceled()
	}
	return nil
}

func (s *script) beginReplay(context.Context, activities.BeginReplayInput) (activities.BeginReplayResult, error) {
	s.asked++
	return activities.BeginReplayResult{Began: s.asked > s.waits}, nil
}

func (s *script) run(quick bool) {
	s.input.Quick = quick
	s.ExecuteWorkflow(workflowDelivery, s.input)
}

func (s *script) signal(after time.Duration, signal any) {
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(SignalReplay, signal) }, after)
}

// check compares the end of the workflow, the numbers of the attempts and the shown states.
func (s *script) check(t *testing.T, final app.DeliveryStatus, attempts int, states ...string) {
	t.Helper()
	if !s.IsWorkflowCompleted() || s.GetWorkflowError() != nil {
		t.Fatalf("completed %v with error %v, want completed without error",
			s.IsWorkflowCompleted(), s.GetWorkflowError())
	}
	var result DeliveryState
	if err := s.GetWorkflowResult(&result); err != nil {
		t.Fatal(err)
	}
	if result.State != string(final) || result.Attempts != attempts {
		t.Errorf("ended as %s after %d attempts, want %s after %d", result.State, result.Attempts, final, attempts)
	}
	if diff := cmp.Diff(states, s.ended); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	for i, made := range s.made {
		if made.Attempt != i+1 && s.outcomes[0] != inactive {
			t.Errorf("attempt %d has number %d, want %d", i+1, made.Attempt, i+1)
		}
	}
}

func TestFirstAttemptDeliveredShowsNoState(t *testing.T) {
	for _, quick := range []bool{true, false} {
		s := newScript(t, delivered)
		s.run(quick)
		s.check(t, app.DeliveryDelivered, 1)
	}
}

func TestScheduleTimes(t *testing.T) {
	s := newScript(t, refused)
	s.run(true)
	s.check(t, app.DeliveryDeadLetter, 6, "retrying", "dead_letter")
	want := []string{"0s", "30s", "5m30s", "35m30s", "2h35m30s", "8h35m30s"}
	var got, retries []string
	for i := range s.at {
		got = append(got, s.at[i].String())
		retries = append(retries, s.made[i].RetryIn.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times of the attempts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"30s", "5m0s", "30m0s", "2h0m0s", "6h0m0s", "0s"}, retries); diff != "" {
		t.Errorf("RetryIn of the attempts (-want +got):\n%s", diff)
	}
	if took := s.Now().Sub(start); took != 30*24*time.Hour+8*time.Hour+35*time.Minute+30*time.Second {
		t.Errorf("the dead letter expired after %s, want 30 days after the last attempt", took)
	}
}

func TestDeliveredByARetry(t *testing.T) {
	s := newScript(t, refused, refused, delivered)
	s.RegisterDelayedCallback(func() {
		state, next := s.state(t), start.Add(5*time.Minute+30*time.Second)
		if state.State != "retrying" || state.Attempts != 2 || state.StatusCode != 503 || !state.NextRetry.Equal(next) {
			t.Errorf("state after a minute: %+v, want retrying after 2 attempts with 503", state)
		}
	}, time.Minute)
	s.run(true)
	s.check(t, app.DeliveryDelivered, 3, "retrying", "delivered")
}

func TestReplay(t *testing.T) {
	day20 := 20 * 24 * time.Hour
	for name, signal := range map[string]any{
		"operator": nil, "empty": ReplaySignal{}, "relay": ReplaySignal{Attempt: 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, refused, refused, refused, refused, refused, refused, refused, delivered)
			s.signal(day20, signal)
			s.run(true)
			// The search attribute changes once per state, regardless of the number of retries.
			s.check(t, app.DeliveryDelivered, 8, "retrying", "dead_letter", "retrying", "delivered")
			if s.at[6] != day20 || s.at[7] != day20+30*time.Second {
				t.Errorf("attempts of the replay at %s and %s, want %s and 30s later", s.at[6], s.at[7], day20)
			}
		})
	}
}

func TestSignalsWithoutEffect(t *testing.T) {
	s := newScript(t, refused)
	s.signal(time.Minute, ReplaySignal{})               // before it is a dead letter
	s.signal(20*24*time.Hour, ReplaySignal{Attempt: 3}) // for an attempt that was already made
	s.run(true)
	s.check(t, app.DeliveryDeadLetter, 6, "retrying", "dead_letter")
}

func TestEarlyRelaySignalIsKept(t *testing.T) {
	s := newScript(t, refused, refused, refused, refused, refused, refused, delivered)
	s.signal(time.Hour, ReplaySignal{Attempt: 7})
	s.run(true)
	s.check(t, app.DeliveryDelivered, 7, "retrying", "dead_letter", "delivered")
}

func TestInternalErrorUsesNoAttempt(t *testing.T) {
	for _, quick := range []bool{true, false} {
		s := newScript(t, delivered)
		s.failures[1] = 5
		s.run(quick)
		s.check(t, app.DeliveryDelivered, 1)
	}
}

func TestInactiveSubscription(t *testing.T) {
	s := newScript(t, inactive, delivered)
	s.signal(time.Hour, ReplaySignal{Attempt: 1})
	s.run(true)
	s.check(t, app.DeliveryDelivered, 1, "dead_letter", "delivered")
}

func TestDeletedSubscription(t *testing.T) {
	s := newScript(t, refused, deleted)
	s.run(true)
	s.check(t, app.DeliveryCancelled, 1, "retrying", "cancelled")
}

func TestCancellation(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"while it waits for a retry": time.Minute, "as a dead letter": 10 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, refused)
			s.RegisterDelayedCallback(s.CancelWorkflow, after)
			s.run(true)
			if !temporal.IsCanceledError(s.GetWorkflowError()) {
				t.Errorf("ended with %v, want a cancellation", s.GetWorkflowError())
			}
			if s.cancels != 1 || s.ended[len(s.ended)-1] != "cancelled" {
				t.Errorf("cancellation recorded %d times, states %q, want once and cancelled at the end",
					s.cancels, s.ended)
			}
		})
	}
}
