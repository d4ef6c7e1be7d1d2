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

// Standing is the state of a delivery's workflow in Temporal.
type Standing string

const (
	StandingOpen       Standing = "open"        // it makes progress
	StandingDeadLetter Standing = "dead_letter" // it is open and waits for a replay
	StandingStuck      Standing = "stuck"       // it is open, but its workflow task fails again and again
	StandingClosed     Standing = "closed"
	StandingUnknown    Standing = "unknown" // Temporal has no workflow of this id, or no longer
)

// stuckTasks is the number of tries of one workflow task from which a workflow is stuck. The
// server pauses after the third try, so this number is reached after 15 s. A worker that dies
// or is overloaded loses one try, rarely two.
const stuckTasks = 5

// DeliveryStanding looks up the workflow of a delivery.
func (c *Client) DeliveryStanding(
	ctx context.Context, event app.EventID, subscription app.SubscriptionID,
) (Standing, error) {
	return c.standing(ctx, app.DeliveryWorkflowID(event, subscription))
}

// BurstOpen reports whether the workflow of a burst is open and makes progress.
func (c *Client) BurstOpen(ctx context.Context, burst app.BurstID) (bool, error) {
	standing, err := c.standing(ctx, app.BurstWorkflowID(burst))
	return standing == StandingOpen, err
}

func (c *Client) standing(ctx context.Context, id string) (Standing, error) {
	response, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return StandingUnknown, nil
	}
	if err != nil {
		return "", err
	}
	return standingOf(response)
}

func standingOf(response *workflowservice.DescribeWorkflowExecutionResponse) (Standing, error) {
	info := response.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
	case enums.WORKFLOW_EXECUTION_STATUS_PAUSED: // by an operator, who can continue it
		return StandingOpen, nil
	default:
		return StandingClosed, nil
	}
	if response.GetPendingWorkflowTask().GetAttempt() >= stuckTasks {
		return StandingStuck, nil
	}
	shown, ok := info.GetSearchAttributes().GetIndexedFields()[attributeState.GetName()]
	if !ok {
		return StandingOpen, nil
	}
	var state string
	if err := converter.GetDefaultDataConverter().FromPayload(shown, &state); err != nil {
		return "", err
	}
	if state == string(app.DeliveryDeadLetter) {
		return StandingDeadLetter, nil
	}
	return StandingOpen, nil
}

// ReplayDeadLetter makes the workflow of a dead letter begin its schedule again, if it already
// waited at overdue, when the delivery was read as unfinished. A workflow that has closed in the
// meantime is no error: the next check finds it closed.
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
