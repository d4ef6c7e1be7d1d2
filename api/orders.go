package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations of orders.
var (
	placeOrder = handle("placeOrder", (*Server).placeOrder,
		app.CodeProductUnavailable, app.CodeOptionInvalid, app.CodePriceNotSet, app.CodeAmountTooLarge,
		app.CodeTotalMismatch, app.CodeStoreClosed, app.CodeOutsideBookingWindow, app.CodeConflict,
		app.CodeLimitReached)
	listOrders = handle("listOrders", (*Server).orders)
	quoteOrder = handle("quoteOrder", (*Server).quoteOrder,
		app.CodeProductUnavailable, app.CodeOptionInvalid, app.CodePriceNotSet, app.CodeAmountTooLarge,
		app.CodeTotalMismatch, app.CodeStoreClosed, app.CodeOutsideBookingWindow, app.CodeConflict,
		app.CodeLimitReached)
	getOrder = handle("getOrder", (*Server).order)
)

type placeOrderIn struct {
	StoreID            app.StoreID          `json:"storeId" validate:"omitempty,id"`
	Items              []orderItemIn        `json:"items" validate:"required,orderitems"`
	FulfillmentType    app.FulfillmentType  `json:"fulfillmentType" validate:"required,enum"`
	Source             app.OrderSource      `json:"source" validate:"omitempty,enum"`
	Channel            *string              `json:"channel" validate:"omitempty,notblank,channel"`
	CustomerID         app.CustomerID       `json:"customerId" validate:"omitempty,id"`
	Customer           nullable[guestIn]    `json:"customer"` // null = absent
	DeliveryAddress    *app.DeliveryAddress `json:"deliveryAddress"`
	StoreViewID        app.StoreViewID      `json:"storeViewId" validate:"omitempty,id"`
	DiscountMinor      int64                `json:"discountMinor" validate:"amount"`
	LoyaltyPoints      *int64               `json:"loyaltyPoints" validate:"omitempty,loyaltypoints"`
	DeliveryFeeMinor   *int64               `json:"deliveryFeeMinor" validate:"omitempty,price"`
	ExpectedTotalMinor *int64               `json:"expectedTotalMinor" validate:"omitempty,amount"`
	RequestedFor       *app.Time            `json:"requestedFor"`
	Note               string               `json:"note" validate:"ordernote"`
	TableLabel         string               `json:"tableLabel" validate:"omitempty,notblank,tablelabel"`
	ExternalID         string               `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata           map[string]string    `json:"metadata" validate:"metadata"`
}

type orderItemIn struct {
	ProductID      app.ProductID   `json:"productId" validate:"omitempty,id"`
	Name           *string         `json:"name" validate:"omitempty,notblank,name"`
	Quantity       int64           `json:"quantity" validate:"required,quantity"`
	UnitPriceMinor *int64          `json:"unitPriceMinor" validate:"omitempty,price"`
	TaxRatePPM     *int64          `json:"taxRatePpm" validate:"omitempty,taxrate"`
	Options        []orderOptionIn `json:"options" validate:"orderoptions"`
	Note           string          `json:"note" validate:"itemnote"`
}

type orderOptionIn struct {
	OptionID app.OptionID `json:"optionId" validate:"required,id"`
	Quantity *int64       `json:"quantity" validate:"omitempty,quantity"`
}

func (in orderItemIn) item() app.NewOrderItem {
	item := app.NewOrderItem{
		ProductID: in.ProductID, Quantity: in.Quantity, UnitPriceMinor: in.UnitPriceMinor, TaxRatePPM: in.TaxRatePPM,
		Options: chosenOptions(in.Options), Note: in.Note,
	}
	patch(&item.Name, in.Name)
	return item
}

func chosenOptions(in []orderOptionIn) (chosen []app.NewOrderOption) {
	for _, option := range in {
		wanted := app.NewOrderOption{OptionID: option.OptionID, Quantity: 1}
		patch(&wanted.Quantity, option.Quantity)
		chosen = append(chosen, wanted)
	}
	return chosen
}

type guestIn struct {
	Name  string `json:"name" validate:"required,notblank,name"`
	Email string `json:"email" validate:"omitempty,customeremail"`
	Phone string `json:"phone" validate:"omitempty,phone"`
}

func (in guestIn) guest() app.OrderCustomer {
	return app.OrderCustomer{Name: in.Name, Email: in.Email, Phone: in.Phone}
}

// guest returns the guest, nil for an order without one.
func (in placeOrderIn) guest() *guestIn {
	if in.Customer == nil {
		return nil
	}
	return *in.Customer
}

func (in placeOrderIn) check() []app.Detail {
	var faults []app.Detail
	for i, item := range in.Items {
		faults = append(faults, item.lineIn().check(fmt.Sprintf("items[%d].", i))...)
	}
	guest := in.guest()
	if in.CustomerID != "" || guest != nil || in.FulfillmentType == app.FulfillmentDelivery {
		faults = append(faults, checkGuest(in.CustomerID, guest)...)
	}
	switch in.FulfillmentType {
	case app.FulfillmentDelivery:
		if in.DeliveryAddress == nil {
			faults = append(faults, app.Detail{Path: "deliveryAddress", Message: "is required for DELIVERY"})
		}
	case app.FulfillmentPickup, app.FulfillmentDineIn:
		if in.DeliveryAddress != nil {
			faults = append(faults, app.Detail{Path: "deliveryAddress", Message: "is only allowed for DELIVERY"})
		}
	}
	if in.LoyaltyPoints != nil && in.CustomerID == "" {
		faults = append(faults, app.Detail{Path: "loyaltyPoints", Message: "are only for a customer with an account"})
	}
	if in.TableLabel != "" && in.FulfillmentType != app.FulfillmentDineIn {
		faults = append(faults, app.Detail{Path: "tableLabel", Message: "is only allowed for DINE_IN"})
	}
	return faults
}

func (in placeOrderIn) demands() (all []app.Permission) {
	priced := func(i orderItemIn) bool { return i.Name != nil || i.UnitPriceMinor != nil || i.TaxRatePPM != nil }
	if in.DeliveryFeeMinor != nil || slices.ContainsFunc(in.Items, priced) {
		all = append(all, app.PriceOrders)
	}
	if in.DiscountMinor > 0 {
		all = append(all, app.DiscountOrders)
	}
	return all
}

// order returns the requested order, with the defaults of the caller.
func (in placeOrderIn) order(c *call) app.NewOrder {
	wanted := app.NewOrder{
		FulfillmentType: in.FulfillmentType, Source: in.Source, Channel: in.Channel, CustomerID: in.CustomerID,
		DeliveryAddress: in.DeliveryAddress, StoreViewID: in.StoreViewID, DiscountMinor: in.DiscountMinor,
		DeliveryFeeMinor:   in.DeliveryFeeMinor,
		ExpectedTotalMinor: in.ExpectedTotalMinor, Note: in.Note, TableLabel: in.TableLabel,
		RequestedFor: in.RequestedFor, ExternalID: in.ExternalID, Metadata: in.Metadata, By: c.actor(),
	}
	patch(&wanted.LoyaltyPoints, in.LoyaltyPoints)
	for _, item := range in.Items {
		wanted.Items = append(wanted.Items, item.item())
	}
	if guest := in.guest(); guest != nil {
		wanted.Guest = guest.guest()
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
	AllowedTransitions []app.OrderStatus `json:"allowedTransitions"`
}

func orderFor(caller app.Principal, order app.Order) orderOut {
	if caller.Realm == app.RealmCustomer {
		order = order.Own()
	}
	out := orderOut{Order: order}
	if caller.Can(app.WriteOrders) == nil {
		out.AllowedTransitions = order.Status.Transitions(order.FulfillmentType, caller.Can(app.CancelOrders) == nil)
	}
	return out
}

func (s *Server) placeOrder(ctx context.Context, c *call, in placeOrderIn) (orderOut, error) {
	placed, err := s.db.PlaceOrder(ctx, c.now, c.principal.StoreID, in.order(c), c.once)
	return orderFor(c.principal, placed), err
}

type orderIn struct {
	ID app.OrderID `path:"id"`
}

func (s *Server) order(ctx context.Context, c *call, in orderIn) (orderOut, error) {
	order, err := s.db.Order(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID)
	return orderFor(c.principal, order), err
}

// quoteOrder accepts the body of placeOrder, including expectedTotalMinor.
func (s *Server) quoteOrder(ctx context.Context, c *call, in placeOrderIn) (app.OrderQuote, error) {
	return s.db.QuoteOrder(ctx, c.now, c.principal.StoreID, in.order(c))
}

type ordersIn struct {
	storeParam
	Statuses        []app.OrderStatus   `query:"status" validate:"omitempty,max=7,unique,dive,enum"`
	FulfillmentType app.FulfillmentType `query:"fulfillmentType" validate:"omitempty,enum"`
	Source          app.OrderSource     `query:"source" validate:"omitempty,enum"`
	CustomerID      app.CustomerID      `query:"customerId" validate:"omitempty,id"`
	Number          *int64              `query:"orderId" validate:"omitempty,min=1"`
	CreatedFrom     *app.Time           `query:"createdFrom"`
	CreatedTo       *app.Time           `query:"createdTo"`
	BusinessDate    string              `query:"businessDate" validate:"omitempty,date"`
	UpdatedSince    *app.Time           `query:"updatedSince"`
	Due             *bool               `query:"due"`
	ExternalID      string              `query:"externalId" validate:"externalid"`
	NeedsRefund     *bool               `query:"needsRefund"`
	Query           string              `query:"q" validate:"search"`
	pageParams
}

func (in ordersIn) check() []app.Detail {
	if in.CreatedFrom != nil && in.CreatedTo != nil && !in.CreatedFrom.Before(in.CreatedTo.Time) {
		return []app.Detail{{Path: "createdTo", Message: "must be after createdFrom"}}
	}
	return nil
}

func (in ordersIn) filter(now time.Time) app.OrderFilter {
	filter := app.OrderFilter{
		Statuses: in.Statuses, FulfillmentType: in.FulfillmentType, Source: in.Source, CustomerID: in.CustomerID,
		CreatedFrom: in.CreatedFrom, CreatedTo: in.CreatedTo, BusinessDate: in.BusinessDate,
		UpdatedSince: in.UpdatedSince, ExternalID: in.ExternalID, NeedsRefund: in.NeedsRefund, Query: in.Query,
	}
	patch(&filter.Number, in.Number)
	if in.Due != nil {
		due := app.At(now)
		if *in.Due {
			filter.DueBy = &due
		} else {
			filter.DueAfter = &due
		}
	}
	return filter
}

func (s *Server) orders(ctx context.Context, c *call, in ordersIn) (list[orderOut, cursorMeta], error) {
	if err := c.notForCustomers(map[string]bool{"externalId": in.ExternalID != ""}); err != nil {
		return list[orderOut, cursorMeta]{}, err
	}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[orderOut, cursorMeta]{}, err
	}
	found, more, err := s.db.Orders(ctx, c.principal.StoreID, c.principal.CustomerID, in.filter(c.now),
		timeCursor(position), in.page())
	orders := make([]orderOut, len(found))
	for i, order := range found {
		orders[i] = orderFor(c.principal, order)
	}
	return listPage(s, c, orders, in.Limit, more, func(o orderOut) string {
		return timePosition(o.CreatedAt, string(o.ID))
	}), err
}
