package delivery

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// noLimit stands for the limit of a plan that has none, where a queue has slots all the
// same: while it moves up.
const noLimit = math.MaxInt32

// planNames and planLimits are how statements look up how much a plan lets start.
var planNames, planLimits = func() (names []string, limits []int64) {
	for _, plan := range app.Plans {
		names, limits = append(names, string(plan)), append(limits, int64(perWindow(plan)))
	}
	return names, limits
}()

func perWindow(plan app.Plan) int {
	if limit, ok := plan.PerWindow(); ok {
		return limit
	}
	return noLimit
}

// LockQueue locks a queue until tx ends.
func LockQueue(ctx context.Context, tx bun.Tx, queue string) error {
	_, err := tx.Tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(plan_lock($1))", queue)
	return err
}

// lockQueues locks the queues that a statement names, but for those that others have
// locked: these see to them.
func lockQueues(ctx context.Context, tx bun.Tx, statement string, args ...any) ([]string, error) {
	rows, err := tx.Tx.QueryContext(ctx, `WITH found AS MATERIALIZED (`+statement+`)
		SELECT queue FROM found WHERE pg_try_advisory_xact_lock(plan_lock(queue))`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var queues []string
	for rows.Next() {
		var queue string
		if err := rows.Scan(&queue); err != nil {
			return nil, err
		}
		queues = append(queues, queue)
	}
	return queues, rows.Err()
}

// countStarts counts claims as what starts in a window of their queues, which tx has locked.
func countStarts(ctx context.Context, tx bun.Tx, window time.Time, claims []app.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	stores, replays := make([]app.StoreID, len(claims)), make([]bool, len(claims))
	for i, c := range claims {
		stores[i], replays[i] = c.StoreID, c.Replay
	}
	_, err := tx.Tx.ExecContext(ctx, `
		INSERT INTO plan_windows AS w (queue, starts_at, taken, replays, started, replays_started, last_at)
		SELECT queue, $1::timestamptz, started, replays, started, replays, $1 FROM (
			SELECT q.queue, count(*) AS started, count(*) FILTER (WHERE c.replay) AS replays
			FROM unnest($2::text[], $3::boolean[]) AS c (store_id, replay) JOIN plan_queues q USING (store_id) GROUP BY q.queue
		) claimed
		ON CONFLICT (queue, starts_at) DO UPDATE SET
			started = w.started + excluded.started, replays_started = w.replays_started + excluded.replays_started,
			taken = greatest(w.taken, w.started + excluded.started), replays = greatest(w.replays, w.replays_started + excluded.replays_started)`,
		window, stores, replays)
	return err
}

// replaySlots takes slots for n replays and returns when they start: now, where there is no
// limit.
func (q *Queue) replaySlots(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, n int) ([]time.Time, error) {
	queue := func() (id string, plan app.Plan, limited bool, err error) {
		err = tx.Tx.QueryRowContext(ctx, "SELECT queue, plan, limited FROM plan_queues WHERE store_id = $1", store).Scan(&id, &plan, &limited)
		return id, plan, limited, err
	}
	id, _, limited, err := queue()
	if err != nil || !limited {
		return slices.Repeat([]time.Time{now}, n), err
	}
	if err := LockQueue(ctx, tx, id); err != nil {
		return nil, err
	}
	_, plan, limited, err := queue() // the lock may have been waited for
	if err != nil || !limited {
		return slices.Repeat([]time.Time{now}, n), err
	}
	rows, err := tx.Tx.QueryContext(ctx, "SELECT scheduled_for FROM take_plan_slots($1, $2, $3, true, $4, $5, $6, NULL) ORDER BY place",
		id, n, perWindow(plan), now, app.PlanWindow(now, q.planWindow), q.planWindow)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var slots []time.Time
	for rows.Next() {
		var at time.Time
		if err := rows.Scan(&at); err != nil {
			return nil, err
		}
		slots = append(slots, at)
	}
	return slots, rows.Err()
}

// SetPlan gives a website another plan, in the transaction of whoever decides it. With a
// better one the queue moves up, see MoveUp; with a lesser one slots already given stay.
// NOT_FOUND if there is no such website.
func (q *Queue) SetPlan(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, plan app.Plan) error {
	if err := LockQueue(ctx, tx, string(website)); err != nil {
		return err
	}
	var old app.Plan
	err := tx.NewRaw(`UPDATE websites w SET plan = ?1 FROM (SELECT id, plan FROM websites WHERE id = ?0 FOR NO KEY UPDATE) old
		WHERE w.id = old.id RETURNING old.plan`, website, plan).Scan(ctx, &old)
	if err != nil || !plan.Improves(old) {
		return err
	}
	done := app.PlanWindow(now, q.planWindow)
	if _, limited := plan.PerWindow(); !limited {
		done = done.Add(-q.planWindow) // not even this window's have to wait
	}
	_, err = tx.NewRaw(`INSERT INTO plan_moves (website_id, done_to)
		SELECT ?0, ?1 WHERE EXISTS (SELECT FROM plan_windows WHERE queue = ?0 AND starts_at > ?1)
		ON CONFLICT (website_id) DO UPDATE SET done_to = excluded.done_to`, website, done).Exec(ctx)
	return err
}

// MoveUp moves what waits in one window of a website whose plan has improved into earlier
// windows, as far as these have room, in its order. It reports whether it found a website
// to move: there may be more to do. Until all have moved, new deliveries queue up behind.
func (q *Queue) MoveUp(ctx context.Context, now time.Time) (bool, error) {
	now = app.At(now).Time
	var found bool
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		found = false
		var website app.WebsiteID
		err := tx.NewRaw("SELECT website_id FROM plan_moves WHERE pg_try_advisory_xact_lock(plan_lock(website_id)) LIMIT 1").Scan(ctx, &website)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return q.moveUp(ctx, tx, now, website)
	})
	return found, err
}

// moveUp moves the next window of a website, whose queue tx has locked.
func (q *Queue) moveUp(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID) error {
	current := app.PlanWindow(now, q.planWindow)
	var plan app.Plan
	var window *time.Time // null = none is left
	var last bool
	err := tx.Tx.QueryRowContext(ctx, `
		SELECT w.plan, min(p.starts_at), count(p.starts_at) < 2
		FROM plan_moves m JOIN websites w ON w.id = m.website_id LEFT JOIN plan_windows p ON p.queue = w.id
			AND p.starts_at > m.done_to AND (p.starts_at > $2 OR w.plan = 'ENTERPRISE' AND p.starts_at = $2)
		WHERE m.website_id = $1 GROUP BY w.id`, website, current).Scan(&plan, &window, &last)
	if errors.Is(err, sql.ErrNoRows) { // another has done the last meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if window != nil {
		args := []any{website, *window, q.planWindow, now}
		statement := startNow
		if limit, limited := plan.PerWindow(); limited {
			statement, args = moveIntoRoom, append(args, current, limit)
		}
		if _, err := tx.Tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	if !last {
		_, err = tx.Tx.ExecContext(ctx, "UPDATE plan_moves SET done_to = $2 WHERE website_id = $1", website, window)
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, `WITH emptied AS (DELETE FROM plan_windows WHERE queue = $1 AND taken = 0)
		DELETE FROM plan_moves WHERE website_id = $1`, website)
	return err
}

// waitingIn finds what waits in the window of $3 from $2 on.
const waitingIn = `waiting AS MATERIALIZED (
		SELECT d.id, d.event_id, d.scheduled_for, d.replays > 0 AS again, row_number() OVER (PARTITION BY d.replays > 0 ORDER BY d.scheduled_for, d.event_id) AS place
		FROM plan_queues q CROSS JOIN LATERAL (
			SELECT id, event_id, scheduled_for, replays FROM deliveries
			WHERE store_id = q.store_id AND status = 'queued' AND scheduled_for > created_at
				AND scheduled_for >= $2 AND scheduled_for < $2 + $3::interval AND scheduled_for > $4
			FOR UPDATE
		) d
		WHERE q.website_id = $1 AND q.queue = $1
	)`

// moveIntoRoom gives what finds no room before its window the times in it that the better
// plan has for them: none starts later than before, and the order stays.
const moveIntoRoom = `
	WITH ` + waitingIn + `, slot AS MATERIALIZED (
		SELECT kind.again, s.place, s.scheduled_for FROM (SELECT again, count(*) AS deliveries FROM waiting GROUP BY again ORDER BY again) kind,
			take_plan_slots($1, kind.deliveries, $6, kind.again, $4, $5, $3, $2) s
	), moved AS MATERIALIZED (
		SELECT w.id, w.again, s.place IS NOT NULL AS earlier, coalesce(s.scheduled_for, least(w.scheduled_for, $2 + interval '1 ms' *
			((extract(epoch FROM $3::interval) * 100)::bigint * (row_number() OVER (PARTITION BY s.place IS NULL ORDER BY w.scheduled_for, w.event_id) - 1) / $6))) AS at
		FROM waiting w LEFT JOIN slot s USING (again, place)
	), counted AS (
		UPDATE plan_windows w SET taken = w.taken - m.taken, replays = w.replays - m.replays, last_at = coalesce(m.last_at, w.starts_at)
		FROM (SELECT count(*) FILTER (WHERE earlier) AS taken, count(*) FILTER (WHERE earlier AND again) AS replays,
			max(at) FILTER (WHERE NOT earlier) AS last_at FROM moved) m
		WHERE w.queue = $1 AND w.starts_at = $2
	)
	UPDATE deliveries d SET scheduled_for = m.at FROM moved m WHERE d.id = m.id AND d.scheduled_for <> m.at`

// startNow is for plans without limit, which take no slots.
const startNow = `
	WITH ` + waitingIn + `, counted AS (
		UPDATE plan_windows w SET taken = w.taken - m.taken, replays = w.replays - m.replays
		FROM (SELECT count(*) AS taken, count(*) FILTER (WHERE again) AS replays FROM waiting) m
		WHERE w.queue = $1 AND w.starts_at = $2
	)
	UPDATE deliveries d SET scheduled_for = $4 FROM waiting w WHERE d.id = w.id`

// PlanUsage returns how much of its plan a store's website has used, or a sandbox.
// NOT_FOUND if there is no such store.
func (q *Queue) PlanUsage(ctx context.Context, now time.Time, store app.StoreID) (app.PlanUsage, error) {
	window := app.PlanWindow(now, q.planWindow)
	usage := app.PlanUsage{WindowStart: app.At(window), WindowEnd: app.At(window.Add(q.planWindow))}
	var last *time.Time
	err := q.pg.System().DB.QueryRowContext(ctx, planUsage, store, window, now).
		Scan(&usage.Plan, &usage.Taken, &usage.ReplaysTaken, &usage.Queued, &last)
	usage.Limit, usage.LastScheduledFor = usage.Plan.Limit(), pg.TimeOrNil(last)
	return usage, pg.Classify(err)
}

// planUsage counts in the index of what waits: for its slot, or for room in a later window.
const planUsage = `
	SELECT q.plan, coalesce(w.taken, 0), coalesce(w.replays, 0), waiting.deliveries, waiting.last_at
	FROM plan_queues q LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $2
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(d.deliveries), 0) AS deliveries, max(d.last_at) AS last_at
		FROM plan_queues member CROSS JOIN LATERAL (
			SELECT count(*) AS deliveries, max(d.scheduled_for) FILTER (WHERE d.scheduled_for > $3) AS last_at FROM deliveries d
			WHERE d.store_id = member.store_id AND d.status = 'queued' AND d.scheduled_for > d.created_at AND (d.scheduled_for > $3 OR d.scheduled_for < $2 AND q.limited)
		) d
		WHERE member.website_id = q.website_id AND member.queue = q.queue
	) waiting
	WHERE q.store_id = $1`
