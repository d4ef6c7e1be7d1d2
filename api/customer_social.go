package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of social logins.
var (
	loginWithProvider = handle("loginWithProvider", (*Server).socialLogin,
		app.CodeInvalidCredentials, app.CodeNotFound, app.CodeAccountLinkRequired, app.CodeWebsiteSuspended)
	linkProvider = handle("linkProvider", (*Server).linkProvider, app.CodeInvalidCredentials, app.CodeConflict)
)

// Provider configures the verification of a provider's ID tokens. Issuer and JWKSURL default to the provider's own.
type Provider struct {
	Issuer  string
	JWKSURL string
}

// wellKnown has the issuers and keys of the providers.
var wellKnown = map[app.Provider]Provider{
	app.ProviderGoogle: {
		Issuer: "https://accounts.google.com", JWKSURL: "https://www.googleapis.com/oauth2/v3/certs",
	},
	app.ProviderApple: {
		Issuer: "https://appleid.apple.com", JWKSURL: "https://appleid.apple.com/auth/keys",
	},
	app.ProviderFacebook: {
		Issuer: "https://www.facebook.com", JWKSURL: "https://www.facebook.com/.well-known/oauth/openid/jwks/",
	},
}

// provider verifies the ID tokens of one provider.
type provider struct {
	name   app.Provider
	issuer string
	keys   *providerKeys
	config *oidc.Config
}

func newProviders(c Config) map[app.Provider]*provider {
	providers := map[app.Provider]*provider{}
	for name, standard := range wellKnown {
		given := c.Providers[name]
		providers[name] = &provider{
			name: name, issuer: cmp.Or(given.Issuer, standard.Issuer),
			keys: newProviderKeys(cmp.Or(given.JWKSURL, standard.JWKSURL), c.ProviderCAs, c.Now),
			config: &oidc.Config{
				SkipClientIDCheck: true, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}, Now: c.Now,
			},
		}
	}
	return providers
}

// errBadIDToken does not say why a token is invalid.
var errBadIDToken = app.Errorf(app.CodeInvalidCredentials, "the provider's token is not valid")

// verify returns the identity in an ID token. It returns INVALID_CREDENTIALS unless the provider issued the token for
// one of the client ids and with exactly this nonce ("" = none), and UNAVAILABLE if the provider's keys cannot be
// fetched.
func (p *provider) verify(
	ctx context.Context, raw app.Secret, nonce string, clientIDs []string,
) (app.SocialIdentity, error) {
	keys := &keySet{keys: p.keys}
	token, err := oidc.NewVerifier(p.issuer, keys, p.config).Verify(ctx, raw.Reveal())
	if keys.failed != nil {
		return app.SocialIdentity{}, keys.failed
	}
	if err != nil || token.Subject == "" || len(token.Subject) > 255 ||
		len(token.Audience) != 1 || !slices.Contains(clientIDs, token.Audience[0]) ||
		token.Nonce != nonce {
		return app.SocialIdentity{}, errBadIDToken
	}
	var claims struct {
		Email        string `json:"email"`
		Verified     any    `json:"email_verified"`
		HostedDomain string `json:"hd"`
		GivenName    string `json:"given_name"`
		FamilyName   string `json:"family_name"`
	}
	if err := token.Claims(&claims); err != nil {
		return app.SocialIdentity{}, errBadIDToken
	}
	verified := claims.Verified == true || claims.Verified == "true"
	person := app.SocialIdentity{
		Provider: p.name, Subject: token.Subject, Email: claims.Email,
		Proven:    p.name.ProvesEmail(claims.Email, verified, claims.HostedDomain),
		FirstName: profileName(claims.GivenName), LastName: profileName(claims.FamilyName),
		Token: app.IDToken{Hash: sha256.Sum256(keys.payload), ExpiresAt: token.Expiry},
	}
	badEmail := person.Email != "" && newValidator().Var(person.Email, "customeremail") != nil
	if badEmail || strings.ContainsRune(person.Subject, 0) {
		return app.SocialIdentity{}, errBadIDToken
	}
	return person, nil
}

// profileName returns the name that a provider gives, "" if registration would refuse it.
func profileName(claim string) string {
	if newValidator().Var(claim, "notblank,personname") != nil || strings.ContainsRune(claim, 0) {
		return ""
	}
	return claim
}

// keySet is a provider's keys for one verification. It keeps the signed claims, and the failure to fetch keys, which
// the verifier distinguishes from a bad signature by its text only.
type keySet struct {
	keys    *providerKeys
	payload []byte // as the provider encoded it
	failed  error
}

// VerifySignature returns the payload of a token with a valid signature.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.keys.current().VerifySignature(ctx, jwt)
	if unavailable, ok := errors.AsType[*keysUnavailable](err); ok {
		k.failed = unavailable
	} else if ctx.Err() != nil {
		k.failed = ctx.Err()
	}
	k.payload = payload
	return payload, err
}

type socialLoginIn struct {
	StoreID  app.StoreID  `json:"storeId" validate:"required,id" store:"any"`
	Provider app.Provider `json:"provider" validate:"required,enum"`
	Token    app.Secret   `json:"token" validate:"required,idtoken"`
	Nonce    string       `json:"nonce" validate:"nonce"`
}

// audiences returns the client ids at a provider that ID tokens for a store must have. It returns NOT_FOUND for an
// unknown store, and VALIDATION_FAILED if the store's website has no client ids at the provider.
func (s *Server) audiences(ctx context.Context, store app.StoreID, name app.Provider) ([]string, error) {
	clientIDs, err := s.db.ClientIDs(ctx, store, name)
	if err == nil && len(clientIDs) == 0 {
		err = app.Invalid("provider", "is not offered by this store")
	}
	return clientIDs, err
}

// verifyIDToken is [provider.verify], which may wait for the provider's keys. The request holds no places meanwhile.
func (s *Server) verifyIDToken(
	ctx context.Context, c *call, of app.Provider, token app.Secret, nonce string, clientIDs []string,
) (person app.SocialIdentity, err error) {
	err = c.places.without(ctx, func() (err error) {
		person, err = s.providers[of].verify(ctx, token, nonce, clientIDs)
		return err
	})
	return person, err
}

// socialLogin starts a session of the customer with the identity in a provider's token.
func (s *Server) socialLogin(ctx context.Context, c *call, in socialLoginIn) (loginCustomerOut, error) {
	if err := c.checkPage(); err != nil {
		return loginCustomerOut{}, err
	}
	clientIDs, err := s.audiences(ctx, in.StoreID, in.Provider)
	if err != nil {
		return loginCustomerOut{}, err
	}
	person, err := s.verifyIDToken(ctx, c, in.Provider, in.Token, in.Nonce, clientIDs)
	if err != nil {
		return loginCustomerOut{}, err
	}
	register := func(ctx context.Context) error { return s.limitQuotas(ctx, c, in.StoreID) }
	session, err := s.db.StartSocialSession(ctx, c.now, in.StoreID, c.actor(), person, s.tokens.refreshTTL, register)
	if refused, ok := errors.AsType[*identity.LoginRefused](err); ok {
		s.customerLoginFailed(c, in.StoreID, refused.Customer, refused.Fault)
		err = refused.Unwrap() // the response names no customer
	}
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		return loginCustomerOut{}, errBadIDToken // the same response for a disabled customer and a used token
	}
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}

type linkProviderIn struct {
	Provider app.Provider `json:"provider" validate:"required,enum"`
	Token    app.Secret   `json:"token" validate:"required,idtoken"`
	Nonce    string       `json:"nonce" validate:"nonce"`
	Password app.Secret   `json:"password" validate:"password"`
}

// linkProvider lets the logged-in customer log in with a provider, too. The password protects the account from a stolen
// access token, which would otherwise open it forever.
func (s *Server) linkProvider(ctx context.Context, c *call, in linkProviderIn) (app.Customer, error) {
	clientIDs, err := s.audiences(ctx, c.principal.StoreID, in.Provider)
	if err != nil {
		return app.Customer{}, err
	}
	login, err := s.confirmLink(ctx, c, in.Password)
	if err != nil {
		return app.Customer{}, err
	}
	person, err := s.verifyIDToken(ctx, c, in.Provider, in.Token, in.Nonce, clientIDs)
	if err != nil {
		return app.Customer{}, err
	}
	err = s.db.LinkIdentity(ctx, c.now, c.principal, c.actor(), login, person)
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		return app.Customer{}, errBadIDToken // the same response for a used token
	}
	return login.Customer.Own(), err
}

// confirmLink checks the password of the logged-in customer, if the account has one. The request counts against the
// account's budget.
func (s *Server) confirmLink(
	ctx context.Context, c *call, password app.Secret,
) (identity.CustomerLogin, error) {
	login, err := s.db.CustomerLoginOf(ctx, c.principal.StoreID, c.principal.CustomerID)
	switch given := password.Len() > 0; {
	case err != nil:
		return login, err
	case login.PasswordHash == "" && given:
		return login, app.Invalid("password", "must be absent, because the account has no password")
	case login.PasswordHash == "":
		return login, s.limitAccount(ctx, c, string(c.principal.StoreID), app.NormalEmail(login.Customer.Email))
	case !given:
		return login, app.Invalid("password", "is required, because the account has a password")
	}
	return s.confirmCustomerPassword(ctx, c, password)
}
