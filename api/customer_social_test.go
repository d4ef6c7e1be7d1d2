package api

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// noIDToken has the form of an ID token and nothing in it.
const noIDToken = "eyJhbGciOiJSUzI1NiJ9.e30.AA"

// fakeProvider signs ID tokens and shows its keys, or whatever else answer does.
type fakeProvider struct {
	*httptest.Server
	mu     sync.Mutex
	keys   map[string]crypto.Signer // by kid
	asked  int
	answer http.HandlerFunc // nil = the keys
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
		answer := f.answer
		f.mu.Unlock()
		if answer == nil {
			answer = f.showKeys
		}
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeProvider) showKeys(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	encoded := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	keys := []object{}
	for kid, key := range f.keys {
		switch public := key.Public().(type) {
		case *rsa.PublicKey:
			keys = append(keys, object{"kty": "RSA", "kid": kid, "alg": "RS256", "n": encoded(public.N.Bytes()), "e": encoded(big.NewInt(int64(public.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, err := public.Bytes()
			must(err)
			keys = append(keys, object{"kty": "EC", "kid": kid, "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:])})
		}
	}
	must(json.NewEncoder(w).Encode(object{"keys": keys}))
}

// set changes what the provider answers.
func (f *fakeProvider) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// sign makes an ID token with one of the keys, whatever the header says.
func (f *fakeProvider) sign(kid string, claims map[string]any) app.Secret {
	f.mu.Lock()
	defer f.mu.Unlock()
	var method jwt.SigningMethod = jwt.SigningMethodRS256
	if _, ok := f.keys[kid].(*ecdsa.PrivateKey); ok {
		method = jwt.SigningMethodES256
	}
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	token.Header["kid"] = kid
	signed, err := token.SignedString(f.keys[kid])
	must(err)
	return app.NewSecret(signed)
}

// socialWorld is a world with all three providers played by one.
type socialWorld struct {
	*world
	provider *fakeProvider
	server   *Server
}

func newSocialWorld(t *testing.T) *socialWorld {
	t.Helper()
	w := &socialWorld{world: newWorld(t), provider: newFakeProvider(t)}
	authorities := x509.NewCertPool()
	authorities.AddCert(w.provider.Certificate())
	w.server = w.serverOn(w.db.DB, func(c *Config) {
		c.ProviderCAs, c.Providers = authorities, map[app.Provider]Provider{}
		for _, name := range app.Providers {
			c.Providers[name] = Provider{ClientIDs: []string{"web", "app"}, Issuer: providerIssuer, JWKSURL: w.provider.URL}
		}
	})
	return w
}

// claims are what the provider says of Ada, in part changed; nil takes one out.
func (w *socialWorld) claims(change object) map[string]any {
	return altered(map[string]any{
		"iss": providerIssuer, "aud": "web", "sub": "1234", "exp": w.now.Add(time.Hour).Unix(), "iat": w.now.Unix(),
		"email": "ada@gmail.com", "email_verified": true, "given_name": "Ada", "family_name": "Lovelace",
	}, change)
}

func (w *socialWorld) login(provider app.Provider, token app.Secret) *answer {
	w.Helper()
	return w.loginWith(object{"provider": provider, "token": token.Reveal()})
}

func (w *socialWorld) loginWith(body object) *answer {
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
	want := app.Customer{ID: first.Customer.ID, Email: "ada@gmail.com", FirstName: "Ada", LastName: "Lovelace"}
	if diff := cmp.Diff(want, first.Customer); diff != "" {
		t.Error(diff)
	}
	refresh := w.checkCustomerLogin(a, own, first)
	for _, secret := range []string{token.Reveal(), first.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("%.12s… is in the log", secret)
		}
	}
	// The subject identifies, whatever the address is now; at another provider it is another's.
	w.login(app.ProviderGoogle, w.provider.sign("one", w.claims(object{"email": "other@example.com", "email_verified": false}))).ok(200, &again)
	w.login(app.ProviderApple, w.provider.sign("one", w.claims(object{"email": "grace@example.com"}))).ok(200, &apple)
	if again.Customer != first.Customer || apple.Customer.ID == first.Customer.ID {
		t.Errorf("%+v and %+v", again.Customer, apple.Customer)
	}
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 2 {
		t.Errorf("%d events", n)
	}
	// An account without a password has none; a second store knows nobody.
	w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": "ada@gmail.com", "password": "-"}).refused(app.CodeInvalidCredentials)
	var elsewhere loginCustomerOut
	w.loginWith(object{"storeId": w.stores["sibling"].id, "provider": "google", "token": token.Reveal()}).ok(200, &elsewhere)
	if elsewhere.Customer.ID == first.Customer.ID {
		t.Error("two stores share a customer")
	}
	w.loginWith(object{"storeId": "sto_none", "provider": "google", "token": token.Reveal()}).refused(app.CodeNotFound)
	w.exec("UPDATE customers SET disabled_at = now() WHERE id = $1", first.Customer.ID)
	w.login(app.ProviderGoogle, token).refused(app.CodeInvalidCredentials)
}

func TestBadIDTokens(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	stranger := newFakeProvider(t)
	good := w.provider.sign("one", w.claims(nil)).Reveal()
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + good[strings.Index(good, "."):strings.LastIndex(good, ".")] + "."
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
		a := w.login(app.ProviderGoogle, app.NewSecret(token))
		a.what = name
		seen[a.refused(app.CodeInvalidCredentials).same()] = name
	}
	if len(seen) != 1 {
		t.Errorf("the answers differ: %q", seen)
	}
	for name, c := range map[string]struct {
		body  object
		paths string
	}{
		"nothing":                     {object{"storeId": nil}, "storeId|provider|token"},
		"an unknown provider":         {object{"provider": "myspace", "token": good}, "provider"},
		"a token of another kind":     {object{"provider": "google", "token": 1}, "token"},
		"a long token":                {object{"provider": "google", "token": strings.Repeat("x", 16385)}, "token"},
		"a long nonce":                {object{"provider": "google", "token": good, "nonce": strings.Repeat("x", 256)}, "nonce"},
		"an address":                  {object{"provider": "google", "token": good, "email": "a@example.com"}, "email"},
		"somebody without an address": {object{"provider": "google", "token": signed(object{"email": nil})}, "token"},
	} {
		a := w.loginWith(c.body)
		a.what = name
		a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
	}
	w.do("POST", "/customer-auth/social", "", object{"storeId": "sto_1", "provider": "google", "token": good}).refused(app.CodeValidationFailed, "provider")
}

func TestNonce(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	with := w.provider.sign("one", w.claims(object{"nonce": "n-1"})).Reveal()
	without := w.provider.sign("one", w.claims(nil)).Reveal()
	for _, c := range []struct {
		token, nonce string
		ok           bool
	}{{with, "n-1", true}, {with, "n-2", false}, {without, "n-1", false}, {without, "", true}, {with, "", true}} {
		a := w.loginWith(object{"provider": "google", "token": c.token, "nonce": c.nonce})
		if c.ok {
			a.ok(200, nil)
		} else {
			a.refused(app.CodeInvalidCredentials)
		}
	}
}

// TestLinking: an account of the same address is joined only where the provider vouches for
// it, and what somebody may have planted there before is gone.
func TestLinking(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	register := func(email string) (data loginCustomerOut) {
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email})).ok(201, &data)
		return data
	}
	logsIn := func(email string) bool {
		return w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": email, "password": password}).Code == 200
	}
	for name, c := range map[string]struct {
		provider app.Provider
		claims   object
		linked   bool
	}{
		"gmail":                {app.ProviderGoogle, object{"email": "1@gmail.com"}, true},
		"a hosted domain":      {app.ProviderGoogle, object{"email": "2@example.com", "hd": "example.com"}, true},
		"in another case":      {app.ProviderGoogle, object{"email": "3@GMAIL.com"}, true},
		"somewhere else":       {app.ProviderGoogle, object{"email": "4@example.com"}, false},
		"gmail, not verified":  {app.ProviderGoogle, object{"email": "5@gmail.com", "email_verified": false}, false},
		"Apple's text":         {app.ProviderApple, object{"email": "6@example.com", "email_verified": "true"}, true},
		"Apple's other text":   {app.ProviderApple, object{"email": "7@example.com", "email_verified": "false"}, false},
		"Facebook's silence":   {app.ProviderFacebook, object{"email": "8@example.com", "email_verified": nil}, false},
		"a number is no proof": {app.ProviderFacebook, object{"email": "9@example.com", "email_verified": 1}, false},
	} {
		email := strings.ToLower(c.claims["email"].(string))
		planted := register(email)
		order := "/orders/" + string(w.orderOf("own", planted.Customer.ID).ID)
		claims := w.claims(altered(c.claims, object{"sub": name}))
		for member, value := range c.claims {
			if value == nil {
				delete(claims, member)
			}
		}
		a := w.login(c.provider, w.provider.sign("one", claims))
		a.what = name
		if !c.linked {
			a.refused(app.CodeAccountLinkRequired)
			w.do("GET", order, planted.AccessToken, nil).ok(200, nil)
			if !logsIn(email) {
				t.Errorf("%s: a refused link has dropped the password", name)
			}
			continue
		}
		var data loginCustomerOut
		a.ok(200, &data)
		if data.Customer.ID != planted.Customer.ID {
			t.Errorf("%s: %+v", name, data.Customer)
		}
		w.do("GET", order, planted.AccessToken, nil).refused(app.CodeTokenRevoked)
		w.do("GET", order, data.AccessToken, nil).ok(200, nil)
		if logsIn(email) {
			t.Errorf("%s: a password from before the proof still opens the account", name)
		}
	}
}

// TestProvenAccountsKeepWhatTheyHave: a second provider joins, the first and the sessions stay;
// but a login that was there before any proof goes.
func TestProvenAccountsKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	signed := func(change object) app.Secret { return w.provider.sign("one", w.claims(change)) }
	var google, apple, facebook loginCustomerOut
	w.login(app.ProviderGoogle, signed(nil)).ok(200, &google)
	order := "/orders/" + string(w.orderOf("own", google.Customer.ID).ID)
	w.login(app.ProviderApple, signed(nil)).ok(200, &apple)
	if apple.Customer.ID != google.Customer.ID {
		t.Errorf("two accounts: %+v, %+v", google.Customer, apple.Customer)
	}
	for _, token := range []string{google.AccessToken, apple.AccessToken} {
		w.do("GET", order, token, nil).ok(200, nil)
	}

	victim := object{"email": "victim@example.com", "email_verified": false, "sub": "attacker"}
	w.login(app.ProviderFacebook, signed(victim)).ok(200, &facebook)
	planted := "/orders/" + string(w.orderOf("own", facebook.Customer.ID).ID)
	w.login(app.ProviderApple, signed(object{"email": "victim@example.com", "sub": "victim"})).ok(200, nil)
	w.do("GET", planted, facebook.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.login(app.ProviderFacebook, signed(victim)).refused(app.CodeAccountLinkRequired)
}

func TestSocialLoginsAtOnce(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	token := w.provider.sign("one", w.claims(nil))
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { w.login(app.ProviderGoogle, token).ok(200, nil) })
	}
	wait.Wait()
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 || w.provider.asked != 1 {
		t.Errorf("%d events, %d fetches", n, w.provider.asked)
	}
}

// TestKeyRotationOfProviders: new keys are found, of either kind, withdrawn ones forgotten, and
// tokens with made-up keys cost one fetch in a while.
func TestKeyRotationOfProviders(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	f := w.provider
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	w.must(err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	old := f.sign("one", w.claims(object{"exp": w.now.Add(24 * time.Hour).Unix()}))
	w.login(app.ProviderGoogle, old).ok(200, nil)

	first := maps.Clone(f.keys)
	f.set(func() { f.keys = map[string]crypto.Signer{"two": rsaKey, "three": ecKey} })
	w.login(app.ProviderGoogle, f.sign("two", w.claims(nil))).refused(app.CodeInvalidCredentials) // too soon
	w.now = w.now.Add(keysCooldown)
	w.login(app.ProviderGoogle, f.sign("two", w.claims(nil))).ok(200, nil)
	w.login(app.ProviderGoogle, f.sign("three", w.claims(nil))).ok(200, nil)
	if f.asked != 2 {
		t.Errorf("%d fetches", f.asked)
	}
	w.login(app.ProviderGoogle, old).refused(app.CodeInvalidCredentials)

	forged := newFakeProvider(t)
	for range 50 {
		w.login(app.ProviderGoogle, forged.sign("one", w.claims(nil))).refused(app.CodeInvalidCredentials)
	}
	if f.asked != 2 {
		t.Errorf("%d fetches after made-up keys", f.asked)
	}
	f.set(func() { f.keys = first })
	w.now = w.now.Add(keysLifetime)
	w.login(app.ProviderGoogle, forged.sign("one", w.claims(nil))).refused(app.CodeInvalidCredentials)
	w.login(app.ProviderGoogle, old).ok(200, nil)
}

// TestProviderAway: without its keys there is no social login, and everything else works.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a failure":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a redirect": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/"); w.WriteHeader(302) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no keys":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
		"a list":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[]`) },
		"100 MB":     func(w http.ResponseWriter, _ *http.Request) { io.CopyN(w, spaces{}, 100<<20) },
		"a short one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProvider(t)
			f.answer = answer
			authorities := x509.NewCertPool()
			authorities.AddCert(f.Certificate())
			now := noon
			p := newProviders(Config{
				Providers:   map[app.Provider]Provider{app.ProviderGoogle: {ClientIDs: []string{"web"}, Issuer: providerIssuer, JWKSURL: f.URL}},
				ProviderCAs: authorities, Now: func() time.Time { return now },
			})[app.ProviderGoogle]
			token := f.sign("one", (&socialWorld{world: &world{now: noon}}).claims(nil))
			for range 3 {
				if _, err := p.verify(t.Context(), token, ""); app.CodeOf(err) != app.CodeUnavailable {
					t.Errorf("%v", err)
				}
			}
			if f.asked != 1 {
				t.Errorf("%d fetches", f.asked)
			}
			f.set(func() { f.answer = nil })
			now = now.Add(keysRetryAfter)
			who, err := p.verify(t.Context(), token, "")
			// go-oidc shares a fetch for a moment beyond its end, so the last refusal can
			// come once more; it asks the provider nothing.
			for again := 0; err != nil && f.fetches() == 1 && again < 1000; again++ {
				runtime.Gosched()
				who, err = p.verify(t.Context(), token, "")
			}
			if err != nil || who.Subject != "1234" || !who.Proven {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

// fetches is how often the keys were asked for.
func (f *fakeProvider) fetches() (n int) {
	f.set(func() { n = f.asked })
	return n
}

// TestSlowProvider: who waits for keys does not wait for ever.
func TestSlowProvider(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	release := make(chan struct{})
	w.provider.answer = func(http.ResponseWriter, *http.Request) { <-release }
	defer close(release)
	p := w.server.providers[app.ProviderGoogle]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.verify(ctx, w.provider.sign("one", w.claims(nil)), ""); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	w.login(app.ProviderGoogle, app.NewSecret("x")).refused(app.CodeInvalidCredentials)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id)).ok(201, nil)
}
