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

// A bulk replay first lists the deliveries to replay, or the missed events, with their positions. Then it queues them
// in the order of their positions, which no index of the deliveries has.

// replayItem is a row of the list of a bulk replay.
type replayItem struct {
	ID             string // of a delivery or of a missed event
	Position       int64
	SubscriptionID app.SubscriptionID
	Resource       string // "" = none: it takes no turns
	IsFree         bool   // no delivery has the turn of the resource
}

// ContinueBulkReplay lists or queues the next deliveries of a bulk replay, in one transaction. It queues none while the
// limits are reached. A repeated call resumes where the previous call ended. Of a bulk replay that has ended,
// it removes the rest of the list. A filter of missed events is evaluated between two transactions, in the turns of the
// website; a step that gets no turn soon has not moved. It returns NOT_FOUND if there is no such bulk replay.
func (q *Queue) ContinueBulkReplay(ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID,
	limits app.ReplayLimits,
) (app.ReplayStep, error) {
	now = app.At(now).Time
	began := time.Now()
	var filter missedFilter
	step, err := q.continueBulkReplay(ctx, now, store, id, limits, &filter)
	if err != nil || filter.undecided == nil {
		return step, err
	}
	if filter.decided, err = q.filters.decide(ctx, now, filter.undecided); err != nil || len(filter.decided) == 0 {
		step.Moved = false
		return step, err
	}
	return q.continueBulkReplay(ctx, app.At(now.Add(time.Since(began))).Time, store, id, limits, &filter)
}

// continueBulkReplay is [Queue.ContinueBulkReplay] without the evaluation of the filter.
func (q *Queue) continueBulkReplay(ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID,
	limits app.ReplayLimits, filter *missedFilter,
) (app.ReplayStep, error) {
	var row replayRow
	var made madeStep
	var rest bool
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, made, rest = replayRow{}, madeStep{}, false
		err := tx.NewSelect().Model(&row).Where("r.store_id = ? AND r.id = ?", store, id).For("UPDATE").Scan(ctx)
		if err != nil {
			return err
		}
		if row.Status == app.ReplayRunning {
			if made, err = row.step(ctx, tx, now, limits, filter); err != nil {
				return err
			}
		}
		if row.Status != app.ReplayRunning {
			rest, err = row.removeItems(ctx, tx, limits.List)
		}
		return err
	})
	if err == nil {
		for _, d := range made.queued {
			q.notifyOrders(changedEvent{d.EventID, store, d.EventType})
		}
	}
	return app.ReplayStep{
		Status: row.Status, Moved: made.moved, Matched: row.Matched, Replayed: row.Replayed, Skipped: row.Skipped,
		Decided: made.decided, Rest: rest,
	}, err
}

// madeStep is a step of a running bulk replay.
type madeStep struct {
	moved   bool // the step has changed the bulk replay
	decided int  // rows of the list
	queued  []deliveryRow
}

// step makes one step of a running bulk replay and saves it.
func (r *replayRow) step(
	ctx context.Context, tx bun.Tx, now time.Time, limits app.ReplayLimits, filter *missedFilter,
) (made madeStep, err error) {
	if r.SubscriptionID != "" {
		err := findSubscription(ctx, tx, r.StoreID, r.SubscriptionID)
		if errors.Is(err, sql.ErrNoRows) {
			r.Status, r.Reason, r.EndedAt = app.ReplayCancelled, app.ReasonDeleted, &now
			return madeStep{moved: true}, r.save(ctx, tx)
		}
		if err != nil {
			return made, err
		}
	}
	if !r.Listed {
		made.moved = true
		if err := r.list(ctx, tx, limits.List); err != nil {
			return made, err
		}
	}
	if r.Listed {
		lines, rows, err := r.room(ctx, tx, limits)
		if err != nil {
			return made, err
		}
		if lines > 0 && rows > 0 {
			made.moved = true
			if made.queued, made.decided, err = r.queueItems(ctx, tx, now, lines, rows, filter); err != nil {
				return made, err
			}
		}
	}
	if !made.moved {
		return made, nil
	}
	return made, r.save(ctx, tx)
}

// list reads the next deliveries or events, and adds those that match to the list. The reason and the end of a delivery
// are in no index: a reason that no delivery has would make one statement read all deliveries of the period.
func (r *replayRow) list(ctx context.Context, tx bun.Tx, limit int) error {
	if r.DeliveryStatus == app.ReplayedMissed {
		return r.listMissed(ctx, tx, limit)
	}
	indexed := r.filter()
	indexed.Reason = ""
	ids := indexed.ids(tx, true, app.DeliveryID(r.Cursor), limit, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("d.store_id = ?", r.StoreID)
	})
	next := tx.NewSelect().TableExpr("(?) AS next", ids).Column("id").OrderExpr("id").Limit(int64(limit))
	var read, listed int
	var last string
	err := tx.NewRaw(`WITH next AS MATERIALIZED (?2), item AS (
			INSERT INTO replay_items (replay_id, store_id, position, id)
			SELECT ?0, ?1, d.position, d.id FROM next JOIN deliveries d ON d.id = next.id
			WHERE d.ended_at <= ?3 AND ?4 IN ('', d.reason)
			RETURNING 1
		)
		SELECT count(*), coalesce(max(id), ''), (SELECT count(*) FROM item) FROM next`,
		r.ID, r.StoreID, next, r.CreatedAt, r.filter().Reason).Scan(ctx, &read, &last, &listed)
	if err != nil {
		return err
	}
	r.Matched += int64(listed)
	r.listed(read == limit, last)
	return nil
}

// listed advances the cursor of the list. more reports whether there may be further deliveries or events.
func (r *replayRow) listed(more bool, last string) {
	r.Listed = !more
	if r.Cursor = ""; more {
		r.Cursor = last
	}
}

// room returns the numbers of resources whose turns new deliveries may take, and of deliveries that may be queued.
func (r *replayRow) room(ctx context.Context, tx bun.Tx, limits app.ReplayLimits) (lines, rows int, err error) {
	var waiting, unfinished int
	err = tx.NewRaw(`SELECT count(*) FILTER (WHERE status = 'pending' OR status = 'queued' AND NOT held), count(*)
		FROM deliveries WHERE replay_id = ? AND status IN ('queued', 'pending', 'retrying')`, r.ID).
		Scan(ctx, &waiting, &unfinished)
	return limits.Waiting - waiting, min(limits.Unfinished-unfinished, limits.Step), err
}

// nextItems selects the next rows of the list.
const nextItems = `SELECT i.id, i.position, coalesce(line.subscription_id, '') AS subscription_id,
		coalesce(line.resource, '') AS resource,
		NOT EXISTS (SELECT FROM turns t
			WHERE t.subscription_id = line.subscription_id AND t.resource = line.resource) AS is_free
	FROM (SELECT id, position FROM replay_items WHERE replay_id = ?0 AND position >= ?1
			ORDER BY position, id LIMIT ?2) i
		LEFT JOIN LATERAL (
			SELECT d.subscription_id, d.resource FROM deliveries d WHERE NOT ?3 AND d.id = i.id
			UNION ALL
			SELECT ?4, e.subject FROM outbox e WHERE ?3 AND e.id = i.id) line ON true
	ORDER BY i.position, i.id`

// takingTurns returns the first rows of a list that take the turns of at most this number of resources. The others will
// be held back.
func takingTurns(items []replayItem, lines int) []replayItem {
	type line struct {
		subscription app.SubscriptionID
		resource     string
	}
	taken := map[line]bool{}
	for i, item := range items {
		of := line{item.SubscriptionID, item.Resource}
		if !item.IsFree || taken[of] {
			continue
		}
		if lines == 0 {
			return items[:i]
		}
		lines--
		taken[of] = item.Resource != ""
	}
	return items
}

// queueItems queues the next deliveries of the list, at most rows of at most lines resources that are free, and removes
// them from the list. It returns the queued deliveries and the number of decided rows. The bulk replay is completed
// when the list is empty.
func (r *replayRow) queueItems(
	ctx context.Context, tx bun.Tx, now time.Time, lines, rows int, filter *missedFilter,
) (queued []deliveryRow, decided int, err error) {
	var found []replayItem
	missed := r.DeliveryStatus == app.ReplayedMissed
	err = tx.NewRaw(nextItems, r.ID, r.Position, rows, missed, r.SubscriptionID).Scan(ctx, &found)
	if err != nil {
		return nil, 0, err
	}
	items := takingTurns(found, lines)
	decided = len(items)
	if missed {
		queued, decided, err = queueMissedItems(ctx, tx, now, r, filter, items)
	} else {
		queued, err = queueEndedItems(ctx, tx, now, r, items)
	}
	if err != nil {
		return nil, 0, err
	}
	if len(found) < rows && decided == len(found) {
		r.Status, r.EndedAt = app.ReplayCompleted, &now
	}
	if decided == 0 {
		return nil, 0, nil
	}
	r.Position = items[decided-1].Position
	ids := make([]string, decided)
	for i, item := range items[:decided] {
		ids[i] = item.ID
	}
	_, err = tx.NewRaw(`DELETE FROM replay_items WHERE replay_id = ? AND position <= ? AND id = ANY (?::text[])`,
		r.ID, r.Position, pgdialect.Array(ids)).Exec(ctx)
	return queued, decided, err
}

// queueEndedItems queues ended deliveries of the list. It skips those that no longer match.
func queueEndedItems(ctx context.Context, tx bun.Tx, now time.Time, row *replayRow, items []replayItem) (
	[]deliveryRow, error,
) {
	listed := make([]app.DeliveryID, len(items))
	for i, item := range items {
		listed[i] = app.DeliveryID(item.ID)
	}
	ids, err := lockReplayable(ctx, tx, *row, listed)
	if err != nil {
		return nil, err
	}
	queued, err := requeue(ctx, tx, now, row.StoreID, row.ID, ids...)
	row.Replayed += int64(len(queued))
	row.Skipped += int64(len(items) - len(queued))
	return queued, err
}

// lockReplayable locks the deliveries that can be replayed: they still match, and their event has a body.
func lockReplayable(ctx context.Context, tx bun.Tx, row replayRow, listed []app.DeliveryID) ([]app.DeliveryID, error) {
	var locked []struct {
		ID      app.DeliveryID
		EventID app.EventID
	}
	err := row.ended(tx.NewSelect()).TableExpr("deliveries AS d").ColumnExpr("d.id, d.event_id").
		Where("d.id = ANY (?::text[]) AND d.status = ?", pgdialect.Array(listed), row.DeliveryStatus).
		OrderExpr("d.id").For("UPDATE OF d").Scan(ctx, &locked)
	if err != nil {
		return nil, err
	}
	events := make([]app.EventID, len(locked))
	for i, l := range locked {
		events[i] = l.EventID
	}
	kept, err := keptEvents(ctx, tx, events)
	var ids []app.DeliveryID
	for _, l := range locked {
		if kept[l.EventID] {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

// removeItems removes rows of the list, at most limit, and reports whether there may be more.
func (r *replayRow) removeItems(ctx context.Context, tx bun.Tx, limit int) (bool, error) {
	removed, err := tx.NewRaw(`DELETE FROM replay_items WHERE (replay_id, position, id) IN (
			SELECT replay_id, position, id FROM replay_items WHERE replay_id = ? AND position >= ?
			ORDER BY position, id LIMIT ?)`, r.ID, r.Position, limit).Exec(ctx)
	if err != nil {
		return false, err
	}
	n, err := removed.RowsAffected()
	return n == int64(limit), err
}

// save stores the progress.
func (r *replayRow) save(ctx context.Context, tx bun.Tx) error {
	_, err := tx.NewUpdate().Model(r).
		Column("status", "reason", "matched", "replayed", "skipped", "listed", "cursor", "position", "ended_at").
		Where("r.store_id = ? AND r.id = ?", r.StoreID, r.ID).Exec(ctx)
	return err
}
