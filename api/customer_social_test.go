package api

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// noIDToken has the form of an ID token, with empty claims.
const noIDToken = "eyJhbGciOiJSUzI1NiJ9.e30.AA"

// fakeProvider signs ID tokens and serves its keys, or responds with handler if it is set.
type fakeProvider struct {
	*httptest.Server
	mu      sync.Mutex
	keys    map[string]crypto.Signer // by kid
	asked   int
	handler http.HandlerFunc // nil = the keys
}

const providerIssuer = "https://accounts.test"

func newFakeProvider(t *testing.T) *fakeProvider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	f := &fakeProvider{keys: map[string]crypto.Signer{"one": key}}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked++
		handler := f.handler
		f.mu.Unlock()
		if handler == nil {
			handler = f.showKeys
		}
		handler(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeProvider) showKeys(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var server oidctest.Server
	for kid, key := range f.keys {
		server.PublicKeys = append(server.PublicKeys,
			oidctest.PublicKey{PublicKey: key.Public(), KeyID: kid, Algorithm: algorithm(key)})
	}
	server.ServeHTTP(w, r)
}

func algorithm(key crypto.Signer) string {
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		return oidc.ES256
	}
	return oidc.RS256
}

// keysURL returns the URL of the keys.
func (f *fakeProvider) keysURL() string { return f.URL + "/keys" }

// set changes the provider under its lock.
func (f *fakeProvider) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// sign returns an ID token signed with one of the keys.
func (f *fakeProvider) sign(kid string, claims map[string]any) app.Secret {
	f.mu.Lock()
	defer f.mu.Unlock()
	encoded, err := json.Marshal(claims)
	must(err)
	return app.NewSecret(oidctest.SignIDToken(f.keys[kid], kid, algorithm(f.keys[kid]), string(encoded)))
}

// socialWorld is a world in which one fake is all three providers.
type socialWorld struct {
	*world
	provider *fakeProvider
	server   *Server
	issued   atomic.Int64 // tokens, so that each has different claims
}

func newSocialWorld(t *testing.T) *socialWorld {
	t.Helper()
	w := &socialWorld{world: newWorld(t), provider: newFakeProvider(t)}
	authorities := x509.NewCertPool()
	authorities.AddCert(w.provider.Certificate())
	w.server = w.serverOn(w.db.DB, func(c *Config) {
		c.ProviderCAs, c.Providers = authorities, map[app.Provider]Provider{}
		for _, name := range app.Providers {
			c.Providers[name] = Provider{Issuer: providerIssuer, JWKSURL: w.provider.keysURL()}
		}
	})
	w.clientIDs("own", "web", "app")
	return w
}

// clientIDs gives the website of a store the same client ids at every provider.
func (w *world) clientIDs(store string, ids ...string) {
	w.Helper()
	_, err := w.db.ChangeClientIDs(w.Context(), w.now, app.Actor{}, w.stores[store].website,
		app.ClientIDs{Google: ids, Apple: ids, Facebook: ids})
	w.must(err)
}

// claims returns the provider's claims about Ada with changes; nil removes a claim.
func (w *socialWorld) claims(change object) map[string]any {
	return altered(map[string]any{
		"iss": providerIssuer, "aud": "web", "sub": "1234", "exp": w.now.Add(time.Hour).Unix(), "iat": w.now.Unix(),
		"email": "ada@gmail.com", "email_verified": true, "given_name": "Ada", "family_name": "Lovelace",
		"jti": strconv.FormatInt(w.issued.Add(1), 10),
	}, change)
}

func (w *socialWorld) login(provider app.Provider, token app.Secret) *response {
	w.Helper()
	return w.loginWith(object{"provider": provider, "token": token.Reveal()})
}

func (w *socialWorld) loginWith(body object) *response {
	w.Helper()
	return w.doOn(w.server, "POST", "/customer-auth/social", "", altered(object{"storeId": w.stores["own"].id}, body))
}

func TestSocialLogin(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var first, again, apple loginCustomerOut
	token := w.provider.sign("one", w.claims(nil))
	a := w.login(app.ProviderGoogle, token).ok(200, &first)
	want := app.Customer{ID: first.Customer.ID, Email: "ada@gmail.com", FirstName: "Ada", LastName: "Lovelace",
		StoreID: w.stores["own"].id, Kind: app.CustomerRegistered, Version: 1, CreatedAt: app.At(noon),
		UpdatedAt: app.At(noon)}
	if diff := cmp.Diff(want, first.Customer); diff != "" {
		t.Errorf("customer (-want +got):\n%s", diff)
	}
	refresh := w.checkCustomerLogin(a, own, first)
	for _, secret := range []string{token.Reveal(), first.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log contains a secret that begins with %.12s", secret)
		}
	}
	// The subject of a provider identifies the customer, even if the email changes.
	w.login(app.ProviderGoogle, w.provider.sign("one",
		w.claims(object{"email": "other@example.com", "email_verified": false}))).ok(200, &again)
	w.login(app.ProviderApple, w.provider.sign("one", w.claims(object{"email": "grace@example.com"}))).ok(200, &apple)
	if !cmp.Equal(again.Customer, first.Customer) || apple.Customer.ID == first.Customer.ID {
		t.Errorf("customers: got %+v at Google and %+v at Apple, want %+v and another one", again.Customer, apple.Customer,
			first.Customer)
	}
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 2 {
		t.Errorf("events customer.created: got %d, want 2", n)
	}
	// An account without a password refuses each password. Another store has its own customers.
	w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": "ada@gmail.com", "password": "-"}).
		refused(app.CodeInvalidCredentials)
	var elsewhere loginCustomerOut
	token = w.provider.sign("one", w.claims(nil))
	w.loginWith(object{"storeId": w.stores["sibling"].id, "provider": "google", "token": token.Reveal()}).
		ok(200, &elsewhere)
	if elsewhere.Customer.ID == first.Customer.ID {
		t.Errorf("customer of the sibling store: got %s, want another id", elsewhere.Customer.ID)
	}
	w.loginWith(object{"storeId": "sto_none", "provider": "google", "token": token.Reveal()}).refused(app.CodeNotFound)
	w.exec("UPDATE customers SET disabled_at = now() WHERE id = $1", first.Customer.ID)
	w.login(app.ProviderGoogle, w.provider.sign("one", w.claims(nil))).refused(app.CodeInvalidCredentials)
}

func TestBadIDTokens(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	stranger := newFakeProvider(t)
	good := w.provider.sign("one", w.claims(nil)).Reveal()
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + good[strings.Index(good,
		"."):strings.LastIndex(good, ".")] + "."
	public, err := x509.MarshalPKIXPublicKey(w.provider.keys["one"].Public())
	w.must(err)
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(w.claims(nil)))
	confused, err := hmac.SignedString(public)
	w.must(err)
	signed := func(change object) string { return w.provider.sign("one", w.claims(change)).Reveal() }
	seen := map[string]string{}
	for name, token := range map[string]string{
		"of another audience":          signed(object{"aud": "somebody else"}),
		"of no audience":               signed(object{"aud": nil}),
		"of an empty list":             signed(object{"aud": []string{}}),
		"for us and another":           signed(object{"aud": []string{"web", "somebody else"}}),
		"for us twice":                 signed(object{"aud": []string{"web", "app"}}),
		"of another issuer":            signed(object{"iss": "https://evil.test"}),
		"of no issuer":                 signed(object{"iss": nil}),
		"expired":                      signed(object{"exp": w.now.Add(-time.Second).Unix()}),
		"without an end":               signed(object{"exp": nil}),
		"of tomorrow":                  signed(object{"nbf": w.now.Add(time.Hour).Unix()}),
		"of nobody":                    signed(object{"sub": nil}),
		"of a long subject":            signed(object{"sub": strings.Repeat("x", 256)}),
		"of NUL":                       signed(object{"sub": "a\x00b"}),
		"with a list for address":      signed(object{"email": []string{"a@example.com"}}),
		"with an address that is none": signed(object{"email": "ada"}),
		"signed by another":            stranger.sign("one", w.claims(nil)).Reveal(),
		"unsigned":                     unsigned,
		"keyed with a public key":      confused,
		"altered":                      strings.Replace(good, ".ey", ".eY", 1),
		"no token":                     "x", "nothing in it": noIDToken,
		"our own": w.tokens["OWNER"],
	} {
		w.run(name, func(t *testing.T) {
			a := w.login(app.ProviderGoogle, app.NewSecret(token))
			seen[a.refused(app.CodeInvalidCredentials).same()] = name
		})
	}
	if len(seen) != 1 {
		t.Errorf("responses: got %q, want the same one for all tokens", seen)
	}
	for name, c := range map[string]struct {
		body  object
		paths string
	}{
		"nothing":                 {object{"storeId": nil}, "storeId|provider|token"},
		"an unknown provider":     {object{"provider": "myspace", "token": good}, "provider"},
		"a token of another kind": {object{"provider": "google", "token": 1}, "token"},
		"a long token":            {object{"provider": "google", "token": strings.Repeat("x", 16385)}, "token"},
		"a long nonce": {
			object{"provider": "google", "token": good, "nonce": strings.Repeat("x", 256)}, "nonce",
		},
		"an address":                  {object{"provider": "google", "token": good, "email": "a@example.com"}, "email"},
		"somebody without an address": {object{"provider": "google", "token": signed(object{"email": nil})}, "token"},
	} {
		w.run(name, func(t *testing.T) {
			w.loginWith(c.body).refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
		})
	}
	w.loginWith(object{"storeId": w.stores["foreign"].id, "provider": "google", "token": good}).
		refused(app.CodeValidationFailed, "provider") // whose website has no client ids
}

func TestNonce(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	for _, c := range []struct {
		signed any // nil = none
		nonce  string
		ok     bool
	}{
		{"n-1", "n-1", true}, {"n-1", "n-2", false}, {"n-1", "N-1", false}, {"n-1", "", false},
		{nil, "n-1", false}, {nil, "", true}, {"", "", true},
	} {
		token := w.provider.sign("one", w.claims(object{"nonce": c.signed})).Reveal()
		a := w.loginWith(object{"provider": "google", "token": token, "nonce": c.nonce})
		a.what = fmt.Sprintf("nonce %v and %q", c.signed, c.nonce)
		if c.ok {
			a.ok(200, nil)
		} else {
			a.refused(app.CodeInvalidCredentials)
		}
	}
}
