package social

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// newProvider serves a provider.
func newProvider(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	provider, err := New(server.URL, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = provider
	return server
}

func post(t *testing.T, server *httptest.Server, body string) (status int, text string) {
	t.Helper()
	response, err := server.Client().Post(server.URL+TokenPath, "application/x-www-form-urlencoded", strings.NewReader(body)) // as curl -d says
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer.String()
}

// TestTokens: a relying party that knows the issuer alone, as discovery would have it, takes the tokens.
func TestTokens(t *testing.T) {
	t.Parallel()
	server := newProvider(t)
	ctx := oidc.ClientContext(t.Context(), server.Client())
	found, err := oidc.NewProvider(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string]string{}
	for body, want := range map[string]map[string]any{
		`{"provider":"google","email":"ada@gmail.com","name":" Ada King  Lovelace "}`: {
			"email": "ada@gmail.com", "email_verified": true, "given_name": "Ada", "family_name": "King  Lovelace",
		},
		`{"provider":"apple","email":"ada@gmail.com","emailVerified":false,"nonce":"n-1"}`: {
			"email": "ada@gmail.com", "email_verified": false, "nonce": "n-1",
		},
	} {
		status, text := post(t, server, body)
		var answer struct{ IDToken string }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, status, text)
		}
		var person Person
		if err := json.Unmarshal([]byte(body), &person); err != nil {
			t.Fatal(err)
		}
		token, err := found.Verifier(&oidc.Config{ClientID: clientID(person.Provider)}).Verify(ctx, answer.IDToken)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var claims map[string]any
		if err := token.Claims(&claims); err != nil {
			t.Fatal(err)
		}
		subjects[token.Subject] = body
		for _, claim := range []string{"iss", "aud", "sub", "iat", "exp"} {
			delete(claims, claim)
		}
		if diff := cmp.Diff(want, claims); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if len(subjects) != 2 {
		t.Errorf("two providers, one subject: %v", subjects)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	server := newProvider(t)
	for body, says := range map[string]string{
		``:  "EOF",
		`{`: "unexpected EOF",
		`{"provider":"google","email":"ada@gmail.com","sub":"1"}`:              `unknown field "sub"`,
		`{"provider":"myspace","email":"ada@gmail.com"}`:                       "provider must be one of [google apple facebook]",
		`{"provider":"google"}`:                                                "email must be",
		`{"provider":"google","email":"Ada <ada@gmail.com>"}`:                  "email must be",
		`{"provider":"google","email":"` + strings.Repeat("x", maxBody) + `"}`: "too large",
	} {
		if status, text := post(t, server, body); status != http.StatusBadRequest || !strings.Contains(text, says) {
			t.Errorf("%.60s: %d %s", body, status, text)
		}
	}
}

// TestSettings: each of the three is configured, and none with another's audience.
func TestSettings(t *testing.T) {
	t.Parallel()
	p, err := New("https://localhost:1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	settings := p.Settings()
	audiences := map[string]bool{}
	for _, name := range app.Providers {
		audiences[settings[Setting(name)+"CLIENT_IDS"]] = true
	}
	if len(audiences) != 3 || len(settings) != 9 || settings["COMANDA_APPLE_JWKS_URL"] != "https://localhost:1/keys" {
		t.Errorf("%v", settings)
	}
}
