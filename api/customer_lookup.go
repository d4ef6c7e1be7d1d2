package api

import (
	"context"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"github.com/comanda-dev/comanda/app"
)

var findCustomer = handle("findCustomer", (*Server).findCustomer, app.CodeNotFound, app.CodeRateLimited)

type findCustomerIn struct {
	storeParam
	Phone string `query:"phone" validate:"required,dialled,max=40"`
}

// findCustomer counts the request before it searches: a number that nobody has is a guess too. A text that is not a
// number of the store's country is not.
func (s *Server) findCustomer(ctx context.Context, c *call, in findCustomerIn) (app.FoundCustomer, error) {
	country, err := s.db.Country(ctx, c.principal.StoreID)
	if err != nil {
		return app.FoundCustomer{}, err
	}
	number, err := internationalNumber(in.Phone, country)
	if err != nil {
		return app.FoundCustomer{}, err
	}
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return app.FoundCustomer{}, err
	}
	return s.db.FindCustomer(ctx, c.principal.StoreID, number)
}

// internationalNumber returns a phone number in E.164, as it is dialled in a country. It returns VALIDATION_FAILED if
// no number of the country has this form.
func internationalNumber(text, country string) (string, error) {
	if phone.MatchString(text) {
		return text, nil
	}
	number, err := phonenumbers.Parse(text, country)
	if err == nil {
		text = phonenumbers.Format(number, phonenumbers.E164)
	}
	if err != nil || !phone.MatchString(text) {
		if strings.HasPrefix(text, "+") {
			return "", app.Invalid("phone", "is not a phone number in international format")
		}
		return "", app.Invalid("phone", "is not a phone number in "+country+"; other countries need a leading +")
	}
	return text, nil
}
