package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery/schedule"
	"github.com/comanda-dev/comanda/persistence/pg"
)

var (
	//go:embed queries/plan_usage.sql
	planUsageStatement string
	//go:embed queries/queue_line.sql
	queueLineStatement string
)

// limitsByPlan is an argument of statements: the number of starts in a window of each limited plan.
var limitsByPlan = func() []byte {
	limits := map[app.Plan]int{}
	for _, plan := range app.Plans {
		if limit, ok := plan.PerWindow(); ok {
			limits[plan] = limit
		}
	}
	encoded, _ := json.Marshal(limits) // of a map of strings and numbers
	return encoded
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
	current := schedule.Window{Limit: *usage.Limit, Started: usage.Taken, Replays: usage.ReplaysTaken}
	later := current.Last([schedule.Classes]int{
		schedule.First: usage.Queued - customers - replays, schedule.Customer: customers, schedule.Replay: replays,
	})
	if later > 0 {
		at := app.At(q.windowAfter(window, later))
		usage.LastScheduledFor = &at
	}
	return usage, nil
}

// windowAfter returns the start of the n-th window after a window.
func (q *Queue) windowAfter(window time.Time, n int) time.Time {
	return window.Add(time.Duration(n) * q.planWindow)
}

// ExpectStarts replaces the ScheduledFor of a store's queued deliveries by an estimate: the start of the window of
// their place in the queue (docs/behaviour.md#plan-rate). It keeps ScheduledFor if the plan is unlimited or the window
// is the current one.
func (q *Queue) ExpectStarts(ctx context.Context, now time.Time, store app.StoreID, deliveries []app.Delivery) error {
	queued := map[app.DeliveryID]*app.Delivery{}
	var ids []app.DeliveryID
	for i, d := range deliveries {
		if d.Status == app.DeliveryQueued && d.ScheduledFor != nil {
			queued[d.ID], ids = &deliveries[i], append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	window := app.PlanWindow(now, q.planWindow)
	line, err := q.queueLine(ctx, window, store, ids)
	if err != nil {
		return err
	}
	windows := line.window.Expect(line.classes)
	for i, id := range line.given {
		start := q.windowAfter(window, windows[line.positions[i]-1])
		if start.After(now) {
			queued[app.DeliveryID(id)].ScheduledFor = new(app.At(start))
		}
	}
	return nil
}

// queueLine is the line of the queued deliveries of a limited queue.
type queueLine struct {
	window    schedule.Window
	classes   []schedule.Class // oldest first
	given     []string
	positions []int64 // of the given deliveries, from 1
}

// queueLine reads the line of a store's queue. It is empty if the plan is unlimited.
func (q *Queue) queueLine(ctx context.Context, window time.Time, store app.StoreID, given []app.DeliveryID,
) (line queueLine, err error) {
	var classes sql.NullString
	err = q.pg.System().DB.QueryRowContext(ctx, queueLineStatement, store, window, given, limitsByPlan,
		q.policy.EstimatedPlaces).Scan(&line.window.Limit, &line.window.Started, &line.window.Replays, &classes,
		pgdialect.Array(&line.given), pgdialect.Array(&line.positions))
	if errors.Is(err, sql.ErrNoRows) {
		return queueLine{}, nil
	}
	for _, digit := range classes.String {
		line.classes = append(line.classes, schedule.Class(digit-'0'))
	}
	return line, pg.Classify(err)
}
