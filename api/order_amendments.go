package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/comanda-dev/comanda/app"
)

// Operations that change an order, apart from its status.
var (
	updateOrder = handle("updateOrder", (*Server).amendOrder, app.CodeInvalidTransition, app.CodeInsufficientRole,
		app.CodeProductUnavailable, app.CodeOptionInvalid, app.CodePriceNotSet, app.CodeAmountTooLarge,
		app.CodeTotalMismatch, app.CodeStoreClosed, app.CodeOutsideBookingWindow, app.CodeConflict,
		app.CodeLimitReached)
	tickOrderItem        = handle("tickOrderItem", (*Server).tickItem)
	markOrderPrinted     = handle("markOrderPrinted", (*Server).markPrinted)
	listOrderItemChanges = handle("listOrderItemChanges", (*Server).itemChanges)
)

type amendOrderIn struct {
	ID                 app.OrderID             `path:"id"`
	IfMatch            etag                    `header:"If-Match"`
	DryRun             bool                    `query:"dryRun"`
	Items              *[]amendedItemIn        `json:"items" validate:"omitempty,orderitems"`
	CustomerID         *app.CustomerID         `json:"customerId" validate:"omitempty,id"`
	Customer           nullable[guestIn]       `json:"customer"` // null = nobody
	DeliveryAddress    *deliveryAddressPatchIn `json:"deliveryAddress"`
	DiscountMinor      *int64                  `json:"discountMinor" validate:"omitempty,amount"`
	DeliveryFeeMinor   *int64                  `json:"deliveryFeeMinor" validate:"omitempty,price"`
	ExpectedTotalMinor *int64                  `json:"expectedTotalMinor" validate:"omitempty,amount"`
	RequestedFor       nullable[app.Time]      `json:"requestedFor"`
	Note               nullable[string]        `json:"note" validate:"omitempty,ordernote"`
	TableLabel         nullable[string]        `json:"tableLabel" validate:"omitempty,notblank,tablelabel"`
}

type amendedItemIn struct {
	ID             app.OrderItemID  `json:"id" validate:"omitempty,id"`
	ProductID      *app.ProductID   `json:"productId" validate:"omitempty,id"`
	Name           *string          `json:"name" validate:"omitempty,notblank,name"`
	Quantity       *int64           `json:"quantity" validate:"omitempty,quantity"`
	UnitPriceMinor *int64           `json:"unitPriceMinor" validate:"omitempty,price"`
	TaxRatePPM     *int64           `json:"taxRatePpm" validate:"omitempty,taxrate"`
	Options        *[]orderOptionIn `json:"options" validate:"omitempty,orderoptions"`
	Note           nullable[string] `json:"note" validate:"omitempty,itemnote"`
}

func (in amendedItemIn) lineIn() lineIn {
	return lineIn{
		product: in.ProductID != nil, name: in.Name != nil, options: in.Options != nil,
		price: in.UnitPriceMinor != nil, rate: in.TaxRatePPM != nil,
	}
}

func (in amendedItemIn) item() app.AmendedItem {
	item := app.AmendedItem{
		ID: in.ID, ProductID: in.ProductID, Name: in.Name, Quantity: in.Quantity, UnitPriceMinor: in.UnitPriceMinor,
		TaxRatePPM: in.TaxRatePPM, Note: orEmpty(in.Note),
	}
	if in.Options != nil {
		options := chosenOptions(*in.Options)
		item.Options = &options
	}
	return item
}

// orEmpty returns the text of a member that null clears; nil if it is absent.
func orEmpty(member nullable[string]) *string {
	if member == nil {
		return nil
	}
	var text string
	patchOrClear(&text, member)
	return &text
}

type deliveryAddressPatchIn struct {
	Line1      *string          `json:"line1" validate:"omitempty,notblank,addressline"`
	Line2      nullable[string] `json:"line2" validate:"omitempty,addressline"`
	City       *string          `json:"city" validate:"omitempty,notblank,city"`
	Region     nullable[string] `json:"region" validate:"omitempty,region"`
	PostalCode nullable[string] `json:"postalCode" validate:"omitempty,postalcode"`
	Country    *string          `json:"country" validate:"omitempty,iso3166_1_alpha2"`
	Notes      nullable[string] `json:"notes" validate:"omitempty,addressnotes"`
}

func (in deliveryAddressPatchIn) apply(a *app.DeliveryAddress) {
	patch(&a.Line1, in.Line1)
	patchOrClear(&a.Line2, in.Line2)
	patch(&a.City, in.City)
	patchOrClear(&a.Region, in.Region)
	patchOrClear(&a.PostalCode, in.PostalCode)
	patch(&a.Country, in.Country)
	patchOrClear(&a.Notes, in.Notes)
}

// check requires the version for members whose change depends on what the caller has seen.
func (in amendOrderIn) check() []app.Detail {
	var faults []app.Detail
	seen := in.Items != nil || in.Customer != nil || in.CustomerID != nil || in.DiscountMinor != nil ||
		in.DeliveryFeeMinor != nil
	if seen && in.IfMatch == "" {
		faults = append(faults, app.Detail{
			Path:    "If-Match",
			Message: "is required with items, customer, customerId, discountMinor and deliveryFeeMinor",
		})
	}
	if in.CustomerID != nil && in.Customer != nil {
		faults = append(faults, app.Detail{Path: "customerId", Message: "must be absent if customer is given"})
	}
	if in.Items != nil {
		faults = append(faults, checkAmendedItems(*in.Items)...)
	}
	return faults
}

// checkAmendedItems returns the faults of items that name an id twice, and of new items without required members.
func checkAmendedItems(items []amendedItemIn) (faults []app.Detail) {
	ids := map[app.OrderItemID]bool{}
	for i, item := range items {
		place := fmt.Sprintf("items[%d]", i)
		if item.ID != "" {
			if ids[item.ID] {
				faults = append(faults, app.Detail{Path: place + ".id", Message: "is a duplicate"})
			}
			ids[item.ID] = true
			faults = append(faults, item.lineIn().besideName(place+".")...)
			continue
		}
		faults = append(faults, item.lineIn().check(place+".")...)
		if item.Quantity == nil {
			faults = append(faults, app.Detail{Path: place + ".quantity", Message: "is required for a new item"})
		}
	}
	return faults
}

func (in amendOrderIn) demands() []app.Permission {
	priced := func(i amendedItemIn) bool { return i.Name != nil || i.UnitPriceMinor != nil || i.TaxRatePPM != nil }
	if in.DeliveryFeeMinor != nil || in.Items != nil && slices.ContainsFunc(*in.Items, priced) {
		return []app.Permission{app.PriceOrders}
	}
	return nil
}

func (in amendOrderIn) amendment(c *call) app.OrderAmendment {
	change := app.OrderAmendment{
		Version: in.IfMatch.version(), TableLabel: orEmpty(in.TableLabel), Note: orEmpty(in.Note),
		RequestedFor: in.RequestedFor, DiscountMinor: in.DiscountMinor, DeliveryFeeMinor: in.DeliveryFeeMinor,
		ExpectedTotalMinor: in.ExpectedTotalMinor, DryRun: in.DryRun, By: c.actor(), Caller: c.principal,
	}
	if in.Items != nil {
		for _, item := range *in.Items {
			change.Items = append(change.Items, item.item())
		}
	}
	if in.DeliveryAddress != nil {
		change.DeliveryAddress = in.DeliveryAddress.apply
	}
	patch(&change.CustomerID, in.CustomerID)
	if in.Customer != nil {
		change.Guest = &app.OrderCustomer{}
		if *in.Customer != nil {
			*change.Guest = (*in.Customer).guest()
		}
	}
	return change
}

func (s *Server) amendOrder(ctx context.Context, c *call, in amendOrderIn) (orderOut, error) {
	order, err := s.db.AmendOrder(ctx, c.now, c.principal.StoreID, in.ID, in.amendment(c), c.once)
	return orderFor(c.principal, order), err
}

type tickItemIn struct {
	ID   app.OrderID     `path:"id"`
	Item app.OrderItemID `path:"itemId"`
	Done *bool           `json:"done" validate:"required"`
}

func (s *Server) tickItem(ctx context.Context, c *call, in tickItemIn) (orderOut, error) {
	order, err := s.db.TickItem(ctx, c.now, c.principal.StoreID, in.ID, in.Item, *in.Done)
	return orderFor(c.principal, order), err
}

type markPrintedIn struct {
	ID      app.OrderID `path:"id"`
	Version int64       `json:"version" validate:"required,min=1"`
}

func (s *Server) markPrinted(ctx context.Context, c *call, in markPrintedIn) (orderOut, error) {
	order, err := s.db.PrintedOrder(ctx, c.now, c.principal.StoreID, in.ID, in.Version)
	return orderFor(c.principal, order), err
}

type itemChangesIn struct {
	ID    app.OrderID `path:"id"`
	Since *int64      `query:"since" validate:"required,min=1"`
}

func (s *Server) itemChanges(ctx context.Context, c *call, in itemChangesIn) (app.OrderItemChanges, error) {
	return s.db.OrderItemChanges(ctx, c.principal.StoreID, in.ID, *in.Since)
}
