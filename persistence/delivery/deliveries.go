package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// deliveryRow holds the columns of a delivery that clients see.
type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`

	ID             app.DeliveryID
	SubscriptionID app.SubscriptionID
	EventID        app.EventID
	EventType      app.EventType
	Status         app.DeliveryStatus
	Reason         string
	Attempts       int
	ScheduledFor   time.Time
	Held           bool
	WaitsFor       *app.DeliveryID `bun:",scanonly"` // see waitsFor
	NextRetryAt    *time.Time
	CreatedAt      time.Time
	EndedAt        *time.Time
	BurstID        *app.BurstID
}

func (r deliveryRow) delivery() app.Delivery {
	d := app.Delivery{
		WorkflowID: r.workflowID(),
		ID:         r.ID, SubscriptionID: r.SubscriptionID, EventID: r.EventID, EventType: r.EventType,
		Status: r.Status, Reason: r.Reason, Attempts: r.Attempts,
		NextRetryAt: pg.TimeOrNil(r.NextRetryAt), CreatedAt: app.At(r.CreatedAt), EndedAt: pg.TimeOrNil(r.EndedAt),
	}
	if r.Status != app.DeliveryQueued || !r.Held {
		d.ScheduledFor = new(app.At(r.ScheduledFor))
	}
	if r.WaitsFor != nil {
		d.WaitsFor = *r.WaitsFor
	}
	return d
}

// waitsFor is the delivery that has the turn while d is held back, otherwise null. For a few seconds after a turn is
// lost, no delivery has it.
const waitsFor = `(SELECT nullif(nullif(t.delivery_id, ''), d.id) FROM turns t
	WHERE d.status = 'queued' AND d.held AND t.store_id = d.store_id AND t.subscription_id = d.subscription_id
		AND t.resource = d.resource)`

// selectDeliveries selects the columns of deliveryRow.
func selectDeliveries(tx bun.Tx, into any) *bun.SelectQuery {
	return tx.NewSelect().Model(into).ColumnExpr("?TableColumns").ColumnExpr(waitsFor + " AS waits_for")
}

// workflowID returns the id of the delivery's workflow. A burst makes one attempt. A delivery that
// this attempt did not deliver continues in a separate workflow.
func (r deliveryRow) workflowID() string {
	burst := r.BurstID != nil && (r.Attempts == 0 || r.Attempts == 1 && r.Status == app.DeliveryDelivered)
	switch {
	case r.Status == app.DeliveryQueued:
		return ""
	case burst:
		return app.BurstWorkflowID(*r.BurstID)
	}
	return app.DeliveryWorkflowID(r.EventID, r.SubscriptionID)
}

// Deliveries lists a store's deliveries that match a filter, newest first. The zero value of after is
// the start.
func (q *Queue) Deliveries(ctx context.Context, store app.StoreID, filter app.DeliveryFilter, after app.DeliveryID,
	limit int,
) ([]app.Delivery, error) {
	var rows []deliveryRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return listDeliveries(tx, &rows, store, filter, after, limit).Scan(ctx)
	})
	deliveries := make([]app.Delivery, len(rows))
	for i, row := range rows {
		deliveries[i] = row.delivery()
	}
	return deliveries, err
}

func listDeliveries(tx bun.Tx, rows *[]deliveryRow, store app.StoreID, filter app.DeliveryFilter,
	after app.DeliveryID, limit int,
) *bun.SelectQuery {
	ids := deliveryFilter(filter).ids(tx, false, after, limit,
		func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("d.store_id = ?", store) })
	newest := tx.NewSelect().TableExpr("(?) AS found", ids).OrderExpr("id DESC").Limit(int64(limit))
	return selectDeliveries(tx, rows).Join("JOIN (?) AS newest ON newest.id = d.id", newest).
		Where("d.store_id = ?", store).OrderExpr("d.id DESC")
}

// Delivery returns a delivery of a store, NOT_FOUND if there is no such delivery.
func (q *Queue) Delivery(ctx context.Context, store app.StoreID, id app.DeliveryID) (app.Delivery, error) {
	var row deliveryRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return findDelivery(ctx, tx, &row, store, id)
	})
	return row.delivery(), err
}

func findDelivery(ctx context.Context, tx bun.Tx, row *deliveryRow, store app.StoreID, id app.DeliveryID) error {
	return selectDeliveries(tx, row).Where("d.store_id = ? AND d.id = ?", store, id).Scan(ctx)
}
