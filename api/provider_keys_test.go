package api

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// New RSA and EC keys are fetched, and withdrawn keys are dropped. Tokens with forged keys cause at most one fetch
// per cooldown.
func TestKeyRotationOfProviders(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	f := w.provider
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	w.must(err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	long := object{"exp": w.now.Add(24 * time.Hour).Unix()}
	w.login(app.ProviderGoogle, f.sign("one", w.claims(long))).ok(200, nil)
	old := f.sign("one", w.claims(long))

	first := maps.Clone(f.keys)
	f.set(func() { f.keys = map[string]crypto.Signer{"two": rsaKey, "three": ecKey} })
	w.login(app.ProviderGoogle, f.sign("two", w.claims(nil))).refused(app.CodeInvalidCredentials) // too soon
	w.now = w.now.Add(keysCooldown)
	w.login(app.ProviderGoogle, f.sign("two", w.claims(nil))).ok(200, nil)
	w.login(app.ProviderGoogle, f.sign("three", w.claims(nil))).ok(200, nil)
	if f.asked != 2 {
		t.Errorf("fetches after a change of keys: got %d, want 2", f.asked)
	}
	w.login(app.ProviderGoogle, old).refused(app.CodeInvalidCredentials)

	forged := newFakeProvider(t)
	for range 50 {
		w.login(app.ProviderGoogle, forged.sign("one", w.claims(nil))).refused(app.CodeInvalidCredentials)
	}
	if f.asked != 2 {
		t.Errorf("fetches after tokens with forged keys: got %d, want 2", f.asked)
	}
	f.set(func() { f.keys = first })
	w.now = w.now.Add(keysLifetime)
	w.login(app.ProviderGoogle, forged.sign("one", w.claims(nil))).refused(app.CodeInvalidCredentials)
	w.login(app.ProviderGoogle, old).ok(200, nil)
}

// Without the keys of a provider, its tokens are refused with UNAVAILABLE. The keys are fetched again later.
func TestProviderUnavailable(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a failure": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/")
			w.WriteHeader(302)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no keys": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
		"a list":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[]`) },
		"100 MB":  func(w http.ResponseWriter, _ *http.Request) { io.CopyN(w, spaces{}, 100<<20) },
		"a short one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProvider(t)
			f.handler = handler
			authorities := x509.NewCertPool()
			authorities.AddCert(f.Certificate())
			now := noon
			p := newProviders(Config{
				Providers: map[app.Provider]Provider{
					app.ProviderGoogle: {Issuer: providerIssuer, JWKSURL: f.keysURL()},
				},
				ProviderCAs: authorities, Now: func() time.Time { return now },
			})[app.ProviderGoogle]
			token := f.sign("one", (&socialWorld{world: &world{now: noon}}).claims(nil))
			for range 3 {
				if _, err := p.verify(t.Context(), token, "", []string{"web"}); app.CodeOf(err) != app.CodeUnavailable {
					t.Errorf("login without keys: got error %v, want %s", err, app.CodeUnavailable)
				}
			}
			if f.asked != 1 {
				t.Errorf("fetches within %v: got %d, want 1", keysRetryAfter, f.asked)
			}
			f.set(func() { f.handler = nil })
			now = now.Add(keysRetryAfter)
			who, err := p.verify(t.Context(), token, "", []string{"web"})
			// go-oidc shares the result of a fetch for a moment after its end, so the last error can be repeated without
			// another fetch.
			for again := 0; err != nil && f.fetches() == 1 && again < 1000; again++ {
				runtime.Gosched()
				who, err = p.verify(t.Context(), token, "", []string{"web"})
			}
			if err != nil || who.Subject != "1234" || !who.Proven {
				t.Errorf("login with keys: got %+v and error %v, want the proven subject 1234", who, err)
			}
		})
	}
}

// fetches returns the number of fetches of the keys.
func (f *fakeProvider) fetches() (n int) {
	f.set(func() { n = f.asked })
	return n
}

// A login that waits for keys ends with its request. Other operations do not wait.
func TestSlowProvider(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	release := make(chan struct{})
	w.provider.handler = func(http.ResponseWriter, *http.Request) { <-release }
	defer close(release)
	p := w.server.providers[app.ProviderGoogle]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.verify(ctx, w.provider.sign("one", w.claims(nil)), "", []string{"web"})
	if err != context.DeadlineExceeded {
		t.Errorf("verify with a deadline: got error %v, want %v", err, context.DeadlineExceeded)
	}
	w.login(app.ProviderGoogle, app.NewSecret("x")).refused(app.CodeInvalidCredentials)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id)).ok(201, nil)
}
