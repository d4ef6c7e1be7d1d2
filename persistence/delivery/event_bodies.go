package delivery

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// EventBodies returns the types and bodies of events of a store, in the order of ids. The body of an erased event is
// nil. It returns NOT_FOUND if one of them does not exist.
func (q *Queue) EventBodies(ctx context.Context, store app.StoreID, ids []app.EventID) ([]app.Event, error) {
	var rows []struct {
		ID   app.EventID
		Type app.EventType
		Body *string
	}
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewRaw(`SELECT e.id, e.type, CASE WHEN e.erasing IS NULL THEN e.body END AS body
			FROM unnest(?1::text[]) WITH ORDINALITY AS w (id, n)
				JOIN outbox e ON e.id = w.id AND e.store_id = ?0 AND e.type <> ?2
			ORDER BY w.n`, store, pgdialect.Array(ids), app.EventTestPing).Scan(ctx, &rows)
	})
	if err != nil {
		return nil, err
	}
	if len(rows) < len(ids) {
		return nil, app.Errorf(app.CodeNotFound, "the store has no event with one of the ids")
	}
	events := make([]app.Event, len(rows))
	for i, row := range rows {
		events[i] = app.Event{ID: row.ID, StoreID: store, Type: row.Type}
		if row.Body != nil {
			events[i].Body = []byte(*row.Body)
		}
	}
	return events, nil
}
