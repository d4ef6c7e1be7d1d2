package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var eraseCustomer = handle("eraseCustomer", (*Server).eraseCustomer, app.CodeConflict, app.CodeInvalidCredentials,
	app.CodeRateLimited).orWithoutBody()

type eraseCustomerIn struct {
	ID       app.CustomerID `path:"id"`
	Password app.Secret     `json:"password" validate:"password"`
}

// ForceRequestBody documents the body, which DELETE usually does not have.
func (eraseCustomerIn) ForceRequestBody() {}

// eraseCustomer replaces the personal data of a customer. The password protects the account from a stolen access token.
func (s *Server) eraseCustomer(ctx context.Context, c *call, in eraseCustomerIn) (nothing, error) {
	if err := c.isOwn(in.ID); err != nil {
		return nothing{}, err
	}
	if c.principal.Realm != app.RealmCustomer {
		if in.Password.Len() > 0 {
			return nothing{}, app.Invalid("password", "is only allowed for the customer")
		}
		return nothing{}, s.db.EraseCustomer(ctx, c.now, c.principal, c.actor(), in.ID, nil)
	}
	login, err := s.confirmLink(ctx, c, in.Password)
	if err != nil {
		return nothing{}, err
	}
	return nothing{}, s.db.EraseCustomer(ctx, c.now, c.principal, c.actor(), in.ID, &login.PasswordHash)
}
