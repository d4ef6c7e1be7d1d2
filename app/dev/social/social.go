// Package social is a mock of the login providers Google, Apple and Facebook. It issues ID tokens with any claims that
// a client requests, so only an API of a development machine may trust it.
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

// TokenPath is the path that issues ID tokens, see [Provider.ServeHTTP].
const TokenPath = "/token"

const (
	keyID = "dev"
	// tokenLife is the validity of an ID token.
	tokenLife = time.Hour
	// maxBody is the largest body of a request, in bytes.
	maxBody = 64 << 10
)

// Provider serves all three providers. Each Provider has a new signing key.
type Provider struct {
	issuer string
	now    func() time.Time
	key    *ecdsa.PrivateKey
	mux    *http.ServeMux
}

// New returns a provider. url is the HTTPS URL at which it is served, and the issuer of its tokens.
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

// Settings returns the environment of an API that accepts tokens of this provider for customer logins.
func (p *Provider) Settings() map[string]string {
	settings := map[string]string{}
	for _, name := range app.Providers {
		prefix := Setting(name)
		settings[prefix+"ISSUER"] = p.issuer
		settings[prefix+"JWKS_URL"] = p.issuer + "/keys"
	}
	return settings
}

// Setting returns the prefix of the environment variables of a provider.
func Setting(name app.Provider) string { return "COMANDA_" + strings.ToUpper(string(name)) + "_" }

// ClientIDs returns the client ids of the demo website with a domain. All of them differ, so that a token for one
// provider or website is not valid for another.
func ClientIDs(domain string) app.ClientIDs {
	var ids app.ClientIDs
	for _, name := range app.Providers {
		*ids.Of(name) = []string{string(name) + "." + domain}
	}
	return ids
}

// ServeHTTP serves the keys and the discovery document of OpenID Connect. A POST to [TokenPath] with a [Person] as JSON
// returns {"idToken":"…"}.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Person is the subject of an ID token. The same email at the same provider is the same subject.
type Person struct {
	Provider      app.Provider `json:"provider"`
	ClientID      string       `json:"clientId"` // of the website at the provider: the audience of the token
	Email         string       `json:"email"`
	EmailVerified *bool        `json:"emailVerified"` // nil = true
	Name          string       `json:"name"`          // the first word is the given name; "" = no name claims
	Nonce         string       `json:"nonce"`         // "" = none
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	var person Person
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&person)
	if err == nil {
		err = person.check()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token, err := p.Sign(person)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"idToken": token}) // an error means that the client has gone
}

// check returns an error if the request is invalid.
func (person Person) check() error {
	if !slices.Contains(app.Providers[:], person.Provider) {
		return fmt.Errorf("provider must be one of %v", app.Providers)
	}
	if person.ClientID == "" {
		return errors.New("clientId must be a client id of the website, for example google.trattoria.example")
	}
	if address, err := mail.ParseAddress(person.Email); err != nil || address.Address != person.Email {
		return errors.New("email must be a valid email address")
	}
	return nil
}

// Sign returns an ID token.
func (p *Provider) Sign(person Person) (string, error) {
	subject := sha256.Sum256([]byte(string(person.Provider) + " " + strings.ToLower(person.Email)))
	now := p.now()
	claims := map[string]any{
		"iss": p.issuer, "aud": person.ClientID, "sub": hex.EncodeToString(subject[:10]),
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "jti": rand.Text(),
		"email": person.Email, "email_verified": person.EmailVerified == nil || *person.EmailVerified,
	}
	given, family, _ := strings.Cut(strings.TrimSpace(person.Name), " ")
	for claim, value := range map[string]string{
		"given_name": given, "family_name": strings.TrimSpace(family), "nonce": person.Nonce,
	} {
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
