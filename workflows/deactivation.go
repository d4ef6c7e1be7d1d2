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
	activityEndBatch = "EndQueuedBatch"

	// deactivationLimit is the timeout of one batch, a single statement.
	deactivationLimit = time.Minute
	// deactivationPause is the pause after a pass that ended deliveries. It exceeds the duration of a dispatch, so that
	// the next pass finds deliveries that were dispatched at the time of the deactivation.
	deactivationPause = 10 * time.Second
)

// Deactivation ends the queued deliveries of an inactive subscription, the subject of the job, as dead letters. It
// repeats its pass until one finds no queued delivery. That is also the case after a reactivation: the remaining
// deliveries are made. Each start of the job sends signalWatch, and the passes then begin again, so that a deactivation
// is not missed while the workflow ends.
func Deactivation(ctx workflow.Context, in JobInput) error {
	signals := workflow.GetSignalChannel(ctx, signalWatch)
	ctx = withJobOptions(ctx, in, deactivationLimit)
	batch := activities.DeactivationInput{StoreID: in.StoreID, SubscriptionID: app.SubscriptionID(in.Subject)}
	total := 0
	for pass, found := 1, 0; ; pass, found = pass+1, 0 {
		for signals.ReceiveAsync(nil) {
			pass = 1
		}
		for more := true; more; {
			var did activities.DeactivationResult
			if err := workflow.ExecuteActivity(ctx, activityEndBatch, batch).Get(ctx, &did); err != nil {
				return err
			}
			found, more = found+did.Ended, did.More
			total += did.Ended
			workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d deliveries ended", total))
			if (more || signals.Len() > 0) && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
				return workflow.NewContinueAsNewError(ctx, string(app.JobDeactivation), in)
			}
		}
		switch {
		case signals.Len() > 0:
			continue
		case found == 0 && pass > 1:
			return nil
		}
		if err := workflow.Sleep(ctx, deactivationPause); err != nil {
			return err
		}
	}
}

// HandleDeactivation registers the activities of deactivation jobs. It must be called before Start.
func (w *Workers) HandleDeactivation(d *activities.Deactivation) {
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, d.EndBatch), activity.RegisterOptions{Name: activityEndBatch})
}
