package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of customer sessions.
var (
	registerCustomer = handle("registerCustomer", (*Server).registerCustomer,
		app.CodeNotFound, app.CodeEmailTaken, app.CodeWebsiteSuspended)
	loginCustomer = handle("loginCustomer", (*Server).loginCustomer, app.CodeInvalidCredentials,
		app.CodeWebsiteSuspended)
	refreshCustomer = handle("refreshCustomer", (*Server).refreshCustomer,
		app.CodeTokenInvalid, app.CodeTokenRevoked, app.CodeWebsiteSuspended)
	logoutCustomer = handle("logoutCustomer", (*Server).logoutCustomer)
)

type registerCustomerIn struct {
	StoreID   app.StoreID `json:"storeId" validate:"required,id" store:"any"`
	Email     string      `json:"email" validate:"required,customeremail"`
	Password  app.Secret  `json:"password" validate:"required,newpassword"`
	FirstName string      `json:"firstName" validate:"required,notblank,personname"`
	LastName  string      `json:"lastName" validate:"required,notblank,personname"`
	Phone     string      `json:"phone" validate:"omitempty,phone"`
}

type loginCustomerIn struct {
	StoreID  app.StoreID `json:"storeId" validate:"required,id" store:"any"`
	Email    string      `json:"email" validate:"required,useremail"`
	Password app.Secret  `json:"password" validate:"required,password"`
}

type loginCustomerOut struct {
	AccessToken string       `json:"accessToken"`
	Customer    app.Customer `json:"customer"`
}

// registerCustomer creates an account and logs in. It does not accept an Idempotency-Key: a response with
// tokens must not be stored, and an email can be registered only once.
func (s *Server) registerCustomer(ctx context.Context, c *call, in registerCustomerIn) (loginCustomerOut, error) {
	if err := c.checkPage(); err != nil {
		return loginCustomerOut{}, err
	}
	words, err := s.db.StoreWords(ctx, in.StoreID)
	if err != nil {
		return loginCustomerOut{}, err
	}
	words = append(words, in.Email, in.FirstName, in.LastName)
	if err := checkPassword("password", in.Password, words...); err != nil {
		return loginCustomerOut{}, err
	}
	if err := s.db.CheckStore(ctx, in.StoreID); err != nil {
		return loginCustomerOut{}, err
	}
	if err := s.limitQuotas(ctx, c, in.StoreID); err != nil {
		return loginCustomerOut{}, err
	}
	hash, err := s.passwords.hash(ctx, c, in.Password)
	if err != nil {
		return loginCustomerOut{}, err
	}
	session, err := s.db.RegisterCustomer(ctx, c.now, in.StoreID, c.actor(), identity.NewCustomer{
		Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Phone: in.Phone, PasswordHash: hash,
	}, s.tokens.refreshTTL)
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}

// loginCustomer starts a session. An unknown store or email, a wrong or missing password and a disabled
// customer get the same response in the same time.
func (s *Server) loginCustomer(ctx context.Context, c *call, in loginCustomerIn) (loginCustomerOut, error) {
	if err := c.checkPage(); err != nil {
		return loginCustomerOut{}, err
	}
	refused := app.Errorf(app.CodeInvalidCredentials, "the email or password is incorrect")
	login, err := s.db.CustomerLoginByEmail(ctx, in.StoreID, in.Email)
	if err != nil && app.CodeOf(err) != app.CodeNotFound {
		return loginCustomerOut{}, err
	}
	ok, fresh, err := s.passwords.check(ctx, c, in.Password, login.PasswordHash)
	if err != nil {
		return loginCustomerOut{}, err
	}
	if fault := faultOf(login.Disabled, ok); fault != "" {
		s.customerLoginFailed(c, in.StoreID, login.Customer.ID, fault)
		return loginCustomerOut{}, refused
	}
	session, err := s.db.StartCustomerSession(ctx, c.now, in.StoreID, c.actor(), login, fresh, s.tokens.refreshTTL)
	if app.CodeOf(err) == app.CodeInvalidCredentials { // the password was changed or the customer disabled meanwhile
		s.customerLoginFailed(c, in.StoreID, login.Customer.ID, app.FaultPassword)
		return loginCustomerOut{}, refused
	}
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}

// welcomeCustomer issues the tokens of a new session.
func (s *Server) welcomeCustomer(
	c *call, store app.StoreID, session identity.CustomerSession,
) (loginCustomerOut, error) {
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.Customer.ID), Email: session.Customer.Email, StoreID: store,
		Audience: app.RealmCustomer, SessionID: session.ID,
		ExpiresAt: s.sessionEnd(c.now),
	})
	if err != nil {
		return loginCustomerOut{}, err
	}
	c.exchange.principal = app.Principal{
		Realm: app.RealmCustomer, CustomerID: session.Customer.ID, SessionID: session.ID, StoreID: store,
	}
	c.setRefreshToken(s.tokens.mintRefresh(app.RealmCustomer, session.ID, session.RefreshCounter), s.tokens.refreshTTL)
	return loginCustomerOut{AccessToken: token, Customer: session.Customer.Own()}, nil
}

type logoutCustomerOut struct {
	Message string `json:"message"`
}

// logoutCustomer ends the session and clears its refresh token.
func (s *Server) logoutCustomer(ctx context.Context, c *call, _ noIn) (logoutCustomerOut, error) {
	if err := s.db.EndCustomerSession(ctx, c.now, c.actor(), c.principal); err != nil {
		return logoutCustomerOut{}, err
	}
	c.clearRefreshToken()
	return logoutCustomerOut{Message: "logged out"}, nil
}

// refreshCustomer issues the next tokens of a customer, as refresh does for users.
func (s *Server) refreshCustomer(ctx context.Context, c *call, _ noIn) (refreshOut, error) {
	session, err := s.db.RefreshCustomer(ctx, c.now, c.actor(), c.refresh.session, c.refresh.counter,
		c.exchange.website, s.refreshes)
	if err != nil {
		return refreshOut{}, err
	}
	c.exchange.principal = app.Principal{
		Realm: app.RealmCustomer, CustomerID: session.CustomerID, SessionID: c.refresh.session,
		StoreID: session.StoreID,
	}
	switch session.Decision {
	case app.RefreshInvalid:
		return refreshOut{}, refreshInvalid()
	case app.RefreshReused:
		c.exchange.log.Warn().Str("customerId", string(session.CustomerID)).Str("sessionId", string(c.refresh.session)).
			Msg("superseded refresh token used; all sessions of the customer ended")
		fallthrough
	case app.RefreshRevoked:
		c.clearRefreshToken()
		if session.CustomerID == "" {
			return refreshOut{}, s.limitUnmatched(ctx, c, sessionEnded())
		}
		return refreshOut{}, sessionEnded()
	case app.RefreshSuspended:
		return refreshOut{}, app.WebsiteSuspended()
	}
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.CustomerID), Email: session.Email, StoreID: session.StoreID,
		Audience: app.RealmCustomer, SessionID: c.refresh.session,
		ExpiresAt: s.sessionEnd(session.CreatedAt),
	})
	if err != nil {
		return refreshOut{}, err
	}
	c.setRefreshToken(s.tokens.mintRefresh(app.RealmCustomer, c.refresh.session, session.RefreshCounter),
		s.tokens.refreshTTL)
	return refreshOut{AccessToken: token}, nil
}
