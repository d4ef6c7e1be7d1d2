package delivery

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// EventTypes returns the types of events of a store, in the order of ids. It returns NOT_FOUND if one of them does not
// exist.
func (q *Queue) EventTypes(ctx context.Context, store app.StoreID, ids []app.EventID) ([]app.EventType, error) {
	var types []app.EventType
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		types = nil
		return tx.NewRaw(`SELECT e.type FROM unnest(?1::text[]) WITH ORDINALITY AS w (id, n)
				JOIN outbox e ON e.id = w.id AND e.store_id = ?0 AND e.type <> ?2
			ORDER BY w.n`, store, pgdialect.Array(ids), app.EventTestPing).Scan(ctx, &types)
	})
	if err == nil && len(types) < len(ids) {
		err = app.Errorf(app.CodeNotFound, "the store has no event with one of the ids")
	}
	return types, err
}

// EventBody returns the body of an event of a store. It is nil if it is erased, or the event no longer exists.
func (q *Queue) EventBody(ctx context.Context, store app.StoreID, id app.EventID) ([]byte, error) {
	var body []byte
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT (
			SELECT body FROM outbox WHERE store_id = ? AND id = ? AND erasing IS NULL)`, store, id).Scan(&body)
	})
	return body, err
}
