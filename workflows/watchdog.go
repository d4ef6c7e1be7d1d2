package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// signalWatch is sent with each start of a watchdog. It makes a watchdog that is about to end evaluate its subscription
// again: the server rejects the completion of a workflow that has not received all of its signals.
const signalWatch = "watch"

// Watchdog evaluates a failing subscription once a day, until it has recovered or is deactivated
// (docs/behaviour.md#watchdog). Its state is in the database.
func Watchdog(ctx workflow.Context, in JobInput) (app.Watched, error) {
	var tick app.Watched
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (app.Watched, error) { return tick, nil }); err != nil {
		return tick, err
	}
	signals := workflow.GetSignalChannel(ctx, signalWatch)
	ctx = withJobOptions(ctx, in, time.Minute)
	for {
		for signals.ReceiveAsync(nil) {
		}
		var next app.Watched
		err := workflow.ExecuteActivity(ctx, activityTickWatchdog, activities.TickWatchdogInput{
			StoreID: in.StoreID, SubscriptionID: app.SubscriptionID(in.Subject), Policy: in.Policy.Watchdog,
		}).Get(ctx, &next)
		if err != nil {
			return tick, err
		}
		tick = next
		if tick.Ended != "" {
			if signals.Len() > 0 {
				continue
			}
			workflow.SetCurrentDetails(ctx, "ended: "+string(tick.Ended))
			return tick, nil
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("day %d of %d; %d failed attempts since %s",
			tick.Days, in.Policy.Watchdog.Days, tick.Failures, tick.Since.UTC().Format(time.DateTime+" UTC")))
		summary := fmt.Sprintf("the end of day %d", tick.Days+1)
		timer := workflow.NewTimerWithOptions(ctx, tick.NextIn, workflow.TimerOptions{Summary: summary})
		if err := timer.Get(ctx, nil); err != nil {
			return tick, err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return tick, workflow.NewContinueAsNewError(ctx, string(app.JobWatchdog), in)
		}
	}
}
