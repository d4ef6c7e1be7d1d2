package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// isOwn returns NOT_FOUND when a customer asks for somebody else.
func (c *call) isOwn(customer app.CustomerID) error {
	if c.principal.Realm == app.RealmCustomer && c.principal.CustomerID != customer {
		return app.NotFound()
	}
	return nil
}

type customersIn struct {
	StoreID      app.StoreID      `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Kind         app.CustomerKind `query:"kind" validate:"omitempty,enum"`
	Query        string           `query:"q" validate:"max=200" description:"The beginning of the name, the last name, the e-mail address or the phone number, in any case."`
	UpdatedSince *app.Time        `query:"updatedSince" description:"Profile or addresses changed at that time or later."`
	Limit        int              `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor       string           `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

// customers lists all for the restaurant, and for a customer the one.
func (s *Server) customers(ctx context.Context, c *call, in customersIn) (list[app.Customer, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Customer, cursorMeta]{}, err
	}
	filter := app.CustomerFilter{Kind: in.Kind, UpdatedSince: in.UpdatedSince, Query: in.Query}
	found, err := s.db.Customers(ctx, c.principal.StoreID, c.principal.CustomerID, filter, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(one app.Customer) string { return timePosition(one.CreatedAt, string(one.ID)) }), err
}

type customerIn struct {
	ID app.CustomerID `path:"id"`
}

func (s *Server) customer(ctx context.Context, c *call, in customerIn) (app.Customer, error) {
	if err := c.isOwn(in.ID); err != nil {
		return app.Customer{}, err
	}
	return s.db.Customer(ctx, c.principal.StoreID, in.ID)
}

type changeCustomerIn struct {
	ID        app.CustomerID   `path:"id"`
	IfMatch   etag             `header:"If-Match" description:"The version, in double quotes, that the customer must still have."`
	FirstName *string          `json:"firstName" validate:"omitempty,notblank,max=100" example:"Ada"`
	LastName  nullable[string] `json:"lastName" validate:"omitempty,notblank,max=100" example:"Lovelace"`
	Phone     nullable[string] `json:"phone" validate:"omitempty,phone" example:"+4915112345678"`
}

func (in changeCustomerIn) apply(c *app.Customer) error {
	patch(&c.FirstName, in.FirstName)
	patchOrClear(&c.LastName, in.LastName)
	patchOrClear(&c.Phone, in.Phone)
	return nil
}

func (s *Server) changeCustomer(ctx context.Context, c *call, in changeCustomerIn) (app.Customer, error) {
	if err := c.isOwn(in.ID); err != nil {
		return app.Customer{}, err
	}
	return s.db.ChangeCustomer(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), in.apply)
}

type loyaltyIn struct {
	ID     app.CustomerID `path:"id"`
	Limit  int            `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor string         `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) loyalty(ctx context.Context, c *call, in loyaltyIn) (list[app.LoyaltyEntry, cursorMeta], error) {
	none := list[app.LoyaltyEntry, cursorMeta]{}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return none, err
	}
	if err := c.isOwn(in.ID); err != nil {
		return none, err
	}
	found, err := s.db.LoyaltyEntries(ctx, c.principal.StoreID, in.ID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(e app.LoyaltyEntry) string { return timePosition(e.CreatedAt, string(e.ID)) }), err
}
