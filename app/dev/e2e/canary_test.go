package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app/dev/social"
)

// TestCanaries puts secrets into every input, valid or not, and then searches for them in every place that stores or
// prints text. Each secret may only be in the responses that issue it.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := newCanaries(t)
	owner := c.staff()
	c.customers(owner)
	c.platform()
	c.integration(owner)
	c.erase(owner)
	c.mistakes(owner)

	temporal := append(c.temporalTables(), c.histories()...)
	for kind, kept := range map[string][]text{
		"a response": c.responses, "a log": c.logs(), "a request to the receiver": c.received,
		"the product's database": c.productTables(), "Temporal": temporal,
	} {
		c.search(kind, kept, c.secrets)
	}
	c.search("Temporal", temporal, c.personal)
	c.search("a log", c.logs(), c.erased)
	c.search("the product's database", c.productTables(), c.erased)
	t.Logf("%d secrets, %d responses, %d texts of Temporal", len(c.secrets), len(c.responses), len(temporal))
}

// canary is a secret that may only be in the responses that issue it.
type canary struct {
	name    string
	shownBy []int // numbers of these responses
	forms   []string
}

// canaries is a restaurant in an installation all of whose secrets are recorded.
type canaries struct {
	*restaurant
	api       string // its URL
	provider  *social.Provider
	output    map[string]func() string // of programs
	admin     []string                 // URLs of health and metrics
	secrets   []canary
	personal  []canary // personal data, which histories must not contain either
	erased    []canary // personal data of an erased customer
	responses []text
	received  []text
}

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	c := &canaries{restaurant: newRestaurant(t)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.provider.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{worldOf(t).tls}}
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	c.provider, err = social.New(server.URL, time.Now)
	must(t, err)

	settings := c.provider.Settings()
	settings["COMANDA_LOG_LEVEL"] = "trace"
	serve, address, err := worldOf(t).serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	deliverer := worker(t, map[string]string{"COMANDA_LOG_LEVEL": "trace", "COMANDA_RETRY_SCHEDULE": "1s"})
	c.api = address
	c.output = map[string]func() string{"serve": serve.Output, "worker": deliverer.Output, "dev": worldOf(t).infra.Output}
	c.admin = []string{serve.Admin, deliverer.Admin}
	return c
}

// password returns a new password.
func (c *canaries) password(whose string) string {
	password := "canary-" + rand.Text()
	c.keep("the password of "+whose, password)
	return password
}

// keep records a secret and the responses that issue it.
func (c *canaries) keep(name, value string, shownBy ...int) {
	c.t.Helper()
	if len(value) < 16 {
		c.t.Fatalf("%s: got %q, want at least 16 characters to search for", name, value)
	}
	for i := range c.secrets { // access tokens of one session and one second are the same
		if c.secrets[i].forms[0] == value {
			c.secrets[i].shownBy = append(c.secrets[i].shownBy, shownBy...)
			return
		}
	}
	secret := canary{name, shownBy, forms(value)}
	if parts := strings.Split(value, "."); len(parts) == 3 { // a token: its signature alone is secret too
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		must(c.t, err)
		secret.forms = append(secret.forms, parts[2], string(signature), hex.EncodeToString(signature))
	}
	c.secrets = append(c.secrets, secret)
}

// private records personal data, which must not reach Temporal.
func (c *canaries) private(name string, values ...string) {
	for _, value := range values {
		c.personal = append(c.personal, canary{name, nil, forms(value)})
	}
}

// forms returns the encodings of a text, alone or within another text.
func forms(value string) []string {
	all := []string{value, hex.EncodeToString([]byte(value)), url.QueryEscape(value), url.PathEscape(value)}
	for offset := range 3 {
		padded := append(make([]byte, offset), value...)
		encoded := base64.RawStdEncoding.EncodeToString(padded)[(offset*8+5)/6 : len(padded)*8/6]
		all = append(all, encoded, strings.NewReplacer("+", "-", "/", "_").Replace(encoded))
	}
	return all
}

// search fails the test for each canary that it finds in texts.
func (c *canaries) search(kind string, texts []text, wanted []canary) {
	c.t.Helper()
	if len(texts) == 0 {
		c.t.Errorf("%s: got no texts, want some to search", kind)
	}
	for n, text := range texts {
		for _, canary := range wanted {
			if kind == "a response" && slices.Contains(canary.shownBy, n) {
				continue
			}
			for _, form := range canary.forms {
				if at := strings.Index(text.what, form); at >= 0 {
					c.t.Errorf("%s is in %s, %s: …%.300q", canary.name, kind, text.where, text.what[max(0, at-150):])
					break
				}
			}
		}
	}
}

// tokens are the tokens that a login issues.
type tokens struct{ access, refresh string }

// ask makes a request, records the response and returns its number. It decodes the data into out.
func (c *canaries) ask(
	status int, method, path string, header http.Header, body, out any,
) (response *http.Response, number int) {
	c.t.Helper()
	encoded, raw := body.(string)
	if body != nil && !raw {
		text, err := json.Marshal(body)
		must(c.t, err)
		encoded = string(text)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.api+path, strings.NewReader(encoded))
	must(c.t, err)
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	response, err = worldOf(c.t).client.Do(request)
	must(c.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(c.t, err)
	what := fmt.Sprint(response.Status, response.Header, string(content))
	c.responses = append(c.responses, text{method + " " + path, what})
	if status != 0 && response.StatusCode != status {
		c.t.Fatalf("%s %s: got %s, want %d: %s", method, path, response.Status, status, content)
	}
	if out != nil {
		must(c.t, json.Unmarshal(content, &struct{ Data any }{out}))
	}
	return response, len(c.responses) - 1
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// login makes a request whose response contains tokens, and records them.
func (c *canaries) login(whose, path string, header http.Header, body any) tokens {
	c.t.Helper()
	status := 200
	if strings.HasSuffix(path, "/register") {
		status = 201
	}
	var data struct{ AccessToken string }
	response, number := c.ask(status, "POST", path, header, body, &data)
	got := tokens{access: data.AccessToken}
	c.keep("an access token of "+whose+" from "+path, got.access, number)
	for _, cookie := range response.Cookies() {
		got.refresh = cookie.Name + "=" + cookie.Value
		c.keep("a refresh token of "+whose+" from "+path, cookie.Value, number)
	}
	return got
}

func (c *canaries) refresh(whose, path string, from tokens) tokens {
	c.t.Helper()
	return c.login(whose, path, http.Header{"Cookie": {from.refresh}}, nil)
}
