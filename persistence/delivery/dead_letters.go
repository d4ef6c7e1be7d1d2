package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// deadLettersRow is one group of [Queue.DeadLetters].
type deadLettersRow struct {
	SubscriptionID app.SubscriptionID
	Reason         string
	Count          int64
	OldestAt       time.Time
	NewestAt       time.Time
}

// DeadLetters counts a store's dead letters by subscription and reason, the largest group first. It
// counts deliveries created at or after from and before to; nil is no limit.
func (q *Queue) DeadLetters(ctx context.Context, store app.StoreID, from, to *app.Time) ([]app.DeadLetters, error) {
	var rows []deadLettersRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		filter := deliveryFilter{From: from, To: to}
		query := filter.created(tx.NewSelect().TableExpr("deliveries AS d")).
			ColumnExpr("d.subscription_id, d.reason, count(*) AS count").
			ColumnExpr("min(d.created_at) AS oldest_at, max(d.created_at) AS newest_at").
			Where("d.store_id = ? AND d.status = 'dead_letter' AND d.event_type = ANY (?::text[])", store,
				pgdialect.Array(filter.types())).
			GroupExpr("1, 2").OrderExpr("3 DESC, 1, 2")
		return query.Scan(ctx, &rows)
	})
	groups := make([]app.DeadLetters, len(rows))
	for i, row := range rows {
		groups[i] = app.DeadLetters{
			SubscriptionID: row.SubscriptionID, Reason: row.Reason, Count: row.Count,
			OldestAt: app.At(row.OldestAt), NewestAt: app.At(row.NewestAt),
		}
	}
	return groups, err
}
