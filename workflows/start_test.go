package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/comanda-dev/comanda/app"
)

// server is a Temporal client that keeps the last start and answers with what it is given.
type server struct {
	client.Client

	options   client.StartWorkflowOptions
	input     DeliveryInput
	signal    any // nil = started without one
	described *workflowservice.DescribeWorkflowExecutionResponse
	err       error
}

func (s *server) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	s.options, s.input = o, args[0].(DeliveryInput)
	return nil, s.err
}

func (s *server) SignalWithStartWorkflow(
	_ context.Context, _, _ string, signal any, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	s.signal, s.options, s.input = signal, o, args[0].(DeliveryInput)
	return nil, s.err
}

func (s *server) SignalWorkflow(_ context.Context, _, _, _ string, signal any) error {
	s.signal = signal
	return s.err
}

func (s *server) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return s.described, s.err
}

var claim = app.Claim{
	ID: "dlv_1", StoreID: "sto_1", Queue: "web_1", EventID: "evt_1", SubscriptionID: "whk_1",
	EventType: app.EventOrderCreated, Quick: true, Healthy: true,
}

var errAway = errors.New("Temporal is away")

func started(t *testing.T, change func(*app.Claim)) *server {
	t.Helper()
	s, c := &server{}, claim
	change(&c)
	if err := NewClient(s, Policy{}, JobPolicy{}).StartDelivery(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if s.options.ID != "delivery/evt_1/whk_1" || s.input.Queue != "web_1" || s.input.Version != deliveryVersion {
		t.Errorf("started %s with %+v", s.options.ID, s.input)
	}
	return s
}

func TestStartOfAFirstAttempt(t *testing.T) {
	t.Parallel()
	s := started(t, func(*app.Claim) {})
	if !s.options.EnableEagerStart || !s.input.Quick || s.signal != nil || s.input.Shown != "" {
		t.Errorf("%+v with %+v", s.options, s.input)
	}
	if s.options.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE {
		t.Error("an id can be used again")
	}
	if _, shown := s.options.TypedSearchAttributes.GetKeyword(attributeState); shown {
		t.Error("the straight path shows a state")
	}
}

func TestStartOfAReplay(t *testing.T) {
	t.Parallel()
	s := started(t, func(c *app.Claim) { c.Replay, c.Attempts = true, 6 })
	if s.signal != (ReplaySignal{Attempt: 7}) || s.input.Quick || s.input.Attempts != 6 {
		t.Errorf("signal %+v, input %+v", s.signal, s.input)
	}
}

// A repair uses an open workflow and starts one if it is closed, also if the delivery is being
// replayed. Operators see that it is being retried.
func TestStartOfARepair(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(-3 * time.Minute)
	s := started(t, func(c *app.Claim) { c.Repair, c.Replay, c.Attempts, c.Place, c.NextRetryAt = true, true, 9, 3, &due })
	if s.signal != nil || s.input.Place != 3 || s.input.Attempts != 9 || !s.input.NextAttempt.Equal(due) {
		t.Errorf("signal %+v, input %+v", s.signal, s.input)
	}
	if s.options.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE ||
		s.options.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING {
		t.Errorf("%+v", s.options)
	}
	if shown, _ := s.options.TypedSearchAttributes.GetKeyword(attributeState); shown != string(s.input.Shown) ||
		s.input.Shown != app.DeliveryRetrying {
		t.Errorf("shows %q, input %+v", shown, s.input)
	}
}

// A delivery whose first attempt was made elsewhere starts at the time of the second one.
func TestStartAfterAnAttempt(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(time.Hour)
	s := started(t, func(c *app.Claim) { c.Attempts, c.Place, c.NextRetryAt = 1, 1, &due })
	if s.options.StartDelay < 59*time.Minute || s.options.EnableEagerStart || s.input.Shown != "retrying" {
		t.Errorf("%+v with %+v", s.options, s.input)
	}
}

func TestRestartTerminates(t *testing.T) {
	t.Parallel()
	s := &server{}
	if err := NewClient(s, Policy{}, JobPolicy{}).RestartDelivery(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if s.options.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING {
		t.Errorf("%+v", s.options)
	}
}

// A start that was made before is no error; others are.
func TestErrorsOfStarts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ err, want error }{
		{nil, nil}, {errAway, errAway}, {serviceerror.NewWorkflowExecutionAlreadyStarted("", "", ""), nil},
	} {
		c := NewClient(&server{err: test.err}, Policy{}, JobPolicy{})
		err := c.StartClaims(t.Context(), []app.Claim{claim, claim})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%v becomes %v", test.err, err)
		}
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	const running = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	for name, test := range map[string]struct {
		status enums.WorkflowExecutionStatus
		tries  int32 // of the pending workflow task
		shown  string
		err    error
		want   Standing
	}{
		"attempting":       {running, 0, "", nil, StandingOpen},
		"retrying":         {running, 0, "retrying", nil, StandingOpen},
		"a task is lost":   {running, 2, "retrying", nil, StandingOpen},
		"dead letter":      {running, 0, "dead_letter", nil, StandingDeadLetter},
		"tasks fail":       {running, stuckTasks, "dead_letter", nil, StandingStuck},
		"paused":           {enums.WORKFLOW_EXECUTION_STATUS_PAUSED, 9, "dead_letter", nil, StandingOpen},
		"terminated":       {enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, 0, "dead_letter", nil, StandingClosed},
		"delivered":        {enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, 0, "", nil, StandingClosed},
		"unknown":          {0, 0, "", serviceerror.NewNotFound(""), StandingUnknown},
		"Temporal is away": {0, 0, "", errors.New("away"), ""},
	} {
		info := &workflow.WorkflowExecutionInfo{Status: test.status}
		if test.shown != "" {
			payload, _ := converter.GetDefaultDataConverter().ToPayload(test.shown)
			info.SearchAttributes = &common.SearchAttributes{
				IndexedFields: map[string]*common.Payload{attributeState.GetName(): payload},
			}
		}
		response := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}
		if test.tries > 0 {
			response.PendingWorkflowTask = &workflow.PendingWorkflowTaskInfo{Attempt: test.tries}
		}
		c := NewClient(&server{described: response, err: test.err}, Policy{}, JobPolicy{})
		got, err := c.DeliveryStanding(t.Context(), "evt_1", "whk_1")
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if open, _ := c.BurstOpen(t.Context(), "bst_1"); open != (test.want == StandingOpen) {
			t.Errorf("%s: a burst is open: %v", name, open)
		}
	}
}

// The signal to a workflow that has closed in the meantime is no error.
func TestSignalToADeadLetter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ err, want error }{{nil, nil}, {serviceerror.NewNotFound(""), nil}, {errAway, errAway}} {
		s := &server{err: test.err}
		err := NewClient(s, Policy{}, JobPolicy{}).ReplayDeadLetter(t.Context(), "evt_1", "whk_1", start)
		signal := s.signal.(ReplaySignal)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || !signal.Overdue.Equal(start) {
			t.Errorf("%v becomes %v; signal %+v", test.err, err, s.signal)
		}
	}
}
