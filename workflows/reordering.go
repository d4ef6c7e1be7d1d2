package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const (
	activityReorder = "ReorderBatch"

	// reorderingLimit is the timeout of one batch, a single transaction.
	reorderingLimit = time.Minute

	// reorderingPause precedes batches that begin again because deliveries have changed meanwhile.
	reorderingPause = time.Second
)

// Reordering applies the changed ordering of a subscription, the subject of the job, to its unfinished deliveries in
// batches (docs/behaviour.md#ordered-webhooks). A batch follows the present ordering: if it has changed meanwhile, the
// next batch begins again. Each start of the job sends signalWatch, so that a change is not missed while the workflow
// ends.
func Reordering(ctx workflow.Context, in JobInput) error {
	signals := workflow.GetSignalChannel(ctx, signalWatch)
	ctx = withJobOptions(ctx, in, reorderingLimit)
	for {
		for signals.ReceiveAsync(nil) {
			// The batches that follow read the present ordering.
		}
		batch := activities.ReorderingInput{StoreID: in.StoreID, SubscriptionID: app.SubscriptionID(in.Subject)}
		for total := 0; !batch.From.Done; {
			var next app.Reordering
			if err := workflow.ExecuteActivity(ctx, activityReorder, batch).Get(ctx, &next); err != nil {
				return err
			}
			total += next.Changed
			workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d deliveries changed", total))
			batch.From = next
			if next == (app.Reordering{}) {
				if err := workflow.Sleep(ctx, reorderingPause); err != nil {
					return err
				}
			}
			if !next.Done && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
				return workflow.NewContinueAsNewError(ctx, string(app.JobReordering), in)
			}
		}
		if signals.Len() == 0 {
			return nil
		}
	}
}

// HandleReordering registers the activity of reordering jobs. It must be called before Start.
func (w *Workers) HandleReordering(r *activities.Reorderings) {
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, r.Reorder), activity.RegisterOptions{Name: activityReorder})
}
