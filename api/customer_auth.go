package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

type registerCustomerIn struct {
	StoreID   app.StoreID `json:"storeId" validate:"required,id" store:"any"`
	Email     string      `json:"email" validate:"required,email,max=254" example:"ada@example.com"`
	Password  app.Secret  `json:"password" validate:"required,minbytes=8,bytes=1024,uncommon" example:"correct horse battery staple" description:"8 to 1024 bytes, taken as they are. Passwords that everybody tries first are refused."`
	FirstName string      `json:"firstName" validate:"required,notblank,max=100" example:"Ada"`
	LastName  string      `json:"lastName" validate:"required,notblank,max=100" example:"Lovelace"`
	Phone     string      `json:"phone" validate:"omitempty,phone" example:"+4915112345678"`
}

type loginCustomerIn struct {
	StoreID  app.StoreID `json:"storeId" validate:"required,id" store:"any"`
	Email    string      `json:"email" validate:"required,max=320" example:"ada@example.com"`
	Password app.Secret  `json:"password" validate:"required,bytes=1024" example:"correct horse battery staple"`
}

type loginCustomerOut struct {
	AccessToken string       `json:"accessToken"` // a JWT, for the Authorization header
	Customer    app.Customer `json:"customer"`
}

// registerCustomer makes an account and logs in. It takes no Idempotency-Key: an answer
// with tokens must not be kept, and the address is taken only once anyway.
func (s *Server) registerCustomer(ctx context.Context, c *call, in registerCustomerIn) (loginCustomerOut, error) {
	if err := s.checkPage(ctx, c, in.StoreID); err != nil {
		return loginCustomerOut{}, err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return loginCustomerOut{}, err
	}
	session, err := s.db.RegisterCustomer(ctx, c.now, in.StoreID, persistence.NewCustomer{
		Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Phone: in.Phone, PasswordHash: hash,
	}, s.tokens.refreshTTL)
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}

// loginCustomer begins a session. Whether the store or the address is unknown, the password
// wrong or none, the customer disabled: the answer is the same, and so is the time it takes.
func (s *Server) loginCustomer(ctx context.Context, c *call, in loginCustomerIn) (loginCustomerOut, error) {
	if err := s.checkPage(ctx, c, in.StoreID); err != nil {
		return loginCustomerOut{}, err
	}
	refused := app.Errorf(app.CodeInvalidCredentials, "the e-mail address or the password is not right")
	login, err := s.db.CustomerLoginByEmail(ctx, in.StoreID, in.Email)
	if err != nil && app.CodeOf(err) != app.CodeNotFound {
		return loginCustomerOut{}, err
	}
	ok, fresh, err := s.passwords.check(ctx, in.Password, login.PasswordHash)
	if err != nil {
		return loginCustomerOut{}, err
	}
	if !ok || login.Disabled {
		return loginCustomerOut{}, refused
	}
	session, err := s.db.StartCustomerSession(ctx, c.now, in.StoreID, login, fresh, s.tokens.refreshTTL)
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		return loginCustomerOut{}, refused
	}
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}

// welcomeCustomer gives out the tokens of a session that has begun.
func (s *Server) welcomeCustomer(c *call, store app.StoreID, session persistence.CustomerSession) (loginCustomerOut, error) {
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.Customer.ID), Email: session.Customer.Email, StoreID: store, Audience: app.RealmCustomer, SessionID: session.ID,
		ExpiresAt: s.sessionEnd(c.now),
	})
	if err != nil {
		return loginCustomerOut{}, err
	}
	c.setRefreshToken(app.RealmCustomer, s.tokens.mintRefresh(app.RealmCustomer, session.ID, session.RefreshCounter), s.tokens.refreshTTL)
	return loginCustomerOut{AccessToken: token, Customer: session.Customer}, nil
}

type logoutCustomerOut struct {
	Message string `json:"message"`
}

// logoutCustomer ends the session at once, with its refresh token.
func (s *Server) logoutCustomer(ctx context.Context, c *call, _ noIn) (logoutCustomerOut, error) {
	p := c.principal
	if err := s.db.EndCustomerSession(ctx, c.now, p.StoreID, p.CustomerID, p.SessionID); err != nil {
		return logoutCustomerOut{}, err
	}
	c.clearRefreshToken(app.RealmCustomer)
	return logoutCustomerOut{Message: "logged out"}, nil
}

// refreshCustomer gives out the next pair of tokens of a customer, as refresh does for users.
func (s *Server) refreshCustomer(ctx context.Context, c *call, _ noIn) (refreshOut, error) {
	session, err := s.db.RefreshCustomer(ctx, c.now, c.actor(), c.refresh.session, c.refresh.counter, c.exchange.website, s.refreshes)
	if err != nil {
		return refreshOut{}, err
	}
	c.exchange.principal = app.Principal{Realm: app.RealmCustomer, CustomerID: session.CustomerID, SessionID: c.refresh.session, StoreID: session.StoreID}
	switch session.Decision {
	case app.RefreshInvalid:
		return refreshOut{}, refreshInvalid()
	case app.RefreshReused:
		c.exchange.log.Warn().Str("customerId", string(session.CustomerID)).Str("sessionId", string(c.refresh.session)).
			Msg("a superseded refresh token came back; all sessions of the customer have ended")
		fallthrough
	case app.RefreshRevoked:
		c.clearRefreshToken(app.RealmCustomer)
		return refreshOut{}, sessionEnded()
	}
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.CustomerID), Email: session.Email, StoreID: session.StoreID, Audience: app.RealmCustomer, SessionID: c.refresh.session,
		ExpiresAt: s.sessionEnd(session.CreatedAt),
	})
	if err != nil {
		return refreshOut{}, err
	}
	c.setRefreshToken(app.RealmCustomer, s.tokens.mintRefresh(app.RealmCustomer, c.refresh.session, session.RefreshCounter), s.tokens.refreshTTL)
	return refreshOut{AccessToken: token}, nil
}
