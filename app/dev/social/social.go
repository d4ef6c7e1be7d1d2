// Package social plays Google, Apple and Facebook on this machine: whoever asks gets an ID token that says what they
// like. Only an API that was told to trust it does.
package social

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/comanda-dev/comanda/app"
)

// TokenPath is where ID tokens are given out, see [Provider.ServeHTTP].
const TokenPath = "/token"

const (
	keyID = "dev"
	// tokenLife is how long an ID token is good.
	tokenLife = time.Hour
	// maxBody is how many bytes a request may have.
	maxBody = 64 << 10
)

// Provider is all three providers. Its keys are new at each start.
type Provider struct {
	issuer string
	now    func() time.Time
	key    *ecdsa.PrivateKey
	mux    *http.ServeMux
}

// New makes a provider that is served at an HTTPS URL, by which it also calls itself as issuer.
func New(url string, now func() time.Time) (*Provider, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	discovery := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: keyID, Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256},
	}
	discovery.SetIssuer(url)
	p := &Provider{issuer: url, now: now, key: key, mux: http.NewServeMux()}
	p.mux.Handle("GET /", discovery)
	p.mux.HandleFunc("POST "+TokenPath, p.token)
	return p, nil
}

// Settings is the environment of an API that takes its customers' logins from this provider.
func (p *Provider) Settings() map[string]string {
	settings := map[string]string{}
	for _, name := range app.Providers {
		prefix := Setting(name)
		settings[prefix+"CLIENT_IDS"] = clientID(name)
		settings[prefix+"ISSUER"] = p.issuer
		settings[prefix+"JWKS_URL"] = p.issuer + "/keys"
	}
	return settings
}

// Setting is what the names of a provider's settings begin with.
func Setting(name app.Provider) string { return "COMANDA_" + strings.ToUpper(string(name)) + "_" }

// clientID is the audience of a provider's tokens. Each has its own, so that no other's passes for it.
func clientID(name app.Provider) string { return "comanda-dev-" + string(name) }

// ServeHTTP shows the keys and OpenID Connect's discovery document, and answers a POST of [Person] as JSON to
// [TokenPath] with {"idToken":"…"}.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Person is whom an ID token is about. The same address at the same provider is the same person.
type Person struct {
	Provider      app.Provider `json:"provider"`
	Email         string       `json:"email"`
	EmailVerified *bool        `json:"emailVerified"` // nil = true
	Name          string       `json:"name"`          // the first word is the given name; "" = not told
	Nonce         string       `json:"nonce"`         // "" = none
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	var who Person
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&who)
	if err == nil {
		err = who.check()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token, err := p.Sign(who)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"idToken": token}) // if it fails, nobody is left to be told
}

// check says what a token cannot be made of.
func (who Person) check() error {
	if !slices.Contains(app.Providers[:], who.Provider) {
		return fmt.Errorf("provider must be one of %v", app.Providers)
	}
	if address, err := mail.ParseAddress(who.Email); err != nil || address.Address != who.Email {
		return errors.New("email must be an e-mail address")
	}
	return nil
}

// Sign makes an ID token.
func (p *Provider) Sign(who Person) (string, error) {
	subject := sha256.Sum256([]byte(string(who.Provider) + " " + strings.ToLower(who.Email)))
	now := p.now()
	claims := map[string]any{
		"iss": p.issuer, "aud": clientID(who.Provider), "sub": hex.EncodeToString(subject[:10]),
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
		"email": who.Email, "email_verified": who.EmailVerified == nil || *who.EmailVerified,
	}
	given, family, _ := strings.Cut(strings.TrimSpace(who.Name), " ")
	for claim, value := range map[string]string{"given_name": given, "family_name": strings.TrimSpace(family), "nonce": who.Nonce} {
		if value != "" {
			claims[claim] = value
		}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return oidctest.SignIDToken(p.key, keyID, oidc.ES256, string(text)), nil
}
