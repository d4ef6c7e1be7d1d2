package workflows

import (
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

const activityTickAcceptance = "TickAcceptance"

// Acceptance waits until an order, the subject of the job, leaves RECEIVED (docs/behaviour.md#acceptance). Its state is
// in the database, whose clock alone measures the deadlines: a tick that comes early returns the remaining time. Each
// start of the job sends signalWatch, which makes the workflow evaluate the order again. The transaction in which the
// order leaves RECEIVED starts the job, and so does the reconciler after a deadline, in case the workflow is lost.
func Acceptance(ctx workflow.Context, in JobInput) (app.AcceptanceTick, error) {
	var tick app.AcceptanceTick
	err := workflow.SetQueryHandler(ctx, QueryState, func() (app.AcceptanceTick, error) { return tick, nil })
	if err != nil {
		return tick, err
	}
	signals := workflow.GetSignalChannel(ctx, signalWatch)
	ctx = withDeadlineOptions(ctx, in, time.Minute)
	order := activities.TickAcceptanceInput{StoreID: in.StoreID, OrderID: app.OrderID(in.Subject)}
	for {
		for signals.ReceiveAsync(nil) {
		}
		var next app.AcceptanceTick
		if err := workflow.ExecuteActivity(ctx, activityTickAcceptance, order).Get(ctx, &next); err != nil {
			return tick, err
		}
		tick = next
		workflow.SetCurrentDetails(ctx, string(tick.State))
		if tick.Ended() {
			if signals.Len() > 0 {
				continue
			}
			return tick, nil
		}
		if tick.NextIn > 0 {
			err = sleepUnlessSignalled(ctx, signals, tick.NextIn, "the next deadline")
		} else {
			err = receive(ctx, signals)
		}
		if err != nil {
			return tick, err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return tick, workflow.NewContinueAsNewError(ctx, string(app.JobAcceptance), in)
		}
	}
}

// receive waits for a signal. It returns the error of a cancelled workflow.
func receive(ctx workflow.Context, signals workflow.ReceiveChannel) error {
	workflow.NewSelector(ctx).
		AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).
		Select(ctx)
	return ctx.Err()
}

// HandleAcceptances registers the activity of orders that wait for acceptance. It must be called before Start.
func (w *Workers) HandleAcceptances(a *activities.Acceptances) {
	w.deadlines.RegisterActivityWithOptions(a.TickAcceptance, activity.RegisterOptions{Name: activityTickAcceptance})
}
