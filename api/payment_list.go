package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

var listPayments = handle("listPayments", (*Server).storePayments)

type storePaymentsIn struct {
	storeParam
	Order    string            `query:"orderId" validate:"max=64"`
	Status   app.PaymentResult `query:"status" validate:"omitempty,enum"`
	Provider string            `query:"provider" validate:"omitempty,provider"`
	From     *app.Time         `query:"from"`
	To       *app.Time         `query:"to"`
	pageParams
}

// order returns the order of the filter: its number, or its id. ok is false if it is neither.
func (in storePaymentsIn) order() (number int64, id app.OrderID, ok bool) {
	if in.Order == "" || strings.HasPrefix(in.Order, "ord_") && app.IsID(in.Order) {
		return 0, app.OrderID(in.Order), true
	}
	number, err := strconv.ParseInt(in.Order, 10, 64)
	return number, "", err == nil && number > 0 && in.Order[0] != '+'
}

func (in storePaymentsIn) check() []app.Detail {
	faults := checkSpan(in.From, in.To)
	if _, _, ok := in.order(); !ok {
		faults = append(faults, app.Detail{Path: "orderId", Message: "must be an order number or the id of an order"})
	}
	return faults
}

func (s *Server) storePayments(
	ctx context.Context, c *call, in storePaymentsIn,
) (list[app.Payment, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Payment, cursorMeta]{}, err
	}
	filter := app.PaymentFilter{
		Status: in.Status, Provider: strings.ToUpper(in.Provider), From: in.From, To: in.To,
	}
	filter.OrderNumber, filter.OrderID, _ = in.order()
	found, more, err := s.db.StorePayments(ctx, c.principal.StoreID, filter, timeCursor(position), in.page())
	return listPage(s, c, found, in.Limit, more, func(p app.Payment) string {
		return timePosition(p.CreatedAt, string(p.ID))
	}), err
}
