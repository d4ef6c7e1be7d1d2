package workflows

import (
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const activityEndSoldOut = "EndSoldOut"

// SoldOut ends the time during which a product, the subject of the job, is sold out (docs/behaviour.md#products). The
// time is in the database. Each start of the job sends signalWatch, which makes the workflow read the time again.
func SoldOut(ctx workflow.Context, in JobInput) error {
	var state activities.SoldOutResult
	err := workflow.SetQueryHandler(ctx, QueryState, func() (activities.SoldOutResult, error) { return state, nil })
	if err != nil {
		return err
	}
	signals := workflow.GetSignalChannel(ctx, signalWatch)
	ctx = withDeadlineOptions(ctx, in, time.Minute)
	product := activities.SoldOutInput{StoreID: in.StoreID, ProductID: app.ProductID(in.Subject)}
	for {
		for signals.ReceiveAsync(nil) {
		}
		if err := workflow.ExecuteActivity(ctx, activityEndSoldOut, product).Get(ctx, &state); err != nil {
			return err
		}
		if state.NextIn == 0 {
			if signals.Len() > 0 {
				continue
			}
			workflow.SetCurrentDetails(ctx, "ended")
			return nil
		}
		until := workflow.Now(ctx).Add(state.NextIn).UTC().Format(time.DateTime + " UTC")
		workflow.SetCurrentDetails(ctx, "sold out until "+until)
		if err := sleepUnlessSignalled(ctx, signals, state.NextIn, "the product is no longer sold out"); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, string(app.JobSoldOut), in)
		}
	}
}

// sleepUnlessSignalled waits for a signal, which it receives, or until a time has passed. It returns the error of a
// cancelled workflow.
func sleepUnlessSignalled(
	ctx workflow.Context, signals workflow.ReceiveChannel, wait time.Duration, summary string,
) error {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	timer := workflow.NewTimerWithOptions(timing, wait, workflow.TimerOptions{Summary: summary})
	var err error
	workflow.NewSelector(ctx).
		AddFuture(timer, func(f workflow.Future) { err = f.Get(ctx, nil) }).
		AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		Select(ctx)
	return err
}

// HandleProducts registers the activity of products that are sold out. It must be called before Start.
func (w *Workers) HandleProducts(p *activities.Products) {
	w.deadlines.RegisterActivityWithOptions(p.EndSoldOut, activity.RegisterOptions{Name: activityEndSoldOut})
}
