package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of deliveries.
var (
	listDeliveries = handle("listDeliveries", (*Server).deliveries)
	getDelivery    = handle("getDelivery", (*Server).delivery)
	replayDelivery = handle("replayDelivery", (*Server).replayDelivery,
		app.CodeDeliveryInProgress, app.CodePayloadErased, app.CodeConflict)
	retryDelivery = handle("retryDelivery", (*Server).retryDelivery,
		app.CodeDeliveryInProgress, app.CodePayloadErased, app.CodeConflict)
)

type deliveriesIn struct {
	storeParam
	WebhookID app.SubscriptionID `query:"webhookId" validate:"omitempty,id"`
	EventID   app.EventID        `query:"eventId" validate:"omitempty,id"`
	EventType app.EventType      `query:"eventType" validate:"omitempty,enum"`
	Status    app.DeliveryStatus `query:"status" validate:"omitempty,enum"`
	Reason    string             `query:"reason" validate:"omitempty,deliveryreason"`
	From      *app.Time          `query:"from"`
	To        *app.Time          `query:"to"`
	pageParams
}

func (in deliveriesIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) deliveries(ctx context.Context, c *call, in deliveriesIn) (list[app.Delivery, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Delivery, cursorMeta]{}, err
	}
	filter := app.DeliveryFilter{
		SubscriptionID: in.WebhookID, EventID: in.EventID, EventType: in.EventType, Status: in.Status,
		Reason: in.Reason, From: in.From, To: in.To,
	}
	found, err := s.db.Deliveries(ctx, c.principal.StoreID, filter, app.DeliveryID(after), in.Limit+1)
	if err == nil {
		err = s.db.ExpectStarts(ctx, c.now, c.principal.StoreID, found)
	}
	return paged(s, c, found, in.Limit, func(d app.Delivery) string { return string(d.ID) }), err
}

type deliveryIn struct {
	ID app.DeliveryID `path:"id"`
}

func (s *Server) delivery(ctx context.Context, c *call, in deliveryIn) (app.Delivery, error) {
	d, err := s.db.Delivery(ctx, c.principal.StoreID, in.ID)
	if err != nil {
		return d, err
	}
	d, err = s.expected(ctx, c, d)
	d.WorkflowURL = s.pages.of(d, c.now)
	return d, err
}

// replayDelivery queues the delivery. A relay starts or signals its workflow.
func (s *Server) replayDelivery(ctx context.Context, c *call, in deliveryIn) (app.Delivery, error) {
	d, err := s.db.Replay(ctx, c.now, c.principal.StoreID, c.actor(), in.ID)
	if err != nil {
		return d, err
	}
	return s.expected(ctx, c, d)
}

// expected returns a delivery with the estimate of its start, if it is queued.
func (s *Server) expected(ctx context.Context, c *call, d app.Delivery) (app.Delivery, error) {
	one := []app.Delivery{d}
	err := s.db.ExpectStarts(ctx, c.now, c.principal.StoreID, one)
	return one[0], err
}
