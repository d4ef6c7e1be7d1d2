package delivery

import (
	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// attemptFilter adds the conditions of an [app.AttemptFilter] to a query.
type attemptFilter app.AttemptFilter

// of selects the ids of a subscription's attempts that match the filter. The attempts of an event are
// found by its delivery. A test has no delivery; its attempt is found by the event.
func (f attemptFilter) of(tx bun.Tx, store app.StoreID, id app.SubscriptionID) *bun.SelectQuery {
	q := tx.NewSelect().TableExpr("attempts AS a").Column("a.id").
		Where("a.store_id = ? AND a.subscription_id = ?", store, id)
	if f.Status != "" {
		q.Where("a.status = ?", f.Status)
	}
	if f.EventType != "" {
		q.Where("a.event_type = ?", f.EventType)
	}
	if f.EventID != "" {
		q.Where(`a.id IN (
			SELECT made.id FROM deliveries d JOIN attempts made ON made.delivery_id = d.id
			WHERE d.event_id = ?0 AND d.subscription_id = ?1
			UNION ALL SELECT test.id FROM attempts test WHERE test.event_id = ?0 AND test.delivery_id IS NULL)`,
			f.EventID, id)
	}
	if f.From != nil {
		q.Where("a.attempted_at >= ?", f.From.Time)
	}
	if f.To != nil {
		q.Where("a.attempted_at < ?", f.To.Time)
	}
	return q
}
