package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery/schedule"
)

//go:embed queries/candidates.sql
var candidatesStatement string

// scheduling returns the limits of a decision.
func (q *Queue) scheduling(limits app.ClaimLimits) schedule.Limits {
	return schedule.Limits{ClaimLimits: limits, PromptGrowth: q.policy.PromptGrowth, SlowPace: q.policy.SlowPace}
}

// candidates reads the facts for a claim, and moves the position of the next claim behind them.
func (q *Queue) candidates(ctx context.Context, now time.Time, limits app.ClaimLimits) (schedule.Facts, error) {
	p := q.policy
	prompt := max(limits.Batch, q.scheduling(limits).BurstCapacity())
	queues := min(p.ClaimQueues, max(prompt, limits.SlowBatch))
	position := q.positions.current()
	unread, err := json.Marshal(position.unread)
	if err != nil {
		return schedule.Facts{}, err
	}
	window := app.PlanWindow(now, q.planWindow)
	rows, err := q.relay.System().DB.QueryContext(ctx, candidatesStatement, position.last, p.VisitQueues, queues,
		p.ClaimSubscriptions, window, limitsByPlan, unread, prompt, limits.SlowBatch, limits.Quick, limits.Slow,
		limits.Unproven, p.PromptGrowth, now.Add(-p.Recent), p.Prompt.Milliseconds(),
		now.Add(limits.Lease-paceInterval), now)
	if err != nil {
		return schedule.Facts{}, err
	}
	defer rows.Close()
	read := newFactReader(window)
	for rows.Next() {
		if err := read.row(rows); err != nil {
			return schedule.Facts{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return schedule.Facts{}, err
	}
	next := claimPosition{last: read.last, unread: read.cut}
	if read.visited < p.VisitQueues && read.opened < queues {
		next.last = "" // all queues were read
	}
	q.positions.advance(next)
	read.facts.Unread = next.last != "" || len(next.unread) > 0 || read.unread
	if !now.Before(app.LastPlanStart(now, q.planWindow)) {
		read.omitLimited() // their first attempts would be made in the next window
	}
	return read.facts, nil
}

// factReader builds facts from the rows of the statement.
type factReader struct {
	window time.Time
	facts  schedule.Facts
	queues map[string]int // indexes in facts

	last            string // last visited queue
	visited, opened int
	unread          bool                          // a visited queue with starts left was not read
	cut             map[string]app.SubscriptionID // last read subscription of queues with unread ones
}

func newFactReader(window time.Time) *factReader {
	return &factReader{window: window, queues: map[string]int{}, cut: map[string]app.SubscriptionID{}}
}

// candidateRow is a row of the statement. The values of a queue and of an active subscription may be null.
type candidateRow struct {
	queue, subscription                     sql.NullString
	most, started, replays                  sql.NullInt64
	pending, young, responses, prompt, read sql.NullInt64
	scarce, cut, active, healthy, quick     sql.NullBool
	classes, positions, due                 []int64
	ids, events, resources                  []string
}

func (f *factReader) row(rows *sql.Rows) error {
	var r candidateRow
	err := rows.Scan(&f.last, &f.visited, &f.opened, &f.unread, &r.queue, &r.most, &r.started, &r.replays, &r.scarce,
		&r.subscription, &r.cut, &r.active, &r.healthy, &r.quick, &r.pending, &r.young, &r.responses, &r.prompt,
		&r.read, pgdialect.Array(&r.classes), pgdialect.Array(&r.ids), pgdialect.Array(&r.events),
		pgdialect.Array(&r.positions), pgdialect.Array(&r.resources), pgdialect.Array(&r.due))
	if err != nil || !r.queue.Valid {
		return err
	}
	if r.cut.Bool {
		f.cut[r.queue.String] = app.SubscriptionID(r.subscription.String)
	}
	if r.active.Bool {
		queue := f.queue(r)
		queue.Subscriptions = append(queue.Subscriptions, r.subscriptionFacts())
	}
	return nil
}

func (f *factReader) queue(r candidateRow) *schedule.Queue {
	index, known := f.queues[r.queue.String]
	if !known {
		index = len(f.facts.Queues)
		f.queues[r.queue.String] = index
		f.facts.Queues = append(f.facts.Queues, schedule.Queue{ID: r.queue.String, Scarce: r.scarce.Bool})
		if r.most.Valid {
			f.facts.Queues[index].Window = schedule.Window{
				Start: f.window, Limit: int(r.most.Int64), Started: int(r.started.Int64), Replays: int(r.replays.Int64),
			}
		}
	}
	return &f.facts.Queues[index]
}

func (r candidateRow) subscriptionFacts() schedule.Subscription {
	s := schedule.Subscription{
		ID: app.SubscriptionID(r.subscription.String), Healthy: r.healthy.Bool, Quick: r.quick.Bool,
		Pending: int(r.pending.Int64), Young: int(r.young.Int64), Responses: int(r.responses.Int64),
		Prompt: int(r.prompt.Int64), Read: int(r.read.Int64), Tie: rand.Uint64(), //nolint:gosec // no secret
	}
	for i, class := range r.classes {
		s.Queued[class] = append(s.Queued[class], schedule.Delivery{
			ID: app.DeliveryID(r.ids[i]), Event: app.EventID(r.events[i]), Position: r.positions[i],
			Resource: r.resources[i], Due: time.UnixMicro(r.due[i]).UTC(),
		})
	}
	return s
}

// omitLimited omits the queues whose plan limits their starts.
func (f *factReader) omitLimited() {
	var unlimited []schedule.Queue
	for _, queue := range f.facts.Queues {
		if !queue.Window.Limited() {
			unlimited = append(unlimited, queue)
		}
	}
	f.facts.Queues = unlimited
}
