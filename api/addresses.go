package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of addresses.
var (
	listAddresses = handle("listAddresses", (*Server).addresses)
	createAddress = handle("createAddress", (*Server).addAddress, app.CodeLimitReached, app.CodeRateLimited)
	updateAddress = handle("updateAddress", (*Server).changeAddress, app.CodeRateLimited)
	deleteAddress = handle("deleteAddress", (*Server).deleteAddress, app.CodeRateLimited)
)

type addressesIn struct {
	ID app.CustomerID `path:"id"`
	pageParams
}

func (s *Server) addresses(ctx context.Context, c *call, in addressesIn) (list[app.Address, cursorMeta], error) {
	none := list[app.Address, cursorMeta]{}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return none, err
	}
	if err := c.isOwn(in.ID); err != nil {
		return none, err
	}
	found, err := s.db.Addresses(ctx, c.principal.StoreID, in.ID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(a app.Address) string {
		return timePosition(a.CreatedAt, string(a.ID))
	}), err
}

type addAddressIn struct {
	ID         app.CustomerID `path:"id"`
	Label      string         `json:"label" validate:"addresslabel"`
	Line1      string         `json:"line1" validate:"required,notblank,addressline"`
	Line2      string         `json:"line2" validate:"addressline"`
	City       string         `json:"city" validate:"required,notblank,city"`
	Region     string         `json:"region" validate:"region"`
	PostalCode string         `json:"postalCode" validate:"postalcode"`
	Country    string         `json:"country" validate:"required,iso3166_1_alpha2"`
	Notes      string         `json:"notes" validate:"addressnotes"`
	IsDefault  bool           `json:"isDefault"`
}

func (s *Server) addAddress(ctx context.Context, c *call, in addAddressIn) (app.Address, error) {
	if err := c.isOwn(in.ID); err != nil {
		return app.Address{}, err
	}
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return app.Address{}, err
	}
	address := app.Address{
		Label: in.Label, IsDefault: in.IsDefault,
		DeliveryAddress: app.DeliveryAddress{
			Line1: in.Line1, Line2: in.Line2, City: in.City, Region: in.Region, PostalCode: in.PostalCode,
			Country: in.Country, Notes: in.Notes,
		},
	}
	return s.db.AddAddress(ctx, c.now, c.principal, in.ID, address, c.once)
}

type changeAddressIn struct {
	ID        app.CustomerID   `path:"id"`
	AddressID app.AddressID    `path:"addressId"`
	IfMatch   etag             `header:"If-Match"`
	Label     nullable[string] `json:"label" validate:"omitempty,addresslabel"`
	deliveryAddressPatchIn
	IsDefault *bool `json:"isDefault"`
}

func (in changeAddressIn) apply(a *app.Address) error {
	patchOrClear(&a.Label, in.Label)
	in.deliveryAddressPatchIn.apply(&a.DeliveryAddress)
	patch(&a.IsDefault, in.IsDefault)
	return nil
}

func (s *Server) changeAddress(ctx context.Context, c *call, in changeAddressIn) (app.Address, error) {
	if err := s.limitAddressChange(ctx, c, in.ID, in.AddressID); err != nil {
		return app.Address{}, err
	}
	return s.db.ChangeAddress(ctx, c.now, c.principal, in.ID, in.AddressID, in.IfMatch.version(), in.apply)
}

// limitAddressChange counts a change of an existing own address. It returns NOT_FOUND for any other address.
func (s *Server) limitAddressChange(ctx context.Context, c *call, id app.CustomerID, address app.AddressID) error {
	if err := c.isOwn(id); err != nil {
		return err
	}
	if err := s.db.CheckAddress(ctx, c.principal.StoreID, id, address); err != nil {
		return err
	}
	return s.limitQuotas(ctx, c, c.principal.StoreID)
}

type deleteAddressIn struct {
	ID        app.CustomerID `path:"id"`
	AddressID app.AddressID  `path:"addressId"`
	IfMatch   etag           `header:"If-Match"`
}

func (s *Server) deleteAddress(ctx context.Context, c *call, in deleteAddressIn) (nothing, error) {
	if err := s.limitAddressChange(ctx, c, in.ID, in.AddressID); err != nil {
		return nothing{}, err
	}
	return nothing{}, s.db.DeleteAddress(ctx, c.now, c.principal, in.ID, in.AddressID, in.IfMatch.version())
}
