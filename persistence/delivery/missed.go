package delivery

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// missedTypes returns the event types that a bulk replay of missed events selects: those of the subscription.
func (r *replayRow) missedTypes(ctx context.Context, tx bun.Tx) ([]app.EventType, error) {
	var types []app.EventType
	err := tx.NewRaw(`SELECT kind.type FROM subscriptions s, unnest(?3::text[]) AS kind (type)
		WHERE s.store_id = ?0 AND s.id = ?1 AND selects(s.events, kind.type) AND ?2 IN ('', kind.type)`,
		r.StoreID, r.SubscriptionID, r.EventType, pgdialect.Array(app.EventTypes[:])).Scan(ctx, &types)
	return types, err
}

// positionSkew bounds the time between an event and its position. The position can be later: it follows those of
// earlier events, of which a clock that is ahead counts by a minute. It can be earlier, if the clock is ahead by more.
const positionSkew = 2 * time.Minute

// missedPeriod is the period of a bulk replay of missed events, and the positions by which they are read. The second
// bounds are exclusive.
type missedPeriod struct {
	from        time.Time
	to          *time.Time // nil = no end
	least, most int64
}

// missedPeriod returns the period of a bulk replay. One that does not end before the creation of the bulk replay has no
// end, because the clocks of servers differ. Its list then ends with the last event that is dispatched.
func (r *replayRow) missedPeriod() missedPeriod {
	in := missedPeriod{
		from: r.CreatedFrom, least: app.FirstPosition(r.CreatedFrom.Add(-positionSkew)), most: math.MaxInt64,
	}
	if r.CreatedTo.Before(r.CreatedAt) {
		in.to, in.most = &r.CreatedTo, app.FirstPosition(r.CreatedTo.Add(positionSkew))
	}
	return in
}

// countMissed counts the events without a delivery to the subscription, and those of them that have no stored body. It
// includes those that its filter excludes.
func (r *replayRow) countMissed(ctx context.Context, tx bun.Tx) error {
	types, err := r.missedTypes(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
		return err
	}
	in := r.missedPeriod()
	return tx.NewRaw(countMissed, r.StoreID, pgdialect.Array(types), in.least, in.most, r.SubscriptionID, in.from,
		in.to).Scan(ctx, &r.Matched, &r.Skipped)
}

const countMissed = `SELECT count(*), count(*) FILTER (WHERE e.body IS NULL OR e.erasing IS NOT NULL)
	FROM event_log l JOIN outbox e ON e.id = l.id
	WHERE l.store_id = ?0 AND l.type = ANY (?1::text[]) AND l.position >= ?2 AND l.position < ?3
		AND e.occurred_at >= ?5 AND e.occurred_at < coalesce(?6::timestamptz, 'infinity')
		AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = l.id AND d.subscription_id = ?4)`

// listMissed adds the next missed events to the list of a bulk replay, in the order of their positions. Only events
// whose deliveries have all been inserted have a position.
func (r *replayRow) listMissed(ctx context.Context, tx bun.Tx, limit int) error {
	types, err := r.missedTypes(ctx, tx)
	if err != nil {
		return err
	}
	in := r.missedPeriod()
	if r.Cursor != "" {
		after, err := strconv.ParseInt(r.Cursor, 10, 64)
		if err != nil {
			return err
		}
		in.least = after + 1
	}
	if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
		return err
	}
	var read, last, missed int64
	err = tx.NewRaw(listMissed, r.StoreID, pgdialect.Array(types), in.least, in.most, r.SubscriptionID, limit, r.ID,
		in.from, in.to).Scan(ctx, &read, &last, &missed)
	if err != nil {
		return err
	}
	r.Matched += missed
	r.listed(read == int64(limit), strconv.FormatInt(last, 10))
	return nil
}

// listMissed reads the next events of some types. Each type is a range of an index.
const listMissed = `WITH read AS MATERIALIZED (
		SELECT first.* FROM unnest(?1::text[]) AS kind (type) CROSS JOIN LATERAL (
			SELECT id, position FROM event_log
			WHERE store_id = ?0 AND type = kind.type AND position >= ?2 AND position < ?3
			ORDER BY position LIMIT ?5) first
		ORDER BY first.position LIMIT ?5
	), missed AS (
		INSERT INTO replay_items (replay_id, store_id, position, id)
		SELECT ?6, ?0, l.position, l.id FROM read l JOIN outbox e ON e.id = l.id
		WHERE e.occurred_at >= ?7 AND e.occurred_at < coalesce(?8::timestamptz, 'infinity')
			AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = l.id AND d.subscription_id = ?4)
		RETURNING 1
	)
	SELECT (SELECT count(*) FROM read), (SELECT coalesce(max(position), 0) FROM read), (SELECT count(*) FROM missed)`

// queueMissedItems queues deliveries of missed events of the list. It returns them, and the number of events that are
// decided. It skips events without a stored body. Events that the filter excludes do not match.
func queueMissedItems(
	ctx context.Context, tx bun.Tx, now time.Time, row *replayRow, filter *missedFilter, items []replayItem,
) (queued []deliveryRow, decided int, err error) {
	events := make([]app.EventID, len(items))
	for i, item := range items {
		events[i] = app.EventID(item.ID)
	}
	matching, decided, err := filter.matching(ctx, tx, *row, events)
	if err != nil {
		return nil, 0, err
	}
	queued, err = queueMissed(ctx, tx, now, *row, matching)
	row.Matched -= int64(decided - len(matching))
	row.Replayed += int64(len(queued))
	row.Skipped += int64(len(matching) - len(queued))
	return queued, decided, err
}

// queueMissed queues deliveries of events that have a body to the subscription of a bulk replay, where those of a
// resource take turns. A claim counts each as a replay. Those to an inactive subscription end as dead letters.
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
			created_at, queue, class, replay_id, resource, position, ordered, held)
		SELECT 'dlv_' || uuidv7_hex(?3::timestamptz, m.place), ?0, e.id, ?1, e.type, 'queued', ?3::timestamptz,
			?3::timestamptz, plan_queue(queue_of(s), s.id), 2, ?4, e.subject, l.position, e.subject <> '', e.subject <> ''
		FROM unnest(?2::text[]) WITH ORDINALITY AS m (id, place)
			JOIN outbox e ON e.id = m.id AND e.store_id = ?0 JOIN event_log l ON l.id = m.id JOIN stores s ON s.id = ?0
			-- A teardown begins after this transaction.
			CROSS JOIN (SELECT FROM subscriptions WHERE id = ?1 AND deleted_at IS NULL FOR SHARE) AS existing
		ORDER BY m.place
		ON CONFLICT (event_id, subscription_id) DO NOTHING
		RETURNING d.id, d.subscription_id, d.event_id, d.event_type, d.status, d.attempts, d.scheduled_for,
			d.created_at`,
		row.StoreID, row.SubscriptionID, pgdialect.Array(ids), now, row.ID).Scan(ctx, &queued)
	if err != nil {
		return nil, err
	}
	if err := endReplaysToInactive(ctx, tx, now, []app.SubscriptionID{row.SubscriptionID}); err != nil {
		return nil, err
	}
	return queued, wakeRelays(ctx)
}
