package api

import (
	"context"
	"strconv"

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

type orderHistoryIn struct {
	ID app.OrderID `path:"id"`
	pageParams
}

func (s *Server) orderHistory(
	ctx context.Context, c *call, in orderHistoryIn,
) (list[app.OrderChange, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.OrderChange, cursorMeta]{}, err
	}
	after, _ := strconv.ParseInt(position, 10, 64) // "" is the start
	changes, more, err := s.db.OrderHistory(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID, after, in.page())
	if c.principal.Realm == app.RealmCustomer {
		for i := range changes {
			// Customers do not see the members of the store.
			changes[i].Actor = app.OrderActor{Realm: changes[i].Actor.Realm}
		}
	}
	return listPage(s, c, changes, in.Limit, more, func(change app.OrderChange) string {
		return strconv.FormatInt(change.Version, 10)
	}), err
}
