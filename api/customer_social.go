package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/comanda-dev/comanda/app"
)

// Provider says how one provider's ID tokens are verified. Without client ids it is not
// offered; issuer and keys are the provider's own unless set.
type Provider struct {
	ClientIDs []string
	Issuer    string
	JWKSURL   string
}

// wellKnown is where the providers are.
var wellKnown = map[app.Provider]Provider{
	app.ProviderGoogle:   {Issuer: "https://accounts.google.com", JWKSURL: "https://www.googleapis.com/oauth2/v3/certs"},
	app.ProviderApple:    {Issuer: "https://appleid.apple.com", JWKSURL: "https://appleid.apple.com/auth/keys"},
	app.ProviderFacebook: {Issuer: "https://www.facebook.com", JWKSURL: "https://www.facebook.com/.well-known/oauth/openid/jwks/"},
}

// provider verifies the ID tokens of one provider.
type provider struct {
	name      app.Provider
	clientIDs []string
	issuer    string
	keys      *providerKeys
	config    *oidc.Config
}

func newProviders(c Config) map[app.Provider]*provider {
	providers := map[app.Provider]*provider{}
	for name, given := range c.Providers {
		if len(given.ClientIDs) == 0 {
			continue
		}
		providers[name] = &provider{
			name: name, clientIDs: given.ClientIDs, issuer: cmp.Or(given.Issuer, wellKnown[name].Issuer),
			keys:   newProviderKeys(cmp.Or(given.JWKSURL, wellKnown[name].JWKSURL), c.ProviderCAs, c.Now),
			config: &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}, Now: c.Now},
		}
	}
	return providers
}

// errBadIDToken says no more to the client than that.
var errBadIDToken = app.Errorf(app.CodeInvalidCredentials, "the provider's token is not valid")

// verify returns who an ID token is about. INVALID_CREDENTIALS unless the provider made it,
// for us alone and, if there is a nonce, for this login; UNAVAILABLE while its keys cannot
// be had.
func (p *provider) verify(ctx context.Context, raw app.Secret, nonce string) (app.SocialIdentity, error) {
	keys := &keySet{keys: p.keys}
	token, err := oidc.NewVerifier(p.issuer, keys, p.config).Verify(ctx, raw.Reveal())
	if keys.failed != nil {
		return app.SocialIdentity{}, keys.failed
	}
	if err != nil || token.Subject == "" || len(token.Subject) > 255 ||
		len(token.Audience) != 1 || !slices.Contains(p.clientIDs, token.Audience[0]) || nonce != "" && token.Nonce != nonce {
		return app.SocialIdentity{}, errBadIDToken
	}
	var told struct {
		Email        string `json:"email"`
		Verified     any    `json:"email_verified"` // Apple has it as a string, too
		HostedDomain string `json:"hd"`
		GivenName    string `json:"given_name"`
		FamilyName   string `json:"family_name"`
	}
	if err := token.Claims(&told); err != nil {
		return app.SocialIdentity{}, errBadIDToken
	}
	verified := told.Verified == true || told.Verified == "true"
	who := app.SocialIdentity{
		Provider: p.name, Subject: token.Subject, Email: told.Email, Proven: p.name.Vouches(told.Email, verified, told.HostedDomain),
		FirstName: profileName(told.GivenName), LastName: profileName(told.FamilyName),
	}
	if strings.ContainsRune(who.Subject, 0) || who.Email != "" && newValidator().Var(who.Email, "email,max=254") != nil {
		return app.SocialIdentity{}, errBadIDToken
	}
	return who, nil
}

// profileName makes a name such as registration takes of what a provider tells; "" when
// that cannot be.
func profileName(told string) string {
	if newValidator().Var(told, "notblank,max=100") != nil || strings.ContainsRune(told, 0) {
		return ""
	}
	return told
}

// keySet is a provider's keys for one verification. The verifier tells keys that cannot be
// had and a bad signature apart in words only, so the failure is kept here.
type keySet struct {
	keys   *providerKeys
	failed error
}

// VerifySignature returns the payload of a token whose signature is good.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.keys.current().VerifySignature(ctx, jwt)
	if away, ok := errors.AsType[*keysAway](err); ok {
		k.failed = away
	} else if ctx.Err() != nil {
		k.failed = ctx.Err()
	}
	return payload, err
}

type socialLoginIn struct {
	StoreID  app.StoreID  `json:"storeId" validate:"required,id" store:"any"`
	Provider app.Provider `json:"provider" validate:"required,enum"`
	Token    app.Secret   `json:"token" validate:"required,bytes=16384" description:"The ID token that the provider gave out."`
	Nonce    string       `json:"nonce" validate:"max=255" description:"The nonce for which the token was asked; if given, the token must have it."`
}

// socialLogin begins a session of whom a provider's token is about.
func (s *Server) socialLogin(ctx context.Context, c *call, in socialLoginIn) (loginCustomerOut, error) {
	if err := s.checkPage(ctx, c, in.StoreID); err != nil {
		return loginCustomerOut{}, err
	}
	provider, offered := s.providers[in.Provider]
	if !offered {
		return loginCustomerOut{}, app.Invalid("provider", "is not offered here")
	}
	who, err := provider.verify(ctx, in.Token, in.Nonce)
	if err != nil {
		return loginCustomerOut{}, err
	}
	session, err := s.db.StartSocialSession(ctx, c.now, in.StoreID, who, s.tokens.refreshTTL)
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		return loginCustomerOut{}, errBadIDToken // a disabled customer learns no more than others
	}
	if err != nil {
		return loginCustomerOut{}, err
	}
	return s.welcomeCustomer(c, in.StoreID, session)
}
