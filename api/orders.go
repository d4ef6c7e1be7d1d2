package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type placeOrderIn struct {
	StoreID            app.StoreID          `json:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Items              []orderItemIn        `json:"items" validate:"required,min=1,max=100,dive"`
	FulfillmentType    app.FulfillmentType  `json:"fulfillmentType" validate:"required,enum"`
	Source             app.OrderSource      `json:"source" validate:"omitempty,enum" description:"Where the order was placed. By default API for an API key, POS for a user."`
	CustomerID         app.CustomerID       `json:"customerId" validate:"omitempty,id" description:"A customer of the store. Either this or customer is given."`
	Customer           *guestIn             `json:"customer" description:"A guest. Either this or customerId is given."`
	DeliveryAddress    *app.DeliveryAddress `json:"deliveryAddress" description:"For DELIVERY, and only then."`
	StoreViewID        app.StoreViewID      `json:"storeViewId" validate:"omitempty,id" description:"The view that decides about language and currency. By default the caller's."`
	DiscountMinor      int64                `json:"discountMinor" validate:"min=0,max=9007199254740991" description:"Off the subtotal, in minor units. For managers and above, and API keys."`
	ExpectedTotalMinor *int64               `json:"expectedTotalMinor" validate:"omitempty,min=0,max=9007199254740991" description:"The order is only placed if this is what it costs, in minor units."`
	Note               string               `json:"note" validate:"max=1000" example:"No onions, please."`
}

type orderItemIn struct {
	ProductID app.ProductID `json:"productId" validate:"required,id"`
	Quantity  int64         `json:"quantity" validate:"required,min=1,max=999" example:"2"`
}

type guestIn struct {
	Name  string `json:"name" validate:"required,notblank,max=200" example:"Ada Lovelace"`
	Email string `json:"email" validate:"omitempty,email,max=254" example:"ada@example.com"`
	Phone string `json:"phone" validate:"omitempty,phone" example:"+4915112345678"`
}

func (in placeOrderIn) check() []app.Detail {
	var faults []app.Detail
	if (in.CustomerID == "") == (in.Customer == nil) {
		faults = append(faults, app.Detail{Path: "customerId", Message: "or customer is required, and not both"})
	}
	switch in.FulfillmentType {
	case app.FulfillmentDelivery:
		if in.DeliveryAddress == nil {
			faults = append(faults, app.Detail{Path: "deliveryAddress", Message: "is required for DELIVERY"})
		}
	case app.FulfillmentPickup, app.FulfillmentDineIn:
		if in.DeliveryAddress != nil {
			faults = append(faults, app.Detail{Path: "deliveryAddress", Message: "is for DELIVERY only"})
		}
	}
	return faults
}

func (in placeOrderIn) demands() app.Permission {
	if in.DiscountMinor > 0 {
		return app.DiscountOrders
	}
	return ""
}

// order is the app's order with the caller's defaults.
func (in placeOrderIn) order(c *call) app.NewOrder {
	wanted := app.NewOrder{
		FulfillmentType: in.FulfillmentType, Source: in.Source, CustomerID: in.CustomerID, DeliveryAddress: in.DeliveryAddress,
		StoreViewID: in.StoreViewID, DiscountMinor: in.DiscountMinor, ExpectedTotalMinor: in.ExpectedTotalMinor, Note: in.Note,
		By: c.actor(),
	}
	for _, item := range in.Items {
		wanted.Items = append(wanted.Items, app.NewOrderItem{ProductID: item.ProductID, Quantity: item.Quantity})
	}
	if in.Customer != nil {
		wanted.Guest = app.OrderCustomer{Name: in.Customer.Name, Email: in.Customer.Email, Phone: in.Customer.Phone}
	}
	if wanted.StoreViewID == "" {
		wanted.StoreViewID = c.principal.View.ID
	}
	if wanted.Source == "" {
		wanted.Source = app.SourcePOS
		if c.principal.Realm == app.RealmAPIKey {
			wanted.Source = app.SourceAPI
		}
	}
	return wanted
}

type orderOut struct {
	app.Order
	AllowedTransitions []app.OrderStatus `json:"allowedTransitions"` // what the caller can make of it next
}

func orderFor(caller app.Principal, order app.Order) orderOut {
	out := orderOut{Order: order}
	if caller.Can(app.WriteOrders) == nil {
		out.AllowedTransitions = order.Status.Transitions(order.FulfillmentType, caller.Can(app.CancelOrders) == nil)
	}
	return out
}

func (s *Server) placeOrder(ctx context.Context, c *call, in placeOrderIn) (orderOut, error) {
	answer := func(placed app.Order) any { return stored{orderFor(c.principal, placed)} }
	placed, err := s.db.PlaceOrder(ctx, c.now, c.principal.StoreID, in.order(c), c.once, answer)
	return orderFor(c.principal, placed), err
}

type orderIn struct {
	ID app.OrderID `path:"id"`
}

func (s *Server) order(ctx context.Context, c *call, in orderIn) (orderOut, error) {
	order, err := s.db.Order(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID)
	return orderFor(c.principal, order), err
}

// quoteOrder takes the body of placeOrder, expectedTotalMinor included.
func (s *Server) quoteOrder(ctx context.Context, c *call, in placeOrderIn) (app.OrderQuote, error) {
	return s.db.QuoteOrder(ctx, c.now, c.principal.StoreID, in.order(c))
}

type ordersIn struct {
	StoreID         app.StoreID         `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Statuses        []app.OrderStatus   `query:"status" validate:"omitempty,max=7,unique,dive,enum" description:"Given several times: any of them."`
	FulfillmentType app.FulfillmentType `query:"fulfillmentType" validate:"omitempty,enum"`
	Source          app.OrderSource     `query:"source" validate:"omitempty,enum"`
	CustomerID      app.CustomerID      `query:"customerId" validate:"omitempty,id"`
	Number          *int64              `query:"orderId" validate:"omitempty,min=1" description:"The number for people, orderId of the order."`
	CreatedFrom     *app.Time           `query:"createdFrom" description:"Placed at that time or later."`
	CreatedTo       *app.Time           `query:"createdTo" description:"Placed before that time."`
	BusinessDate    string              `query:"businessDate" validate:"omitempty,date" description:"A day in the store's books."`
	UpdatedSince    *app.Time           `query:"updatedSince" description:"Changed at that time or later."`
	NeedsRefund     *bool               `query:"needsRefund" description:"Whether the order is cancelled and more has been paid than refunded."`
	Query           string              `query:"q" validate:"max=200" description:"The number, or the beginning of the customer's name, last name, e-mail address or phone number, in any case."`
	Limit           int                 `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor          string              `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

func (in ordersIn) check() []app.Detail {
	if in.CreatedFrom != nil && in.CreatedTo != nil && !in.CreatedFrom.Before(in.CreatedTo.Time) {
		return []app.Detail{{Path: "createdTo", Message: "must be after createdFrom"}}
	}
	return nil
}

func (in ordersIn) filter() app.OrderFilter {
	filter := app.OrderFilter{
		Statuses: in.Statuses, FulfillmentType: in.FulfillmentType, Source: in.Source, CustomerID: in.CustomerID,
		CreatedFrom: in.CreatedFrom, CreatedTo: in.CreatedTo, BusinessDate: in.BusinessDate, UpdatedSince: in.UpdatedSince,
		NeedsRefund: in.NeedsRefund, Query: in.Query,
	}
	patch(&filter.Number, in.Number)
	return filter
}

func (s *Server) orders(ctx context.Context, c *call, in ordersIn) (list[orderOut, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[orderOut, cursorMeta]{}, err
	}
	found, err := s.db.Orders(ctx, c.principal.StoreID, c.principal.CustomerID, in.filter(), timeCursor(position), in.Limit+1)
	orders := make([]orderOut, len(found))
	for i, order := range found {
		orders[i] = orderFor(c.principal, order)
	}
	return paged(s, c, orders, in.Limit, func(o orderOut) string { return timePosition(o.CreatedAt, string(o.ID)) }), err
}

type changeOrderStatusIn struct {
	ID                 app.OrderID     `path:"id"`
	IfMatch            etag            `header:"If-Match" description:"The version, in double quotes, that the order must still have."`
	Status             app.OrderStatus `json:"status" validate:"required,enum" description:"The status that it has already changes nothing."`
	CancellationReason string          `json:"cancellationReason" validate:"omitempty,notblank,max=500" example:"The kitchen is closed." description:"For CANCELLED, and only then."`
}

func (in changeOrderStatusIn) check() []app.Detail {
	const path = "cancellationReason"
	switch cancelled := in.Status == app.OrderCancelled; {
	case cancelled && in.CancellationReason == "":
		return []app.Detail{{Path: path, Message: "is required for CANCELLED"}}
	case !cancelled && in.CancellationReason != "":
		return []app.Detail{{Path: path, Message: "is for CANCELLED only"}}
	}
	return nil
}

func (in changeOrderStatusIn) demands() app.Permission {
	if in.Status == app.OrderCancelled {
		return app.CancelOrders
	}
	return ""
}

func (s *Server) changeOrderStatus(ctx context.Context, c *call, in changeOrderStatusIn) (orderOut, error) {
	change := app.OrderStatusChange{To: in.Status, Reason: in.CancellationReason, MayCancel: c.principal.Can(app.CancelOrders) == nil, By: c.actor()}
	order, err := s.db.ChangeOrderStatus(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change)
	return orderFor(c.principal, order), err
}

func (s *Server) orderHistory(ctx context.Context, c *call, in orderIn) (list[app.OrderChange, totalMeta], error) {
	changes, err := s.db.OrderHistory(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID)
	if c.principal.Realm == app.RealmCustomer {
		for i := range changes {
			changes[i].Actor = app.OrderActor{Realm: changes[i].Actor.Realm} // who works here is not for guests
		}
	}
	return list[app.OrderChange, totalMeta]{changes, totalMeta{len(changes), c.exchange.id}}, err
}
