package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const (
	activityCancelBatch = "CancelBatch"

	// teardownLimit is the timeout of one batch: a hundred requests and their pauses.
	teardownLimit = 5 * time.Minute
	// teardownHeartbeat is the time after which a batch of a worker that died is repeated.
	teardownHeartbeat = 20 * time.Second
	// teardownPause is the pause after the first pass. It exceeds the duration of an attempt and of a round of the
	// relay, so that the next pass finds deliveries that were in progress at the time of the deletion.
	teardownPause = time.Minute
	// teardownMaxPause is the maximum pause. It is reached only if a delivery repeatedly cannot be cancelled.
	teardownMaxPause = time.Hour
)

// Teardown cancels the open deliveries of a deleted subscription, the subject of the job. It repeats its pass until one
// finds no open delivery.
func Teardown(ctx workflow.Context, in JobInput) error {
	ctx = workflow.WithHeartbeatTimeout(withJobOptions(ctx, in, teardownLimit), teardownHeartbeat)
	total := 0
	for pass := 1; ; pass++ {
		found, err := teardownPass(ctx, in, &total)
		if err != nil {
			return err
		}
		if found == 0 && pass > 1 {
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, string(app.JobTeardown), in)
		}
		if err := workflow.Sleep(ctx, min(time.Duration(pass)*teardownPause, teardownMaxPause)); err != nil {
			return err
		}
	}
}

// teardownPass cancels all open deliveries in batches and returns their number.
func teardownPass(ctx workflow.Context, in JobInput, total *int) (found int, err error) {
	batch := activities.TeardownInput{StoreID: in.StoreID, SubscriptionID: app.SubscriptionID(in.Subject)}
	for more := true; more; {
		var did activities.TeardownResult
		if err := workflow.ExecuteActivity(ctx, activityCancelBatch, batch).Get(ctx, &did); err != nil {
			return found, err
		}
		found += did.Cancelled
		*total += did.Cancelled
		batch.After, more = did.Last, did.More
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d deliveries cancelled", *total))
		if more && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return found, workflow.NewContinueAsNewError(ctx, string(app.JobTeardown), in)
		}
	}
	return found, nil
}

// HandleTeardown registers the activities of teardown jobs. It must be called before Start.
func (w *Workers) HandleTeardown(t *activities.Teardown) {
	cancel := func(ctx context.Context, in activities.TeardownInput) (activities.TeardownResult, error) {
		return t.CancelBatch(ctx, in, func() { activity.RecordHeartbeat(ctx) })
	}
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, cancel), activity.RegisterOptions{Name: activityCancelBatch})
}

// CancelDelivery requests the cancellation of a delivery's workflow. found is false if Temporal knows none. A completed
// one is found, too, as long as Temporal keeps it.
func (c *Client) CancelDelivery(
	ctx context.Context, delivery app.OpenDelivery, subscription app.SubscriptionID,
) (found bool, err error) {
	err = c.temporal.CancelWorkflow(ctx, app.DeliveryWorkflowID(delivery.EventID, subscription), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return false, nil
	}
	if _, requested := errors.AsType[*serviceerror.CancellationAlreadyRequested](err); requested {
		return true, nil
	}
	return err == nil, err
}
