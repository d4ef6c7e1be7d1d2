package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of an order's status.
var (
	updateOrderStatus = handle("updateOrderStatus", (*Server).changeOrderStatus, app.CodeInvalidTransition)
	listOrderChanges  = handle("listOrderChanges", (*Server).orderHistory)
)

type changeOrderStatusIn struct {
	ID                 app.OrderID     `path:"id"`
	IfMatch            etag            `header:"If-Match"`
	Status             app.OrderStatus `json:"status" validate:"required,enum"`
	CancellationReason string          `json:"cancellationReason" validate:"omitempty,notblank,reason"`
	PromisedAt         *app.Time       `json:"promisedAt"`
}

func (in changeOrderStatusIn) check() []app.Detail {
	const path = "cancellationReason"
	if in.PromisedAt != nil && (in.Status == app.OrderCompleted || in.Status == app.OrderCancelled) {
		return []app.Detail{{Path: "promisedAt", Message: "is not allowed for COMPLETED and CANCELLED"}}
	}
	switch cancelled := in.Status == app.OrderCancelled; {
	case cancelled && in.CancellationReason == "":
		return []app.Detail{{Path: path, Message: "is required for CANCELLED"}}
	case !cancelled && in.CancellationReason != "":
		return []app.Detail{{Path: path, Message: "is only allowed for CANCELLED"}}
	}
	return nil
}

func (in changeOrderStatusIn) demands() []app.Permission {
	if in.Status == app.OrderCancelled {
		return []app.Permission{app.CancelOrders}
	}
	return nil
}

func (s *Server) changeOrderStatus(ctx context.Context, c *call, in changeOrderStatusIn) (orderOut, error) {
	if in.PromisedAt != nil {
		if err := app.CheckPromise(c.now, in.PromisedAt.Time); err != nil {
			return orderOut{}, err
		}
	}
	change := app.OrderStatusChange{
		To: in.Status, Reason: in.CancellationReason, Promised: in.PromisedAt,
		MayCancel: c.principal.Can(app.CancelOrders) == nil, By: c.actor(),
	}
	order, err := s.db.ChangeOrderStatus(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change)
	return orderFor(c.principal, order), err
}

func (s *Server) orderHistory(ctx context.Context, c *call, in orderIn) (list[app.OrderChange, totalMeta], error) {
	changes, err := s.db.OrderHistory(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID)
	if c.principal.Realm == app.RealmCustomer {
		for i := range changes {
			// Customers do not see the members of the store.
			changes[i].Actor = app.OrderActor{Realm: changes[i].Actor.Realm}
		}
	}
	return list[app.OrderChange, totalMeta]{changes, totalMeta{len(changes), c.exchange.id}}, err
}
