package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of users who log in.
var (
	login = handle("login", (*Server).login, app.CodeInvalidCredentials, app.CodeOTPRequired,
		app.CodeStoreMismatch,
		app.CodeWebsiteSuspended)
	getCurrentUser = handle("getCurrentUser", (*Server).me)
	listStores     = handle("listStores", (*Server).stores)
)

// authenticate sets the principal of a call. It looks up the session, the user and the membership, or the
// API key, for every request, so that changes apply immediately.
func (s *Server) authenticate(ctx context.Context, c *call) error {
	switch c.route.Permission {
	case public:
		return nil
	case byRefreshToken:
		if err := s.readRefreshToken(c); err != nil {
			return s.limitUnmatched(ctx, c, err)
		}
		return nil
	}
	raw, err := bearer(c.request.Header)
	if err != nil {
		return err
	}
	if strings.HasPrefix(raw, "svc_") { // an API key; tokens do not begin with this prefix
		if !c.route.accepts(app.RealmTenant) { // API keys are for tenant endpoints only
			return app.TokenInvalid()
		}
		key := app.NewSecret(raw)
		err = s.identify(ctx, c, func() (app.Principal, error) { return s.db.AuthenticateKey(ctx, c.now, key) })
		// A malformed key cannot be a guess and costs no statement.
		if _, wellFormed := app.HashAPIKey(key); wellFormed && app.CodeOf(err) == app.CodeTokenInvalid {
			return s.limitUnknown(ctx, c, err)
		}
		return err
	}
	token, err := s.tokens.parse(c.now, raw, c.route.Realms)
	if err != nil {
		return err
	}
	err = s.identify(ctx, c, func() (app.Principal, error) {
		if token.Audience == app.RealmCustomer {
			return s.db.AuthenticateCustomer(ctx, token.SessionID, app.CustomerID(token.Subject), token.StoreID)
		}
		return s.db.Authenticate(ctx, token.SessionID, app.UserID(token.Subject), token.StoreID)
	})
	if err == nil && s.refreshes.TooOld(c.principal.LoggedInAt, c.now) {
		return sessionEnded()
	}
	return err
}

// identify sets the principal of a call and of its exchange, for the log and for CORS.
func (s *Server) identify(ctx context.Context, c *call, find func() (app.Principal, error)) error {
	err := s.work.run(ctx, s.work.lookupLimits(c), func() (err error) {
		c.principal, err = find()
		return err
	})
	c.exchange.principal = c.principal
	if err == nil {
		c.exchange.keepToOwnCustomers()
	}
	return err
}

// sessionEnd returns the latest expiry of access tokens of a session that began at a time, in Unix seconds;
// 0 if the age of sessions is unlimited.
func (s *Server) sessionEnd(began time.Time) int64 {
	end, ok := s.refreshes.End(began)
	if !ok {
		return 0
	}
	return end.Unix()
}

func sessionEnded() error {
	return app.Errorf(app.CodeTokenRevoked, "the session has ended; log in again")
}

// authorize checks that the principal has the permission of the route and, if they are required, one-time passwords and
// a recent proof of identity.
func (s *Server) authorize(_ context.Context, c *call) error {
	if !c.route.byAccessToken() {
		return nil
	}
	p := c.principal
	required := p.Realm == app.RealmTenant && p.RequireOTP || p.Realm == app.RealmPlatform && s.adminOTP
	if required && !p.OTP && c.route.requiresOTP() {
		return app.OTPSetupRequired()
	}
	if err := p.Can(c.route.Permission); err != nil {
		return err
	}
	if c.route.Proof && c.now.After(app.ProofEnd(p.ProvenAt)) {
		return app.ReauthenticationRequired()
	}
	return nil
}

// bearer returns the credential of the one Authorization header.
func bearer(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", app.TokenInvalid()
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", app.TokenInvalid()
	}
	return credential, nil
}

type loginIn struct {
	Email    string      `json:"email" validate:"required,useremail"`
	Password app.Secret  `json:"password" validate:"required,password"`
	StoreID  app.StoreID `json:"storeId" validate:"omitempty,id" store:"any"`
	OTP      app.Secret  `json:"otp" validate:"onetimepassword"`
}

type loginOut struct {
	AccessToken string           `json:"accessToken"`
	User        app.User         `json:"user"`
	Stores      []app.StoreEntry `json:"stores"`
}

// login starts a session. An unknown email, a wrong password, a disabled user and a user without a store
// get the same response in the same time.
func (s *Server) login(ctx context.Context, c *call, in loginIn) (loginOut, error) {
	refused := badCredentials()
	login, err := s.db.LoginByEmail(ctx, in.Email)
	if err != nil && app.CodeOf(err) != app.CodeNotFound {
		return loginOut{}, err
	}
	ok, fresh, err := s.passwords.check(ctx, c, in.Password, login.PasswordHash)
	if err != nil {
		return loginOut{}, err
	}
	if fault := faultOf(login.Disabled, ok); fault != "" {
		s.loginFailed(c, login.User, fault)
		return loginOut{}, refused
	}
	if fresh != "" {
		if err := s.db.SetPasswordHash(ctx, login.User.ID, login.PasswordHash, fresh); err != nil {
			return loginOut{}, err
		}
	}
	proof, err := s.proof(ctx, c, login.User.ID, cmp.Or(fresh, login.PasswordHash), in.OTP)
	if err != nil {
		return loginOut{}, err
	}
	session, err := s.db.StartSession(ctx, c.now, c.actor(), login.User, proof, in.StoreID, s.tokens.refreshTTL)
	if err == nil {
		return s.loggedIn(c, login.User, session)
	}
	if s.otpFailed(c, login.User, err) {
		return loginOut{}, err
	}
	switch app.CodeOf(err) {
	case app.CodeNotFound, app.CodeInvalidCredentials:
		return loginOut{}, refused
	case app.CodeStoreMismatch:
		s.loginFailed(c, login.User, app.FaultStore)
	case app.CodeWebsiteSuspended:
		s.loginFailed(c, login.User, app.FaultSuspended)
	}
	return loginOut{}, err
}

// badCredentials returns the error of every failed login.
func badCredentials() error {
	return app.Errorf(app.CodeInvalidCredentials, "the email or password is incorrect")
}

// loggedIn issues the tokens of a new session of a user.
func (s *Server) loggedIn(c *call, user app.User, session identity.Session) (loginOut, error) {
	realm := user.Realm()
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role, Audience: realm,
		SessionID: session.ID,
		ExpiresAt: s.sessionEnd(c.now),
	})
	if err != nil {
		return loginOut{}, err
	}
	c.exchange.principal = app.Principal{
		Realm: realm, UserID: user.ID, SessionID: session.ID, StoreID: session.StoreID,
	}
	c.setRefreshToken(s.tokens.mintRefresh(realm, session.ID, session.RefreshCounter), s.tokens.refreshTTL)
	return loginOut{AccessToken: token, User: user, Stores: session.Stores}, nil
}

type noIn struct{}

// stores lists the same stores as the response of login.
func (s *Server) stores(ctx context.Context, c *call, _ noIn) (list[app.StoreEntry, totalMeta], error) {
	found, err := s.db.Stores(ctx, c.principal.UserID)
	return list[app.StoreEntry, totalMeta]{found, totalMeta{Total: len(found), RequestID: c.exchange.id}}, err
}

type meOut struct {
	User  meUser            `json:"user"`
	Store *app.StoreContext `json:"store,omitempty"`
}

type meUser struct {
	ID         app.UserID `json:"id"`
	Email      string     `json:"email"`
	Name       string     `json:"name"`
	OTPEnabled bool       `json:"otpEnabled"`
}

func (s *Server) me(ctx context.Context, c *call, _ noIn) (meOut, error) {
	user, store, err := s.db.Me(ctx, c.principal)
	return meOut{User: meUser{user.ID, user.Email, user.Name, c.principal.OTP}, Store: store}, err
}
