package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/app"
)

// server is a Temporal client that records the last start and returns given responses.
type server struct {
	client.Client

	options   client.StartWorkflowOptions
	input     DeliveryInput
	signal    any    // nil = no signal
	signalled string // name of the signal of the last start; "" = none
	described *workflowservice.DescribeWorkflowExecutionResponse
	state     *DeliveryState // nil = the query fails
	err       error
}

func (s *server) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	s.options, s.signalled = o, ""
	s.input, _ = args[0].(DeliveryInput)
	return nil, s.err
}

func (s *server) SignalWithStartWorkflow(
	_ context.Context, _, name string, signal any, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	s.signal, s.signalled, s.options = signal, name, o
	s.input, _ = args[0].(DeliveryInput)
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

func (s *server) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	if s.state == nil {
		return nil, errAway
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(s.state)
	return client.NewValue(payloads), err
}

var claim = app.Claim{
	ID: "dlv_1", Generation: 1, StoreID: "sto_1", Queue: "web_1", EventID: "evt_1", SubscriptionID: "whk_1",
	EventType: app.EventOrderCreated, Quick: true, Healthy: true,
}

var errAway = errors.New("no connection to Temporal")

func started(t *testing.T, change func(*app.Claim)) *server {
	t.Helper()
	s, c := &server{}, claim
	change(&c)
	if err := NewClient(s, Policy{}, JobPolicy{}).StartDelivery(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if s.options.ID != "delivery/evt_1/whk_1" || s.input.Queue != "web_1" || s.input.Version != deliveryVersion {
		t.Errorf("started %s with %+v, want delivery/evt_1/whk_1 with queue web_1", s.options.ID, s.input)
	}
	if s.options.Priority.FairnessKey != "web_1" {
		t.Errorf("priority %+v, want turns of web_1", s.options.Priority)
	}
	return s
}

func TestStartFirstAttempt(t *testing.T) {
	t.Parallel()
	s := started(t, func(*app.Claim) {})
	if !s.options.EnableEagerStart || !s.input.Quick || s.signal != nil || s.input.Shown != "" {
		t.Errorf("options %+v, input %+v, want an eager start in the fast lane", s.options, s.input)
	}
	if s.options.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE {
		t.Errorf("reuse policy %s, want duplicates rejected", s.options.WorkflowIDReusePolicy)
	}
	want := temporal.NewSearchAttributes(
		attributeIDs.ValueSet([]string{"evt_1", "sto_1", "whk_1"}), attributeEventType.ValueSet("order.created"),
	)
	if diff := cmp.Diff(want.GetUntypedValues(), s.options.TypedSearchAttributes.GetUntypedValues()); diff != "" {
		t.Errorf("search attributes (-want +got):\n%s", diff)
	}
}

func TestStartReplay(t *testing.T) {
	t.Parallel()
	s := started(t, func(c *app.Claim) { c.Replay, c.Attempts = true, 6 })
	if s.signal != (ReplaySignal{Attempt: 7}) || s.input.Quick || s.input.Attempts != 6 {
		t.Errorf("signal %+v, input %+v, want attempt 7 in the slow lane", s.signal, s.input)
	}
}

// A repair keeps an open workflow and starts one if it is closed, even if the delivery is being replayed. The start
// shows the state retrying.
func TestStartRepair(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(-3 * time.Minute)
	s := started(
		t, func(c *app.Claim) { c.Repair, c.Replay, c.Attempts, c.Place, c.NextRetryAt = true, true, 9, 3, &due },
	)
	if s.signal != nil || s.input.Place != 3 || s.input.Attempts != 9 || !s.input.NextAttempt.Equal(due) {
		t.Errorf("signal %+v, input %+v, want no signal and place 3 after 9 attempts", s.signal, s.input)
	}
	if s.options.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE ||
		s.options.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING {
		t.Errorf("options %+v, want an open workflow to be kept", s.options)
	}
	if shown, _ := s.options.TypedSearchAttributes.GetKeyword(attributeState); shown != string(s.input.Shown) ||
		s.input.Shown != app.DeliveryRetrying {
		t.Errorf("shown state %q, input %+v, want retrying", shown, s.input)
	}
}

// The workflow of a delivery whose first attempt was made by a burst starts immediately, and waits for the second one.
// With a start delay, the server can lose its first workflow task.
func TestStartAfterAnAttempt(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(time.Hour)
	s := started(t, func(c *app.Claim) { c.Attempts, c.Place, c.NextRetryAt = 1, 1, &due })
	if s.options.StartDelay != 0 || s.options.EnableEagerStart {
		t.Errorf("options %+v, want no start delay and no eager start", s.options)
	}
	if s.input.Shown != "retrying" || !s.input.NextAttempt.Equal(due) {
		t.Errorf("input %+v, want state retrying and the next attempt in one hour", s.input)
	}
}

func TestRestartTerminatesOpenWorkflow(t *testing.T) {
	t.Parallel()
	s := &server{}
	if err := NewClient(s, Policy{}, JobPolicy{}).RestartDelivery(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if s.options.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING {
		t.Errorf("options %+v, want the open workflow to be terminated", s.options)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	for _, want := range []error{nil, errAway} {
		c := NewClient(&server{err: want}, Policy{}, JobPolicy{})
		if err := c.StartClaims(t.Context(), []app.Claim{claim, claim}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// A claim of a delivery whose workflow is already started wakes it, also if its burst or a restored database has lost
// the number of claims.
func TestStartPassesTurn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		generation int
		signalled  error
		signals    int
		want       error
	}{
		{0, nil, 1, nil}, {1, nil, 1, nil}, {2, nil, 1, nil},
		{2, serviceerror.NewNotFound(""), 1, nil}, {2, errAway, 1, errAway},
	} {
		c := claim
		c.Generation = test.generation
		s := &startedServer{signalled: test.signalled}
		err := NewClient(s, Policy{}, JobPolicy{}).StartDelivery(t.Context(), c)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || len(s.signals) != test.signals {
			t.Errorf("generation %d, signal %v: %v with signals %q, want %v with %d",
				test.generation, test.signalled, err, s.signals, test.want, test.signals)
		}
	}
}

// startedServer is a Temporal client whose workflows are already started.
type startedServer struct {
	client.Client

	signalled error
	signals   []string
}

func (s *startedServer) ExecuteWorkflow(
	context.Context, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("", "", "")
}

func (s *startedServer) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	s.signals = append(s.signals, id+" "+name)
	return s.signalled
}

func TestWorkflowState(t *testing.T) {
	t.Parallel()
	const running = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	for name, test := range map[string]struct {
		status enums.WorkflowExecutionStatus
		tries  int32 // executions of the pending workflow task
		shown  string
		err    error
		want   WorkflowState
	}{
		"attempting":       {running, 0, "", nil, WorkflowOpen},
		"retrying":         {running, 0, "retrying", nil, WorkflowOpen},
		"a task is lost":   {running, 2, "retrying", nil, WorkflowOpen},
		"dead letter":      {running, 0, "dead_letter", nil, WorkflowDeadLetter},
		"tasks fail":       {running, stuckTasks, "dead_letter", nil, WorkflowStuck},
		"paused":           {enums.WORKFLOW_EXECUTION_STATUS_PAUSED, 9, "dead_letter", nil, WorkflowOpen},
		"terminated":       {enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, 0, "dead_letter", nil, WorkflowClosed},
		"delivered":        {enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, 0, "", nil, WorkflowClosed},
		"unknown":          {0, 0, "", serviceerror.NewNotFound(""), WorkflowUnknown},
		"Temporal is away": {0, 0, "", errors.New("away"), ""},
	} {
		t.Run(name, func(t *testing.T) {
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
			got, err := c.DeliveryWorkflowState(t.Context(), "evt_1", "whk_1")
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%s: state %q, %v, want %q", name, got, err, test.want)
			}
			if open, _ := c.BurstOpen(t.Context(), "bst_1"); open != (test.want == WorkflowOpen) {
				t.Errorf("%s: burst open %v, want %v", name, open, test.want == WorkflowOpen)
			}
		})
	}
}

// During the first attempt of a replay, the search attribute still shows a dead letter.
func TestWorkflowStateDuringReplay(t *testing.T) {
	t.Parallel()
	payload, _ := converter.GetDefaultDataConverter().ToPayload("dead_letter")
	described := &workflowservice.DescribeWorkflowExecutionResponse{}
	described.WorkflowExecutionInfo = &workflow.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		SearchAttributes: &common.SearchAttributes{
			IndexedFields: map[string]*common.Payload{attributeState.GetName(): payload},
		},
	}
	for _, test := range []struct {
		state *DeliveryState
		want  WorkflowState
	}{
		{&DeliveryState{State: stateAttempting}, WorkflowOpen},
		{&DeliveryState{State: "dead_letter"}, WorkflowDeadLetter},
		{&DeliveryState{State: "queued", Waits: waitsForTurn}, WorkflowOpen},
		{&DeliveryState{State: "dead_letter", Waits: waitsForTurn}, WorkflowDeadLetter},
		{nil, WorkflowDeadLetter},
	} {
		c := NewClient(&server{described: described, state: test.state}, Policy{}, JobPolicy{})
		if got, err := c.DeliveryWorkflowState(t.Context(), "evt_1", "whk_1"); got != test.want || err != nil {
			t.Errorf("state %+v: state %q, %v, want %q", test.state, got, err, test.want)
		}
	}
}

// A workflow that has closed before the signal is no error.
func TestReplayDeadLetterSignal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ err, want error }{
		{nil, nil}, {serviceerror.NewNotFound(""), nil}, {errAway, errAway},
	} {
		s := &server{err: test.err}
		err := NewClient(s, Policy{}, JobPolicy{}).ReplayDeadLetter(t.Context(), "evt_1", "whk_1", start)
		signal := s.signal.(ReplaySignal)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || !signal.Overdue.Equal(start) {
			t.Errorf("server error %v: %v with signal %+v, want %v", test.err, err, s.signal, test.want)
		}
	}
}
