package delivery

import (
	"context"
	_ "embed"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

var (
	//go:embed queries/plan_usage.sql
	planUsageStatement string
	//go:embed queries/expected_starts.sql
	expectedStartsStatement string
)

// planNames and planLimits are statement arguments: each plan's number of starts in a window; null is
// unlimited.
var planNames, planLimits = func() (names []string, limits []*int64) {
	for _, plan := range app.Plans {
		var most *int64
		if limit, ok := plan.PerWindow(); ok {
			n := int64(limit)
			most = &n
		}
		names, limits = append(names, string(plan)), append(limits, most)
	}
	return names, limits
}()

// SetPlan changes a website's plan in the caller's transaction, effective from the next claim. It
// returns NOT_FOUND if there is no such website.
func (q *Queue) SetPlan(ctx context.Context, tx bun.Tx, website app.WebsiteID, plan app.Plan) error {
	var id app.WebsiteID
	return tx.NewRaw("UPDATE websites SET plan = ?1 WHERE id = ?0 RETURNING id", website, plan).Scan(ctx, &id)
}

// PlanUsage returns the plan usage of a store's website; a sandbox has separate usage. It returns
// NOT_FOUND if there is no such store.
func (q *Queue) PlanUsage(ctx context.Context, now time.Time, store app.StoreID) (app.PlanUsage, error) {
	window := app.PlanWindow(now, q.planWindow)
	usage := app.PlanUsage{WindowStart: app.At(window), WindowEnd: app.At(window.Add(q.planWindow))}
	var customers, replays int
	err := q.pg.System().DB.QueryRowContext(ctx, planUsageStatement, store, window).
		Scan(&usage.Plan, &usage.Taken, &usage.ReplaysTaken, &usage.Queued, &customers, &replays)
	if err != nil {
		return app.PlanUsage{}, pg.Classify(err)
	}
	if usage.Limit = usage.Plan.Limit(); usage.Limit == nil {
		return usage, nil
	}
	if last := q.lastStart(window, usage, customers, replays); usage.Queued > 0 && last.After(window) {
		at := app.At(last)
		usage.LastScheduledFor = &at
	}
	return usage, nil
}

// lastStart estimates the window in which the last of the queued deliveries starts. It returns the
// start of that window.
func (q *Queue) lastStart(window time.Time, usage app.PlanUsage, customers, replays int) time.Time {
	limit, free := *usage.Limit, *usage.Limit-usage.Taken
	last := q.startOf(window, limit, free, usage.Queued)
	freeForReplays := min(free, replayShare*(limit/replayShare-usage.ReplaysTaken))
	if start := q.startOf(window, limit, freeForReplays, replayShare*replays); start.After(last) {
		last = start
	}
	if others := usage.Queued - customers; (kindShare-1)*customers > others {
		start := q.startOfCustomerEvent(window, limit, free, others+others/(kindShare-1), usage.Queued)
		if start.After(last) {
			last = start
		}
	}
	return last
}

// startOf returns the start of the window of a place in a queue, counted from 1, if free deliveries
// can start in the current window and limit in each later window.
func (q *Queue) startOf(window time.Time, limit, free, place int) time.Time {
	behind := place - max(free, 0)
	if behind <= 0 {
		return window
	}
	return window.Add(time.Duration((behind+limit-1)/limit) * q.planWindow)
}

// startOfCustomerEvent is startOf for a customer.* event that starts after the first mixed places, when only
// customer.* events are queued. From then on, 1/kindShare of each window stays reserved for other events.
func (q *Queue) startOfCustomerEvent(window time.Time, limit, free, mixed, place int) time.Time {
	used := limit - max(free, 0) + mixed
	first := window.Add(time.Duration(used/limit) * q.planWindow)
	return q.startOf(first, limit-limit/kindShare, limit-limit/kindShare-used%limit, place-mixed)
}

// ExpectStarts replaces the ScheduledFor of a store's queued deliveries by an estimate: the start of the window of
// their place in the queue (docs/behaviour.md#plan-rate). It keeps ScheduledFor if the plan is unlimited or the window
// is the current one.
func (q *Queue) ExpectStarts(ctx context.Context, now time.Time, store app.StoreID, deliveries []app.Delivery) error {
	places := map[app.DeliveryID]*app.Delivery{}
	var ids []app.DeliveryID
	for i, d := range deliveries {
		if d.Status == app.DeliveryQueued {
			places[d.ID], ids = &deliveries[i], append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	window := app.PlanWindow(now, q.planWindow)
	rows, err := q.pg.System().DB.QueryContext(ctx, expectedStartsStatement, store, window, ids, planNames, planLimits,
		q.policy.EstimatedPlaces, replayShare, kindShare)
	if err != nil {
		return pg.Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id app.DeliveryID
		var limit, free, place int
		var mixed *int
		if err := rows.Scan(&id, &limit, &free, &place, &mixed); err != nil {
			return err
		}
		start := q.startOf(window, limit, free, place)
		if mixed != nil {
			start = q.startOfCustomerEvent(window, limit, free, *mixed, place)
		}
		if start.After(now) {
			places[id].ScheduledFor = app.At(start)
		}
	}
	return pg.Classify(rows.Err())
}
