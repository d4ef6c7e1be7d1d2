package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// outboxChannel is the channel that commits with new work for the relays notify.
const outboxChannel = "comanda_outbox"

// Emit writes an event in the transaction of the change that it describes. The commit wakes the
// relays.
func Emit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType, data any) error {
	_, err := Emitted(ctx, tx, now, store, t, data)
	return err
}

// Emitted is [Emit] and returns the id of the event.
func Emitted(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType,
	data any,
) (app.EventID, error) {
	event, err := app.NewEvent(t, store, now, data)
	if err != nil {
		return "", err
	}
	_, err = tx.Tx.ExecContext(ctx, `WITH event AS (
			INSERT INTO outbox (id, store_id, type, body, occurred_at) VALUES ($1, $2, $3, $4, $5) RETURNING id
		) SELECT pg_notify($6, '') FROM event`,
		event.ID, store, event.Type, string(event.Body), event.At.Time, outboxChannel)
	return event.ID, err
}

// Listen calls wake once it listens, and for each notification that there is work for a relay. It
// returns when the connection breaks or ctx is done.
func (q *Queue) Listen(ctx context.Context, wake func()) error {
	return q.pg.Listen(ctx, pg.RoleSystem, outboxChannel, wake, func(string) { wake() })
}
