package workflows

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/comanda-dev/comanda/app"
)

// WorkflowState is the state of a delivery's workflow in Temporal.
type WorkflowState string

const (
	WorkflowOpen       WorkflowState = "open"        // open and making progress
	WorkflowDeadLetter WorkflowState = "dead_letter" // open and waiting for a replay
	WorkflowStuck      WorkflowState = "stuck"       // open, but its workflow task fails repeatedly
	WorkflowClosed     WorkflowState = "closed"
	WorkflowUnknown    WorkflowState = "unknown" // Temporal has no workflow with this id
)

// stuckTasks is the number of executions of one workflow task from which a workflow counts as stuck. The server pauses
// after the third execution, so this number is reached after 15 s. A worker that dies or is overloaded fails one
// execution, rarely two.
const stuckTasks = 5

// queryTimeout is the timeout of a query for the state of a dead letter.
const queryTimeout = 2 * time.Second

// DeliveryWorkflowState returns the state of a delivery's workflow.
func (c *Client) DeliveryWorkflowState(
	ctx context.Context, event app.EventID, subscription app.SubscriptionID,
) (WorkflowState, error) {
	id := app.DeliveryWorkflowID(event, subscription)
	state, err := c.workflowState(ctx, id)
	// The search attribute keeps its value until the first attempt of a replay has ended.
	if err == nil && state == WorkflowDeadLetter && c.attempting(ctx, id) {
		return WorkflowOpen, nil
	}
	return state, err
}

// attempting reports whether a delivery's workflow responds that an attempt is in progress, or will be when its turn
// comes.
func (c *Client) attempting(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	response, err := c.temporal.QueryWorkflow(ctx, id, "", QueryState)
	if err != nil {
		return false
	}
	var state DeliveryState
	if err := response.Get(&state); err != nil {
		return false
	}
	return state.State == stateAttempting || state.State == string(app.DeliveryQueued)
}

// BurstOpen reports whether the workflow of a burst is open and makes progress.
func (c *Client) BurstOpen(ctx context.Context, burst app.BurstID) (bool, error) {
	state, err := c.workflowState(ctx, app.BurstWorkflowID(burst))
	return state == WorkflowOpen, err
}

func (c *Client) workflowState(ctx context.Context, id string) (WorkflowState, error) {
	response, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return WorkflowUnknown, nil
	}
	if err != nil {
		return "", err
	}
	return workflowStateOf(response)
}

func workflowStateOf(response *workflowservice.DescribeWorkflowExecutionResponse) (WorkflowState, error) {
	info := response.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
	case enums.WORKFLOW_EXECUTION_STATUS_PAUSED: // by an operator, who can resume it
		return WorkflowOpen, nil
	default:
		return WorkflowClosed, nil
	}
	if response.GetPendingWorkflowTask().GetAttempt() >= stuckTasks {
		return WorkflowStuck, nil
	}
	shown, ok := info.GetSearchAttributes().GetIndexedFields()[attributeState.GetName()]
	if !ok {
		return WorkflowOpen, nil
	}
	var state string
	if err := converter.GetDefaultDataConverter().FromPayload(shown, &state); err != nil {
		return "", err
	}
	if state == string(app.DeliveryDeadLetter) {
		return WorkflowDeadLetter, nil
	}
	return WorkflowOpen, nil
}

// ReplayDeadLetter restarts the schedule of a workflow that waits as a dead letter although its delivery has not ended.
// overdue is the time at which the delivery was read. The signal has no effect if the workflow became a dead letter
// later. ReplayDeadLetter returns nil if the workflow has closed in the meantime; the next check will find it closed.
func (c *Client) ReplayDeadLetter(
	ctx context.Context, event app.EventID, subscription app.SubscriptionID, overdue time.Time,
) error {
	id := app.DeliveryWorkflowID(event, subscription)
	err := c.temporal.SignalWorkflow(ctx, id, "", SignalReplay, ReplaySignal{Overdue: &overdue})
	if _, closed := errors.AsType[*serviceerror.NotFound](err); closed {
		return nil
	}
	return err
}
