package delivery

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// enqueueReordering enqueues the job that applies the changed ordering of a subscription to its unfinished deliveries.
// If the new ordering is app.OrderingResource, no delivery of the subscription is claimed until the job is done.
func enqueueReordering(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.SubscriptionID,
) error {
	_, err := tx.NewRaw("UPDATE subscriptions SET reordering = true WHERE store_id = ? AND id = ?", store, id).Exec(ctx)
	if err != nil {
		return err
	}
	return EnqueueJob(ctx, tx, now, store, app.JobReordering, string(id))
}

// reorderStage is a step of a change of ordering. Each batch runs its statements in one transaction.
type reorderStage struct {
	// read returns the next deliveries or turns of the subscription, at most ?7, in the order of the stage.
	//   ?0 store   ?1 subscription   ?2 its queue   ?3 class, ?4 position and ?5 name of the last one   ?6 now
	read string
	// change changes the unfinished deliveries among them. ?0 to ?2 and ?6 are the same; ?3 ids, ?4 resources
	change string
	held   bool // the deliveries are held back
}

// fromReplay is the condition that a bulk replay has queued a delivery, which then takes turns under both orderings.
const fromReplay = "(d.class = 2 AND d.replay_id IS NOT NULL)"

// reorderStages are the steps towards an ordering. Towards resource, deliveries in progress get their turns before
// queued ones, and these in the order of their positions. The statements skip deliveries that are already changed.
var reorderStages = map[app.Ordering][]reorderStage{
	app.OrderingResource: {
		{`SELECT d.id, d.resource, 0 AS class, 0 AS position, '' AS last FROM deliveries d
			WHERE d.store_id = ?0 AND d.subscription_id = ?1 AND d.status = 'pending' AND NOT d.ordered
				AND d.resource <> ''
			LIMIT ?7`, orderStarted, false},
		{`SELECT d.id, d.resource, 0 AS class, 0 AS position, d.id AS last FROM deliveries d
			WHERE d.subscription_id = ?1 AND d.status = 'retrying' AND d.id > ?5
			ORDER BY d.id LIMIT ?7`, orderStarted, false},
		// The bound on a row of columns keeps the planner from other indexes, as in candidates.sql.
		{`SELECT d.id, d.resource, d.class, d.position, d.event_id AS last FROM (
				SELECT * FROM deliveries WHERE status = 'queued' AND NOT held
					AND (queue, subscription_id, class, position, event_id) > (?2, ?1, ?3, ?4, ?5)
				ORDER BY queue, subscription_id, class, position, event_id LIMIT ?7) d
			WHERE d.queue = ?2 AND d.subscription_id = ?1`, `UPDATE deliveries d SET ordered = true, held = true
			WHERE d.id = ANY (?3::text[]) AND d.store_id = ?0 AND d.status = 'queued' AND NOT d.ordered
				AND d.resource <> ''`, false},
	},
	app.OrderingNone: {
		{`SELECT d.id, d.resource, d.class, d.position, d.resource AS last FROM (
				SELECT * FROM deliveries WHERE status = 'queued' AND held
					AND (queue, subscription_id, resource, class, position) > (?2, ?1, ?5, ?3, ?4)
				ORDER BY queue, subscription_id, resource, class, position LIMIT ?7) d
			WHERE d.queue = ?2 AND d.subscription_id = ?1`,
			unorder + `d.id = ANY (?3::text[]) AND d.status = 'queued'`, true},
		{`SELECT t.delivery_id AS id, t.resource, 0 AS class, 0 AS position, t.resource AS last FROM turns t
			WHERE t.subscription_id = ?1 AND t.resource > ?5 ORDER BY t.resource LIMIT ?7`,
			unorder + `(d.id = ANY (?3::text[]) AND d.status = 'queued' OR d.subscription_id = ?1
				AND d.resource = ANY (?4::text[]) AND d.status IN ('pending', 'retrying'))`, false},
	},
}

const (
	orderStarted = `UPDATE deliveries d SET ordered = true WHERE d.id = ANY (?3::text[]) AND d.store_id = ?0
		AND d.status IN ('pending', 'retrying') AND NOT d.ordered AND d.resource <> ''`
	unorder = `UPDATE deliveries d SET ordered = false, held = false, scheduled_for = greatest(d.scheduled_for, ?6)
		WHERE d.store_id = ?0 AND d.ordered AND NOT ` + fromReplay + ` AND `
)

// unchanged are the conditions of an unfinished delivery of ?1 that the change to an ordering has still to change. A
// claim that began before the change can commit after a stage has passed its delivery.
var unchanged = map[app.Ordering]string{
	app.OrderingResource: "NOT d.ordered AND d.resource <> ''",
	app.OrderingNone:     "d.ordered AND NOT " + fromReplay,
}

// reordered is the last row that a batch has read.
type reordered struct {
	ID       app.DeliveryID
	Resource string
	Class    int
	Position int64
	Last     string
}

// Reorder applies the present ordering of a subscription to the next unfinished deliveries, at most limit, in one
// transaction, and returns the start of the next batch. It begins again if the ordering is not that of from. If it is
// done, deliveries of the subscription are claimed again. Of a subscription that is deleted or whose ordering has not
// changed, it changes nothing.
func (q *Queue) Reorder(ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID,
	from app.Reordering, limit int,
) (app.Reordering, error) {
	var next app.Reordering
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		lock := "FOR SHARE"
		if from.Stage == len(reorderStages[from.Ordering]) && from.Ordering != "" {
			lock = "FOR NO KEY UPDATE" // to end the change; no delivery is queued meanwhile
		}
		var s struct {
			Ordering   app.Ordering
			Reordering bool
			Queue      string
		}
		err := tx.NewRaw(`SELECT ordering, reordering, plan_queue(store_queue(store_id), store_id) AS queue
			FROM subscriptions WHERE store_id = ? AND id = ? AND deleted_at IS NULL `+lock, store, id).Scan(ctx, &s)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !s.Reordering {
			next = app.Reordering{Done: true}
			return nil
		}
		if err != nil {
			return err
		}
		if from.Ordering != s.Ordering {
			from = app.Reordering{Ordering: s.Ordering, Position: -1}
		}
		if from.Stage == len(reorderStages[s.Ordering]) {
			next, err = endReordering(ctx, tx, store, id, s.Ordering)
			return err
		}
		next, err = reorderBatch(ctx, tx, app.At(now).Time, store, id, s.Queue, from, limit)
		return err
	})
	if err == nil {
		q.turnPassed()
	}
	return next, err
}

// reorderBatch makes one batch of a stage. Before it changes deliveries that are held back, it locks their turns: a
// transaction that gives a turn waits for the delivery that receives it. Deliveries in progress are locked before their
// turns, as their ends do.
func reorderBatch(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.SubscriptionID, queue string,
	from app.Reordering, limit int,
) (app.Reordering, error) {
	if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
		return from, err
	}
	stage := reorderStages[from.Ordering][from.Stage]
	var read []reordered
	err := tx.NewRaw(stage.read, store, id, queue, from.Class, from.Position, from.Last, now, limit).Scan(ctx, &read)
	if err != nil {
		return from, err
	}
	next := app.Reordering{Ordering: from.Ordering, Stage: from.Stage, Position: -1}
	if len(read) == 0 {
		next.Stage++
		return next, nil
	}
	ids, resources := make([]app.DeliveryID, len(read)), make([]string, len(read))
	for i, r := range read {
		ids[i], resources[i] = r.ID, r.Resource
	}
	if stage.held {
		_, err = tx.NewRaw(`SELECT FROM turns WHERE subscription_id = ? AND resource = ANY (?::text[])
			ORDER BY subscription_id, resource FOR UPDATE`, id, pgdialect.Array(resources)).Exec(ctx)
		if err != nil {
			return from, err
		}
	}
	changed, err := tx.NewRaw(stage.change, store, id, queue, pgdialect.Array(ids), pgdialect.Array(resources), nil,
		now).Exec(ctx)
	if err != nil {
		return from, err
	}
	n, err := changed.RowsAffected()
	next.Changed = int(n)
	if len(read) < limit {
		next.Stage++
		return next, err
	}
	last := read[len(read)-1]
	next.Class, next.Position, next.Last = last.Class, last.Position, last.Last
	return next, err
}

// endReordering ends a change of ordering, or begins it again if there are deliveries to change.
func endReordering(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID, ordering app.Ordering) (
	app.Reordering, error,
) {
	var left bool
	err := tx.NewRaw(`SELECT EXISTS (SELECT FROM deliveries d WHERE d.store_id = ?0 AND d.subscription_id = ?1
			AND d.status = 'pending' AND `+unchanged[ordering]+`)
		OR EXISTS (SELECT FROM deliveries d WHERE d.store_id = ?0 AND d.subscription_id = ?1
			AND d.status = 'retrying' AND `+unchanged[ordering]+`)
		OR EXISTS (SELECT FROM deliveries d WHERE d.store_id = ?0 AND d.subscription_id = ?1
			AND d.status = 'queued' AND `+unchanged[ordering]+`)`, store, id).Scan(ctx, &left)
	if err != nil || left {
		return app.Reordering{}, err
	}
	_, err = tx.NewRaw("UPDATE subscriptions SET reordering = false WHERE store_id = ? AND id = ?", store, id).Exec(ctx)
	if err != nil {
		return app.Reordering{}, err
	}
	return app.Reordering{Ordering: ordering, Done: true}, wakeRelays(ctx)
}
