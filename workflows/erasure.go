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

	// erasurePause is the pause after a pass that has erased bodies, and after the first pass. It exceeds the duration
	// of an attempt, so that the next pass erases attempts that were recorded after the end of their delivery.
	erasurePause = time.Minute
	// erasureMaxPause is the maximum pause. While passes erase nothing, the pause doubles: a body is erased within
	// about twice the time that its deliveries take. Deliveries that are held back can take weeks.
	erasureMaxPause = 24 * time.Hour
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
	limit := workflow.Now(ctx).Add(app.ErasureLimit + erasurePause) // then a pass cancels queued deliveries
	for pass, pause := 1, erasurePause; ; pass++ {
		step, err := erase(ctx, customer)
		if err != nil {
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
		if step.Erased > 0 {
			pause = erasurePause
		}
		wait := pause
		if left := limit.Sub(workflow.Now(ctx)); left > 0 {
			wait = min(wait, left)
		}
		if err := workflow.Sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, erasureMaxPause)
	}
}

// erase erases the bodies of all events whose deliveries have ended.
func erase(ctx workflow.Context, in activities.ErasureInput) (pass app.ErasureStep, err error) {
	for {
		var step app.ErasureStep
		if err := workflow.ExecuteActivity(ctx, activityEraseEvents, in).Get(ctx, &step); err != nil {
			return pass, err
		}
		pass.Erased, pass.Waiting = pass.Erased+step.Erased, pass.Waiting+step.Waiting
		if in.After = step.Last; in.After == "" {
			return pass, nil
		}
	}
}

// HandleErasure registers the activity of erasures. It must be called before Start.
func (w *Workers) HandleErasure(e *activities.Erasure) {
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, e.EraseEvents),
		activity.RegisterOptions{Name: activityEraseEvents})
}
