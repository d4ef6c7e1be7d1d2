package delivery

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

// Limits of the evaluation of a filter in one step of a bulk replay, which holds a transaction. The last event can
// exceed the cost.
const (
	missedFilterCost  = 100_000
	missedFilterBytes = 1 << 20
)

// matchingMissed returns the events that match the present filter of the subscription, and the number of events that it
// has checked: at least one, and all without a filter. An event without a stored body matches.
func matchingMissed(ctx context.Context, tx bun.Tx, row replayRow, events []app.EventID) (
	matching []app.EventID, checked int, err error,
) {
	var expression *string
	err = tx.NewRaw("SELECT filter FROM subscriptions WHERE store_id = ? AND id = ?", row.StoreID, row.SubscriptionID).
		Scan(ctx, &expression)
	if err != nil || expression == nil || len(events) == 0 {
		return events, len(events), err
	}
	compiled, err := filter.Compile(*expression)
	if err != nil { // it was written without the API
		return events, len(events), nil //nolint:nilerr // it matches, as in a dispatch
	}
	var bodies []struct {
		ID   app.EventID
		Type string
		Body *string
	}
	err = tx.NewRaw(`SELECT id, coalesce(type, '') AS type, body FROM (
			SELECT w.id, e.type, e.body, w.n, sum(octet_length(coalesce(e.body, ''))) OVER (ORDER BY w.n) AS bytes
			FROM unnest(?1::text[]) WITH ORDINALITY AS w (id, n)
				LEFT JOIN outbox e ON e.id = w.id AND e.store_id = ?0) sized
		WHERE n = 1 OR bytes <= ?2 ORDER BY n`,
		row.StoreID, pgdialect.Array(events), missedFilterBytes).Scan(ctx, &bodies)
	if err != nil {
		return nil, 0, err
	}
	total := uint64(0)
	for _, event := range bodies {
		if total > missedFilterCost {
			break
		}
		matches := true
		if event.Body != nil {
			data, err := filter.Data([]byte(*event.Body))
			if err != nil {
				return nil, 0, err
			}
			var cost uint64
			matches, cost, _ = compiled.Matches(ctx, event.Type, data)
			total += cost
		}
		if checked++; matches {
			matching = append(matching, event.ID)
		}
	}
	return matching, checked, ctx.Err()
}
