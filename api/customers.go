package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of customers.
var (
	listCustomers  = handle("listCustomers", (*Server).customers)
	getCustomer    = handle("getCustomer", (*Server).customer)
	updateCustomer = handle("updateCustomer", (*Server).changeCustomer, app.CodeConflict, app.CodeRateLimited)
)

// isOwn returns NOT_FOUND if a customer requests another customer.
func (c *call) isOwn(customer app.CustomerID) error {
	if c.principal.Realm == app.RealmCustomer && c.principal.CustomerID != customer {
		return app.NotFound()
	}
	return nil
}

type customersIn struct {
	storeParam
	Kind         app.CustomerKind `query:"kind" validate:"omitempty,enum"`
	Query        string           `query:"q" validate:"search"`
	ExternalID   string           `query:"externalId" validate:"externalid"`
	UpdatedSince *app.Time        `query:"updatedSince"`
	pageParams
}

// customerOut is a customer as the caller may see it.
type customerOut struct {
	app.Customer
	Disabled *bool `json:"disabled,omitempty"`
}

// show returns a customer as the caller may see it.
func (c *call) show(customer app.Customer) customerOut {
	if c.principal.Realm == app.RealmCustomer {
		return customerOut{Customer: customer.Own()}
	}
	return customerOut{customer, &customer.Disabled}
}

// customers lists the store's customers; for a customer, only that customer.
func (s *Server) customers(ctx context.Context, c *call, in customersIn) (list[customerOut, cursorMeta], error) {
	if err := c.notForCustomers(map[string]bool{"externalId": in.ExternalID != ""}); err != nil {
		return list[customerOut, cursorMeta]{}, err
	}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[customerOut, cursorMeta]{}, err
	}
	filter := app.CustomerFilter{Kind: in.Kind, UpdatedSince: in.UpdatedSince, ExternalID: in.ExternalID, Query: in.Query}
	found, more, err := s.db.Customers(ctx, c.principal.StoreID, c.principal.CustomerID, filter, timeCursor(position),
		in.page())
	shown := make([]customerOut, len(found))
	for i, one := range found {
		shown[i] = c.show(one)
	}
	return listPage(s, c, shown, in.Limit, more, func(one customerOut) string {
		return timePosition(one.CreatedAt, string(one.ID))
	}), err
}

type customerIn struct {
	ID app.CustomerID `path:"id"`
}

func (s *Server) customer(ctx context.Context, c *call, in customerIn) (customerOut, error) {
	if err := c.isOwn(in.ID); err != nil {
		return customerOut{}, err
	}
	customer, err := s.db.Customer(ctx, c.principal.StoreID, in.ID)
	return c.show(customer), err
}

type changeCustomerIn struct {
	ID         app.CustomerID   `path:"id"`
	IfMatch    etag             `header:"If-Match"`
	FirstName  *string          `json:"firstName" validate:"omitempty,notblank,personname"`
	LastName   nullable[string] `json:"lastName" validate:"omitempty,notblank,personname"`
	Phone      nullable[string] `json:"phone" validate:"omitempty,phone"`
	Disabled   *bool            `json:"disabled"`
	ExternalID nullable[string] `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata   metadataPatch    `json:"metadata" validate:"metadatapatch"`
}

func (in changeCustomerIn) apply(c *app.Customer) error {
	patch(&c.Disabled, in.Disabled)
	patch(&c.FirstName, in.FirstName)
	patchOrClear(&c.LastName, in.LastName)
	patchOrClear(&c.Phone, in.Phone)
	patchOrClear(&c.ExternalID, in.ExternalID)
	c.Metadata = patchEach(c.Metadata, in.Metadata, sameText)
	if faults := checkMetadata(c.Metadata); faults != nil {
		return app.InvalidAll(faults)
	}
	return nil
}

func (s *Server) changeCustomer(ctx context.Context, c *call, in changeCustomerIn) (customerOut, error) {
	err := c.notForCustomers(map[string]bool{
		"disabled": in.Disabled != nil, "externalId": in.ExternalID != nil, "metadata": in.Metadata != nil,
	})
	if err != nil {
		return customerOut{}, err
	}
	if err := c.isOwn(in.ID); err != nil {
		return customerOut{}, err
	}
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return customerOut{}, err
	}
	changed, err := s.db.ChangeCustomer(ctx, c.now, c.principal, c.actor(), in.ID, in.IfMatch.version(), in.apply)
	return c.show(changed), err
}
