package delivery

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// missedScan is the number of events that one step of a bulk replay of missed events reads.
const missedScan = 10_000

// missedTypes returns the event types that a bulk replay of missed events selects: those of the subscription.
func (r *replayRow) missedTypes(ctx context.Context, tx bun.Tx) ([]app.EventType, error) {
	var types []app.EventType
	err := tx.NewRaw(`SELECT kind.type FROM subscriptions s, unnest(?3::text[]) AS kind (type)
		WHERE s.store_id = ?0 AND s.id = ?1 AND selects(s.events, kind.type) AND ?2 IN ('', kind.type)`,
		r.StoreID, r.SubscriptionID, r.EventType, pgdialect.Array(app.EventTypes[:])).Scan(ctx, &types)
	return types, err
}

// positions returns the positions of the events of a bulk replay: from least (inclusive) to most (exclusive). Events
// that were dispatched after its creation are not included.
func (r *replayRow) positions() (least, most int64) {
	most = app.FirstPosition(r.CreatedAt.Add(time.Millisecond))
	return app.FirstPosition(r.CreatedFrom), min(most, app.FirstPosition(r.CreatedTo))
}

// countMissed counts the events without a delivery to the subscription. It includes those that its filter excludes: the
// steps of the bulk replay subtract them.
func (r *replayRow) countMissed(ctx context.Context, tx bun.Tx, dryRun bool) error {
	types, err := r.missedTypes(ctx, tx)
	if err != nil {
		return err
	}
	least, most := r.positions()
	return tx.NewRaw(`SELECT count(*), count(*) FILTER (WHERE ?5 AND NOT EXISTS (
			SELECT FROM outbox e WHERE e.id = l.id AND e.body IS NOT NULL AND e.erasing IS NULL))
		FROM event_log l WHERE l.store_id = ?0 AND l.type = ANY (?1::text[]) AND l.position >= ?2 AND l.position < ?3
			AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = l.id AND d.subscription_id = ?4)`,
		r.StoreID, pgdialect.Array(types), least, most, r.SubscriptionID, dryRun).Scan(ctx, &r.Matched, &r.Skipped)
}

// missedEvent is an event that a step of a bulk replay reads.
type missedEvent struct {
	ID       app.EventID
	Position int64
	Missed   bool // it has no delivery
}

// missedBatch queues deliveries of the next missed events of a bulk replay, at most limit, and advances its cursor, a
// position. It returns the queued deliveries. It skips events without a stored body.
func missedBatch(ctx context.Context, tx bun.Tx, now time.Time, row *replayRow, limit int) ([]deliveryRow, error) {
	types, err := row.missedTypes(ctx, tx)
	if err != nil {
		return nil, err
	}
	least, most := row.positions()
	if row.Cursor != "" {
		after, err := strconv.ParseInt(string(row.Cursor), 10, 64)
		if err != nil {
			return nil, err
		}
		least = after + 1
	}
	if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
		return nil, err
	}
	var read []missedEvent
	if err := tx.NewRaw(selectMissed, row.StoreID, pgdialect.Array(types), least, most, row.SubscriptionID,
		missedScan).Scan(ctx, &read); err != nil {
		return nil, err
	}
	var missed []app.EventID
	done := len(read) < missedScan
	for _, e := range read {
		if e.Missed && len(missed) == limit {
			done = false
			break
		}
		if e.Missed {
			missed = append(missed, e.ID)
		}
		row.Cursor = app.DeliveryID(strconv.FormatInt(e.Position, 10))
	}
	matching, checked, err := matchingMissed(ctx, tx, *row, missed)
	if err != nil {
		return nil, err
	}
	if checked < len(missed) { // the next step continues after the last checked event
		done = false
		last := slices.IndexFunc(read, func(e missedEvent) bool { return e.ID == missed[checked-1] })
		row.Cursor = app.DeliveryID(strconv.FormatInt(read[last].Position, 10))
	}
	queued, err := queueMissed(ctx, tx, now, *row, matching)
	if err != nil {
		return nil, err
	}
	row.Matched -= int64(checked - len(matching))
	row.Replayed += int64(len(queued))
	row.Skipped += int64(len(matching) - len(queued))
	if done {
		row.complete(now)
	}
	return queued, saveReplay(ctx, tx, *row)
}

// selectMissed reads the next events of some types. Each type is a range of an index.
const selectMissed = `
	SELECT l.id, l.position, NOT EXISTS (SELECT FROM deliveries d
		WHERE d.event_id = l.id AND d.subscription_id = ?4) AS missed
	FROM (SELECT first.* FROM unnest(?1::text[]) AS kind (type) CROSS JOIN LATERAL (
			SELECT id, position FROM event_log
			WHERE store_id = ?0 AND type = kind.type AND position >= ?2 AND position < ?3 ORDER BY position LIMIT ?5) first
		ORDER BY first.position LIMIT ?5) l
	ORDER BY l.position`

// queueMissed queues deliveries of events that have a body to the subscription of a bulk replay. A claim counts each as
// a replay.
func queueMissed(
	ctx context.Context, tx bun.Tx, now time.Time, row replayRow, events []app.EventID,
) ([]deliveryRow, error) {
	kept, err := keptEvents(ctx, tx, events)
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	var ids []app.EventID
	for _, id := range events {
		if kept[id] {
			ids = append(ids, id)
		}
	}
	var queued []deliveryRow
	err = tx.NewRaw(`
		INSERT INTO deliveries AS d (id, store_id, event_id, subscription_id, event_type, status, scheduled_for,
			created_at, queue, class, replay_id)
		SELECT 'dlv_' || uuidv7_hex(?3::timestamptz, m.place), ?0, e.id, ?1, e.type, 'queued', ?3::timestamptz,
			?3::timestamptz, queue_of(s), 2, ?4
		FROM unnest(?2::text[]) WITH ORDINALITY AS m (id, place)
			JOIN outbox e ON e.id = m.id AND e.store_id = ?0 JOIN stores s ON s.id = ?0
		ORDER BY m.place
		ON CONFLICT (event_id, subscription_id) DO NOTHING
		RETURNING d.id, d.subscription_id, d.event_id, d.event_type, d.status, d.attempts, d.scheduled_for, d.created_at`,
		row.StoreID, row.SubscriptionID, pgdialect.Array(ids), now, row.ID).Scan(ctx, &queued)
	if err != nil {
		return nil, err
	}
	return queued, wakeRelays(ctx)
}
