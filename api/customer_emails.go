package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations of the change of a customer's email.
var (
	changeCustomerEmail = handle("changeCustomerEmail", (*Server).changeCustomerEmail, app.CodeInvalidCredentials,
		app.CodeConflict)
	confirmCustomerEmail = handle("confirmCustomerEmail", (*Server).confirmCustomerEmail, app.CodeTokenInvalid,
		app.CodeEmailTaken)
)

// noMails is the Retry-After of an operation that requires a mail server, which is not configured.
const noMails = time.Hour

type changeCustomerEmailIn struct {
	Email    string     `json:"email" validate:"required,customeremail"`
	Password app.Secret `json:"password" validate:"required,password"`
}

// changeCustomerEmail requests a change of the email. It does the same, in the same time, whether or not another
// account has the new email: only the owner of the new address learns that, when confirming it. An account without a
// password cannot change its email, because a stolen access token alone would open it forever.
func (s *Server) changeCustomerEmail(ctx context.Context, c *call, in changeCustomerEmailIn) (messageOut, error) {
	if !s.db.Mails() {
		return messageOut{}, app.Unavailable(noMails)
	}
	login, err := s.db.CustomerLoginOf(ctx, c.principal.StoreID, c.principal.CustomerID)
	switch {
	case err != nil:
		return messageOut{}, err
	case login.Customer.Email == in.Email:
		return messageOut{}, app.Invalid("email", "is already the email of the account")
	case login.PasswordHash == "":
		return messageOut{}, app.Errorf(app.CodeConflict,
			"the account has no password; set one with POST /customer-auth/password-reset first")
	}
	if login, err = s.confirmCustomerPassword(ctx, c, in.Password); err != nil {
		return messageOut{}, err
	}
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return messageOut{}, err
	}
	err = s.db.RequestEmailChange(ctx, c.now, c.principal, c.actor(), login.PasswordHash, in.Email,
		NewResetToken(app.CustomerResetPrefix))
	return messageOut{"a link to confirm the new email is on its way to that address"}, err
}

type confirmCustomerEmailIn struct {
	Token app.Secret `json:"token" validate:"required,linktoken"`
}

// confirmCustomerEmail replaces the email of the customer to whom a token belongs.
func (s *Server) confirmCustomerEmail(ctx context.Context, c *call, in confirmCustomerEmailIn) (messageOut, error) {
	err := s.db.ConfirmEmailChange(ctx, c.now, c.actor(), in.Token)
	return messageOut{"the email has been changed; log in with the new email from now on"}, err
}
