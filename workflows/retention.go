package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
)

// Type and id of the retention workflow. An installation has exactly one.
const (
	workflowRetention = "Retention"
	retentionID       = "retention"
)

// platformQueue is the fairness key of activities that belong to no website.
const platformQueue = "platform"

// Retention erases expired data, in an endless loop (docs/behaviour.md#retention). It has no input; the worker that
// runs the activity provides the retention.
func Retention(ctx workflow.Context) error {
	var last activities.EraseResult
	state := func() (activities.EraseResult, error) { return last, nil }
	if err := workflow.SetQueryHandler(ctx, QueryState, state); err != nil {
		return err
	}
	ctx = workflow.WithHeartbeatTimeout(withJobOptions(ctx, JobInput{Queue: platformQueue}, 6*time.Hour), time.Minute)
	for {
		var result activities.EraseResult
		if err := workflow.ExecuteActivity(ctx, activityErase).Get(ctx, &result); err != nil {
			return err
		}
		last = result
		at := workflow.Now(ctx).UTC().Format(time.DateTime + " UTC")
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("erased at %s: %d bodies, %d deliveries, %d events",
			at, last.Bodies, last.Deliveries, last.Events))
		if err := workflow.Sleep(ctx, last.NextIn); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, workflowRetention)
		}
	}
}

// StartRetention starts the retention workflow unless it is already open.
func (c *Client) StartRetention(ctx context.Context) error {
	_, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       retentionID,
		TaskQueue:                TaskQueue,
		StaticSummary:            "erases expired data",
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflowRetention)
	return err
}
