package delivery

import (
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// deliveryFilter adds the conditions of an [app.DeliveryFilter] to a query of deliveries d.
type deliveryFilter app.DeliveryFilter

// matches adds the conditions except status, type and time.
func (f deliveryFilter) matches(q *bun.SelectQuery) *bun.SelectQuery {
	if f.SubscriptionID != "" {
		q.Where("d.subscription_id = ?", f.SubscriptionID)
	}
	if f.EventID != "" {
		q.Where("d.event_id = ?", f.EventID)
	}
	if f.Reason != "" {
		q.Where("d.reason = ?", f.Reason)
	}
	return q
}

// created adds the condition of the creation time, which is the prefix of an id. The subquery hides the
// id from the planner. Otherwise the planner would expect very few rows, and read all rows of each
// status and type.
func (f deliveryFilter) created(q *bun.SelectQuery) *bun.SelectQuery {
	if f.From != nil {
		q.Where("d.id >= (SELECT ?)", app.FirstID[app.DeliveryID](f.From.Time))
	}
	if f.To != nil {
		q.Where("d.id < (SELECT ?)", app.FirstID[app.DeliveryID](f.To.Time))
	}
	return q
}

// types returns the event types that match the filter.
func (f deliveryFilter) types() []app.EventType {
	if f.EventType != "" {
		return []app.EventType{f.EventType}
	}
	return app.EventTypes[:]
}

// statuses returns the statuses that match the filter. Only dead letters and cancelled deliveries have
// a reason.
func (f deliveryFilter) statuses() []app.DeliveryStatus {
	switch {
	case f.Status != "":
		return []app.DeliveryStatus{f.Status}
	case f.Reason != "":
		return []app.DeliveryStatus{app.DeliveryDeadLetter, app.DeliveryCancelled}
	}
	return app.DeliveryStatuses[:]
}

// ids selects the first deliveries that match the filter, at most limit of each status and type. They
// are in the ascending (up) or descending order of their ids and start after the given id ("" = from
// the start). Each status and type is a range of an index, so that other rows do not add to the cost.
// further adds other conditions.
func (f deliveryFilter) ids(tx bun.Tx, up bool, after app.DeliveryID, limit int,
	further func(*bun.SelectQuery) *bun.SelectQuery,
) *bun.SelectQuery {
	all := func() *bun.SelectQuery {
		return f.matches(further(tx.NewSelect().TableExpr("deliveries AS d").Column("d.id")))
	}
	afterID, order := "d.id < (SELECT ?)", "d.id DESC"
	if up {
		afterID, order = "d.id > (SELECT ?)", "d.id"
	}
	start := func(q *bun.SelectQuery) *bun.SelectQuery {
		if after != "" {
			q.Where(afterID, after)
		}
		return f.created(q)
	}
	statuses, types := pgdialect.Array(f.statuses()), pgdialect.Array(f.types())
	if f.EventID != "" { // an event has few deliveries
		return start(all()).Where("d.status = ANY (?::text[]) AND d.event_type = ANY (?::text[])", statuses, types)
	}
	first := start(all()).Where("d.status <> 'pending' AND d.status = kind.status AND d.event_type = kind.type").
		OrderExpr(order).Limit(int64(limit))
	others := tx.NewSelect().Column("first.id").
		TableExpr("(SELECT status, type FROM unnest(?::text[]) AS status, unnest(?::text[]) AS type) AS kind",
			statuses, types).
		Join("CROSS JOIN LATERAL (?) AS first", first)
	if !slices.Contains(f.statuses(), app.DeliveryPending) {
		return others
	}
	// There are few pending deliveries. OFFSET 0 prevents the planner from reading all deliveries of
	// the given time to find them.
	pending := all().Where("d.status = 'pending' AND d.event_type = ANY (?::text[])", types)
	return others.UnionAll(start(tx.NewSelect().Column("d.id").TableExpr("(? OFFSET 0) AS d", pending)))
}
