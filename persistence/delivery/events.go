package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Events lists a store's dispatched events that match a filter, in ascending (up) or descending order of their
// positions. It starts after the given position; 0 is the start. more reports whether there are further events.
func (q *Queue) Events(ctx context.Context, store app.StoreID, filter app.EventFilter, up bool, after int64,
	limit app.PageLimit,
) (events []app.StoredEvent, more bool, err error) {
	err = q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		statement, args := listEvents(store, filter, up, after, limit)
		events, more, err = selectEvents(ctx, tx, statement, args...)
		return err
	})
	return events, more, err
}

// listEvents returns the statement of [Queue.Events]. Each type is a range of an index, so that other events do not add
// to the cost. Bodies beyond the limit are not read: their sizes are stored apart.
func listEvents(store app.StoreID, filter app.EventFilter, up bool, after int64, limit app.PageLimit) (string, []any) {
	// Positions between least and most, exclusive.
	least, most := int64(-1), int64(1<<63-1)
	if filter.From != nil {
		least = app.FirstPosition(filter.From.Time) - 1
	}
	if filter.To != nil {
		most = app.FirstPosition(filter.To.Time)
	}
	order := "DESC"
	switch {
	case up:
		order, least = "ASC", max(least, after)
	case after > 0:
		most = min(most, after)
	}
	page := `SELECT id, position FROM event_log
		WHERE store_id = $1 AND position > $2 AND position < $3 ORDER BY position ` + order + ` LIMIT $4`
	args := []any{store, least, most, limit.Rows + 1, limit.Rows, limit.Bytes}
	if len(filter.Types) > 0 {
		page = `SELECT first.id, first.position FROM unnest($7::text[]) AS kind (type) CROSS JOIN LATERAL (
				SELECT id, position FROM event_log
				WHERE store_id = $1 AND type = kind.type AND position > $2 AND position < $3
				ORDER BY position ` + order + ` LIMIT $4) first
			ORDER BY first.position ` + order + ` LIMIT $4`
		args = append(args, filter.Types)
	}
	return `WITH page AS MATERIALIZED (` + page + `)
		SELECT id, type, occurred_at, subject, body, position, total - place FROM (
			SELECT ` + eventColumns + ` AS body, page.position, row_number() OVER listed AS place,
				count(*) OVER () AS total, coalesce(sum(octet_length(e.body)) OVER (
					listed ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
			FROM page JOIN outbox e ON e.id = page.id AND e.store_id = $1
			WINDOW listed AS (ORDER BY page.position ` + order + `)) e
		WHERE place <= $5 AND before < $6 ORDER BY place`, args
}

// eventColumns are the columns of an event e of the outbox. The body of an event of an erased customer is hidden while
// its deliveries have not ended.
const eventColumns = `e.id, e.type, e.occurred_at, e.subject, CASE WHEN e.erasing IS NULL THEN e.body END`

// selectEvents reads rows of eventColumns, the position and the number of further rows of the list. more reports
// whether rows follow the last one.
func selectEvents(
	ctx context.Context, tx bun.Tx, statement string, args ...any,
) (events []app.StoredEvent, more bool, err error) {
	rows, err := tx.Tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	events = []app.StoredEvent{}
	for rows.Next() {
		var e app.StoredEvent
		var at time.Time
		var subject string
		var body sql.NullString
		var further int
		if err := rows.Scan(&e.ID, &e.Type, &at, &subject, &body, &e.Position, &further); err != nil {
			return nil, false, err
		}
		more = further > 0
		e.At, e.Resource = app.At(at), e.Type.Resource(subject)
		if body.Valid {
			e.Body = []byte(body.String)
		}
		events = append(events, e)
	}
	return events, more, rows.Err()
}

// Event returns an event of a store, also if it is not yet dispatched. It returns NOT_FOUND if there is no such event,
// or it is the event of a test.
func (q *Queue) Event(ctx context.Context, store app.StoreID, id app.EventID) (app.StoredEvent, error) {
	var event app.StoredEvent
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		found, _, err := selectEvents(ctx, tx, `SELECT `+eventColumns+`, coalesce(l.position, 0), 0
			FROM outbox e LEFT JOIN event_log l ON l.id = e.id AND l.store_id = e.store_id
			WHERE e.store_id = $1 AND e.id = $2 AND e.type <> $3`, store, id, app.EventTestPing)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return sql.ErrNoRows
		}
		event = found[0]
		return nil
	})
	return event, err
}

// EventHead returns the position of a store's last dispatched event, 0 if there was none.
func (q *Queue) EventHead(ctx context.Context, store app.StoreID) (int64, error) {
	var head int64
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.Tx.QueryRowContext(ctx,
			"SELECT coalesce((SELECT position FROM event_heads WHERE store_id = $1), 0)", store).Scan(&head)
	})
	return head, err
}

// HasEventsAfter reports whether a stream can continue after a position: the store has given the position, and no event
// after it is erased.
func (q *Queue) HasEventsAfter(ctx context.Context, store app.StoreID, position int64) (bool, error) {
	var has bool
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.Tx.QueryRowContext(ctx, `
			SELECT coalesce((SELECT $2::bigint BETWEEN erased AND position FROM event_heads WHERE store_id = $1),
				$2::bigint = 0)`, store, position).Scan(&has)
	})
	return has, err
}

// EventHeads returns the positions of the last dispatched events of some stores. Stores without events are omitted.
func (q *Queue) EventHeads(ctx context.Context, stores []app.StoreID) (map[app.StoreID]int64, error) {
	rows, err := q.pg.System().DB.QueryContext(ctx,
		"SELECT store_id, position FROM event_heads WHERE store_id = ANY ($1)", stores)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	heads := map[app.StoreID]int64{}
	for rows.Next() {
		var store app.StoreID
		var head int64
		if err := rows.Scan(&store, &head); err != nil {
			return nil, err
		}
		heads[store] = head
	}
	return heads, pg.Classify(rows.Err())
}
