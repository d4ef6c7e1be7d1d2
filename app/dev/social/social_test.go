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

// newProvider returns a server of a new provider.
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
	const mediaType = "application/x-www-form-urlencoded" // as curl -d sends it
	response, err := server.Client().Post(server.URL+TokenPath, mediaType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var received bytes.Buffer
	if _, err := received.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, received.String()
}

// TestTokens checks that a relying party that uses discovery accepts the tokens.
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
		`{"provider":"google","clientId":"g","email":"ada@gmail.com","name":" Ada King  Lovelace "}`: {
			"email": "ada@gmail.com", "email_verified": true, "given_name": "Ada", "family_name": "King  Lovelace",
		},
		`{"provider":"apple","clientId":"a","email":"ada@gmail.com","emailVerified":false,"nonce":"n-1"}`: {
			"email": "ada@gmail.com", "email_verified": false, "nonce": "n-1",
		},
	} {
		t.Run(body, func(t *testing.T) {
			status, text := post(t, server, body)
			var issued struct{ IDToken string }
			if err := json.Unmarshal([]byte(text), &issued); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %s", body, status, text)
			}
			var person Person
			if err := json.Unmarshal([]byte(body), &person); err != nil {
				t.Fatal(err)
			}
			token, err := found.Verifier(&oidc.Config{ClientID: person.ClientID}).Verify(ctx, issued.IDToken)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			var claims map[string]any
			if err := token.Claims(&claims); err != nil {
				t.Fatal(err)
			}
			subjects[token.Subject] = body
			for _, claim := range []string{"iss", "aud", "sub", "iat", "exp", "jti"} {
				delete(claims, claim)
			}
			if diff := cmp.Diff(want, claims); diff != "" {
				t.Errorf("%s (-want +got):\n%s", body, diff)
			}
		})
	}
	if len(subjects) != 2 {
		t.Errorf("got subjects %v, want a different one for each provider", subjects)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	server := newProvider(t)
	for body, want := range map[string]string{
		``:  "EOF",
		`{`: "unexpected EOF",
		`{"provider":"google","email":"ada@gmail.com","sub":"1"}`:              `unknown field "sub"`,
		`{"provider":"myspace","email":"ada@gmail.com"}`:                       "one of [google apple facebook]",
		`{"provider":"google","email":"ada@gmail.com"}`:                        "clientId must be",
		`{"provider":"google","clientId":"g"}`:                                 "email must be",
		`{"provider":"google","clientId":"g","email":"Ada <ada@gmail.com>"}`:   "email must be",
		`{"provider":"google","email":"` + strings.Repeat("x", maxBody) + `"}`: "too large",
	} {
		if status, text := post(t, server, body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%.60s: got %d %s, want 400 and %q", body, status, text, want)
		}
	}
}

// TestSettings checks that each provider is configured, and that each website has separate audiences.
func TestSettings(t *testing.T) {
	t.Parallel()
	p, err := New("https://localhost:1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	audiences := map[string]bool{}
	for _, domain := range []string{"one.example", "two.example"} {
		ids := ClientIDs(domain)
		for _, name := range app.Providers {
			audiences[(*ids.Of(name))[0]] = true
		}
	}
	settings := p.Settings()
	if len(audiences) != 6 || len(settings) != 6 || settings["COMANDA_APPLE_JWKS_URL"] != "https://localhost:1/keys" {
		t.Errorf("got %v and %v", audiences, settings)
	}
}
