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
	activityEraseEvents = "EraseEvents"

	// erasurePause is the pause after the first pass. It exceeds the duration of an attempt, so that the next pass erases
	// attempts that were recorded after the end of their delivery.
	erasurePause = time.Minute
	// erasureMaxPause is the maximum pause. Deliveries with retries can take many hours.
	erasureMaxPause = time.Hour
)

// Erasure erases the bodies of an erased customer's events, each once its deliveries have ended. The customer is the
// subject of the job. It repeats its pass until one finds no event that waits.
func Erasure(ctx workflow.Context, in JobInput) error {
	var state app.ErasureStep
	err := workflow.SetQueryHandler(ctx, QueryState, func() (app.ErasureStep, error) { return state, nil })
	if err != nil {
		return err
	}
	ctx = withJobOptions(ctx, in, 10*time.Minute)
	customer := activities.ErasureInput{StoreID: in.StoreID, CustomerID: app.CustomerID(in.Subject)}
	for pass := 1; ; pass++ {
		var step app.ErasureStep
		if err := workflow.ExecuteActivity(ctx, activityEraseEvents, customer).Get(ctx, &step); err != nil {
			return err
		}
		state.Erased, state.Waiting = state.Erased+step.Erased, step.Waiting
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d bodies erased, %d wait for their deliveries", state.Erased,
			state.Waiting))
		if step.Waiting == 0 && step.Erased == 0 && pass > 1 {
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, string(app.JobErasure), in)
		}
		if err := workflow.Sleep(ctx, min(time.Duration(pass)*erasurePause, erasureMaxPause)); err != nil {
			return err
		}
	}
}

// HandleErasure registers the activity of erasures. It must be called before Start.
func (w *Workers) HandleErasure(e *activities.Erasure) {
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, e.EraseEvents),
		activity.RegisterOptions{Name: activityEraseEvents})
}
