package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var listOrderDeliveries = handle("listOrderDeliveries", (*Server).orderDeliveries)

type orderDeliveriesIn struct {
	ID app.OrderID `path:"id"`
	pageParams
}

func (s *Server) orderDeliveries(
	ctx context.Context, c *call, in orderDeliveriesIn,
) (list[app.OrderDelivery, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.OrderDelivery, cursorMeta]{}, err
	}
	found, err := s.db.OrderDeliveries(ctx, c.principal.StoreID, in.ID, app.DeliveryID(after), in.Limit+1)
	return paged(s, c, found, in.Limit, func(d app.OrderDelivery) string { return string(d.ID) }), err
}
