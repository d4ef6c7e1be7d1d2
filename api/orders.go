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
func (in placeOrderIn) order(caller app.Principal) app.NewOrder {
	wanted := app.NewOrder{
		FulfillmentType: in.FulfillmentType, Source: in.Source, CustomerID: in.CustomerID, DeliveryAddress: in.DeliveryAddress,
		StoreViewID: in.StoreViewID, DiscountMinor: in.DiscountMinor, ExpectedTotalMinor: in.ExpectedTotalMinor, Note: in.Note,
	}
	for _, item := range in.Items {
		wanted.Items = append(wanted.Items, app.NewOrderItem{ProductID: item.ProductID, Quantity: item.Quantity})
	}
	if in.Customer != nil {
		wanted.Guest = app.OrderCustomer{Name: in.Customer.Name, Email: in.Customer.Email, Phone: in.Customer.Phone}
	}
	if wanted.StoreViewID == "" {
		wanted.StoreViewID = caller.View.ID
	}
	if wanted.Source == "" {
		wanted.Source = app.SourcePOS
		if caller.Realm == app.RealmAPIKey {
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
	placed, err := s.db.PlaceOrder(ctx, c.now, c.principal.StoreID, in.order(c.principal), c.once, answer)
	return orderFor(c.principal, placed), err
}

type orderIn struct {
	ID app.OrderID `path:"id"`
}

func (s *Server) order(ctx context.Context, c *call, in orderIn) (orderOut, error) {
	order, err := s.db.Order(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID)
	return orderFor(c.principal, order), err
}
