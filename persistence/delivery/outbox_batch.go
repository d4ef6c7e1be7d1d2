package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// Emission is an event to emit.
type Emission struct {
	Type app.EventType
	Data any
}

// EmitAll is [Emit] for many events, in one statement. They keep their order.
func EmitAll(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, emissions []Emission) error {
	if len(emissions) == 0 {
		return nil
	}
	var ids, types, bodies, subjects []string
	for _, emission := range emissions {
		event, err := app.NewEvent(emission.Type, store, now, emission.Data)
		if err != nil {
			return err
		}
		ids, types = append(ids, string(event.ID)), append(types, string(event.Type))
		bodies, subjects = append(bodies, string(event.Body)), append(subjects, app.SubjectOf(emission.Data))
	}
	_, err := tx.Tx.ExecContext(ctx, emitAllStatement, store, app.At(now).Time, ids, types, bodies, subjects,
		traceContext(ctx))
	if err != nil {
		return err
	}
	return wakeRelays(ctx)
}

var emitAllStatement = undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject, trace_context)
	SELECT e.id, $1, e.type, e.body, $2, e.subject, $7
	FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS e (id, type, body, subject, place)
	ORDER BY e.place`)
