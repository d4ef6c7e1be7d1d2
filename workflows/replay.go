package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// Pauses between the steps of a bulk replay. While app.ReplayLimits prevents progress, the pause doubles from
// replayPause to maxReplayPause.
const (
	replayPause    = time.Second
	maxReplayPause = time.Minute
)

// Replay queues the deliveries of a bulk replay in steps (docs/behaviour.md#dead-letters-and-replays). Its progress is
// stored in the database. After a cancellation through the API, further steps remove the rest of its list.
func Replay(ctx workflow.Context, in JobInput) (app.ReplayStep, error) {
	var step app.ReplayStep
	if err := workflow.SetQueryHandler(
		ctx, QueryState, func() (app.ReplayStep, error) { return step, nil },
	); err != nil {
		return step, err
	}
	replay := activities.ReplayInput{StoreID: in.StoreID, ReplayID: app.ReplayID(in.Subject)}
	ctx = withJobOptions(ctx, in, time.Minute)
	for pause := replayPause; ; {
		var next app.ReplayStep
		if err := workflow.ExecuteActivity(ctx, activityContinueReplay, replay).Get(ctx, &next); err != nil {
			return step, replayCancelled(ctx, replay, err)
		}
		step = next
		workflow.SetCurrentDetails(ctx,
			fmt.Sprintf("%s: %d of %d replayed, %d skipped", step.Status, step.Replayed, step.Matched, step.Skipped))
		if step.Status != app.ReplayRunning && !step.Rest {
			return step, nil
		}
		if pause = min(2*pause, maxReplayPause); step.Moved || step.Rest {
			pause = replayPause
		}
		if err := workflow.Sleep(ctx, pause); err != nil {
			return step, replayCancelled(ctx, replay, err)
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return step, workflow.NewContinueAsNewError(ctx, string(app.JobReplay), in)
		}
	}
}

// replayCancelled records a cancellation of the workflow and returns cause. Errors other than cancellations are
// returned unchanged.
func replayCancelled(ctx workflow.Context, replay activities.ReplayInput, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.ExecuteActivity(detached, activityCancelReplay, replay).Get(detached, nil); err != nil {
		return err
	}
	return cause
}
