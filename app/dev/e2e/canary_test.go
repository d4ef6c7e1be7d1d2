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
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/social"
)

// TestCanaries puts secrets into every input, valid or not, and then searches for them in every place that stores or
// prints text. Each secret may only be in the responses that issue it.
func TestCanaries(t *testing.T) {
	c := newCanaries(t)
	owner := c.staff()
	c.customers(owner)
	c.platform()
	c.integration(owner)
	c.erase(owner)
	c.mistakes(owner)

	temporal := append(c.temporalTables(), c.histories()...)
	for kind, kept := range map[string][]text{
		"an answer": c.answers, "a log": c.logs(), "a request to the receiver": c.received,
		"the product's database": c.productTables(), "Temporal": temporal,
	} {
		c.search(kind, kept, c.secrets)
	}
	c.search("Temporal", temporal, c.personal)
	c.search("a log", c.logs(), c.erased)
	c.search("the product's database", c.productTables(), c.erased)
	t.Logf("%d secrets, %d responses, %d texts of Temporal", len(c.secrets), len(c.answers), len(temporal))
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
	api      string // its URL
	provider *social.Provider
	output   map[string]func() string // of programs
	admin    []string                 // URLs of health and metrics
	secrets  []canary
	personal []canary // personal data, which histories must not contain either
	erased   []canary // personal data of an erased customer
	answers  []text
	received []text
}

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	c := &canaries{restaurant: newRestaurant(t)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.provider.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{the.tls}}
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	c.provider, err = social.New(server.URL, time.Now)
	must(t, err)

	settings := c.provider.Settings()
	settings["COMANDA_LOG_LEVEL"] = "trace"
	serve, address, err := the.serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	deliverer := worker(t, map[string]string{"COMANDA_LOG_LEVEL": "trace", "COMANDA_RETRY_SCHEDULE": "1s"})
	c.api = address
	c.output = map[string]func() string{"serve": serve.Output, "worker": deliverer.Output, "dev": the.infra.Output}
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
			if kind == "an answer" && slices.Contains(canary.shownBy, n) {
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
) (answer *http.Response, number int) {
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
	answer, err = the.client.Do(request)
	must(c.t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	must(c.t, err)
	c.answers = append(c.answers, text{method + " " + path, fmt.Sprint(answer.Status, answer.Header, string(content))})
	if status != 0 && answer.StatusCode != status {
		c.t.Fatalf("%s %s: got %s, want %d: %s", method, path, answer.Status, status, content)
	}
	if out != nil {
		must(c.t, json.Unmarshal(content, &struct{ Data any }{out}))
	}
	return answer, len(c.answers) - 1
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
	answer, number := c.ask(status, "POST", path, header, body, &data)
	got := tokens{access: data.AccessToken}
	c.keep("an access token of "+whose+" from "+path, got.access, number)
	for _, cookie := range answer.Cookies() {
		got.refresh = cookie.Name + "=" + cookie.Value
		c.keep("a refresh token of "+whose+" from "+path, cookie.Value, number)
	}
	return got
}

func (c *canaries) refresh(whose, path string, from tokens) tokens {
	c.t.Helper()
	return c.login(whose, path, http.Header{"Cookie": {from.refresh}}, nil)
}

// staff logs in the owner and adds another user. It returns the tokens of the owner.
func (c *canaries) staff() tokens {
	const whose, invited = "a user", "invited@canary.example"
	c.keep("the password of the owner", ownerPassword)
	c.private("the address of a user", c.email, invited)
	owner := c.login(whose, "/auth/login", nil, map[string]string{"email": c.email, "password": ownerPassword})
	owner = c.refresh(whose, "/auth/refresh", owner)
	owner.access = c.login(whose, "/auth/switch-store", bearer(owner.access), map[string]any{"storeId": c.store}).access

	var invitation struct{ Token string }
	invite := map[string]string{"email": invited, "name": "Canary Invited", "role": "STAFF"}
	_, number := c.ask(201, "POST", "/users", bearer(owner.access), invite, &invitation)
	c.keep("an invitation's token", invitation.Token, number)
	password := c.password("a user")
	c.login(whose, "/auth/accept-invite", nil, map[string]string{"token": invitation.Token, "password": password})
	joined := c.login(whose, "/auth/login", nil, map[string]string{"email": invited, "password": password})
	c.ask(200, "POST", "/auth/logout", bearer(joined.access), nil, nil)
	c.ask(401, "GET", "/auth/me", bearer(joined.access), nil, nil)
	return owner
}

// customers registers a customer, and logs in another one with a provider.
func (c *canaries) customers(owner tokens) {
	const whose, registered, known = "a customer", "registered@canary.example", "canary.known@gmail.com"
	c.private("the address of a customer", registered, known)
	c.private("the name of a customer", "Cassandra-Canary", "Cyril-Canary")
	password := c.password(whose)
	credentials := map[string]any{"storeId": c.store, "email": registered, "password": password}
	c.login(whose, "/customer-auth/login", nil, c.register(whose, credentials))
	clients := map[string]any{"social": map[string]any{"google": []string{"canary.example"}}}
	c.ask(200, "PATCH", "/website", bearer(owner.access), clients, nil)
	token, err := c.provider.Sign(social.Person{
		Provider: app.ProviderGoogle, ClientID: "canary.example", Email: known, Name: "Cyril-Canary Known",
	})
	must(c.t, err)
	c.keep("an ID token", token)
	body := map[string]any{"storeId": c.store, "provider": "google", "token": token}
	login := c.login(whose, "/customer-auth/social", nil, body)
	login = c.refresh(whose, "/customer-auth/refresh", login)
	c.ask(200, "POST", "/customer-auth/logout", bearer(login.access), nil, nil)
}

// register registers a customer and returns the credentials.
func (c *canaries) register(whose string, credentials map[string]any) map[string]any {
	profile := maps.Clone(credentials)
	profile["firstName"], profile["lastName"], profile["phone"] = "Cassandra-Canary", "Registered", "+4930123456789"
	c.login(whose, "/customer-auth/register", nil, profile)
	return credentials
}

// erase erases the registered customer, and waits until the product's database has no personal data of the customer:
// bodies of events are erased by a job.
func (c *canaries) erase(owner tokens) {
	const email = "registered@canary.example"
	for _, value := range []string{email, "Cassandra-Canary", "+4930123456789"} {
		c.erased = append(c.erased, canary{"personal data of an erased customer", nil, forms(value)})
	}
	var customers []app.Customer
	c.ask(200, "GET", "/customers", bearer(owner.access), nil, &customers)
	at := slices.IndexFunc(customers, func(one app.Customer) bool { return one.Email == email })
	if at < 0 {
		c.t.Fatalf("customers: got %+v, want one with the email %s", customers, email)
	}
	c.wantFound(c.productTables(), "Cassandra-Canary")
	c.ask(204, "DELETE", "/customers/"+string(customers[at].ID), bearer(owner.access), nil, nil)
	eventually(c.t, "the erasure of the customer's events", func() error {
		for _, table := range c.productTables() {
			if strings.Contains(table.what, email) || strings.Contains(table.what, "Cassandra-Canary") {
				return fmt.Errorf("%s has personal data", table.where)
			}
		}
		return nil
	})
}

// platform creates a website as a platform administrator.
func (c *canaries) platform() {
	const whose, address = "an administrator", "administrator@canary.example"
	c.private("the address or name of "+whose, address, "Canary Administrator")
	password := c.password(whose)
	command := exec.CommandContext(c.t.Context(), the.programs.Comanda, "admin", "create-platform-admin",
		"--email", address, "--name", "Canary Administrator")
	command.Env = append(os.Environ(), "DATABASE_URL="+the.infra.Ready.Env["DATABASE_URL"])
	command.Stdin = strings.NewReader(password + "\n")
	out, err := command.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	c.output["create-platform-admin"] = func() string { return string(out) }
	credentials := map[string]string{"email": address, "password": password}
	login := c.refresh(whose, "/auth/refresh", c.login(whose, "/auth/login", nil, credentials))
	var website struct{ Invitation struct{ Token string } }
	_, number := c.ask(201, "POST", "/platform/websites", bearer(login.access), map[string]any{
		"name": "Canary", "domain": "canary.example",
		"owner": map[string]string{"email": "owner@canary.example", "name": "Canary Owner"},
		"store": map[string]any{
			"name": "Canary", "countryCode": "DE", "timezone": "Europe/Berlin",
			"views": []any{map[string]string{"locale": "de-DE", "currency": "EUR"}},
		},
	}, &website)
	c.keep("the token of a website's invitation", website.Invitation.Token, number)
}

// integration creates API keys and a webhook whose receiver fails at first, and places orders.
func (c *canaries) integration(owner tokens) {
	const headerValue = "canary-of-a-webhook-header-7c1f"
	c.keep("a webhook's secret", hookSecret)
	c.keep("the value of a webhook's header", headerValue)
	c.private("the name or address of a guest", "Guste-Canary", "guest@canary.example")
	once := bearer(owner.access)
	var keys []string
	for _, mode := range []string{"live", "test"} {
		body := map[string]any{"name": mode, "scopes": []string{"write:orders", "webhooks:manage"}, "mode": mode}
		var key struct{ ID, Key string }
		once.Set("Idempotency-Key", "canary-"+mode)
		_, number := c.ask(201, "POST", "/api-keys", once, body, &key)
		c.keep("an API key", key.Key, number)
		c.ask(201, "POST", "/api-keys", once, body, nil)
		keys = append(keys, key.Key)
	}
	c.ask(200, "GET", "/api-keys", bearer(owner.access), nil, nil)

	var lock sync.Mutex
	h := newHook(c.t, func(n int, w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		if got := header.Get("Authorization"); got != headerValue {
			c.t.Errorf("header of the webhook: got %q, want %q", got, headerValue)
		}
		header.Del("Authorization")
		lock.Lock()
		c.received = append(c.received, text{r.URL.Path, fmt.Sprint(header)})
		lock.Unlock()
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	var webhook app.Subscription
	body := map[string]any{
		"url": h.url, "events": []string{"order.created"}, "secret": hookSecret,
		"headers": map[string]string{"Authorization": headerValue},
	}
	c.ask(201, "POST", "/webhooks", once, body, &webhook)
	c.ask(201, "POST", "/webhooks", once, body, nil)
	c.ask(200, "GET", "/webhooks/"+string(webhook.ID), bearer(keys[0]), nil, nil)
	order := map[string]any{
		"items": []any{map[string]any{"productId": c.product, "quantity": 1}}, "fulfillmentType": "PICKUP",
		"customer": map[string]string{"name": "Guste-Canary", "email": "guest@canary.example"},
	}
	c.ask(201, "POST", "/orders", bearer(owner.access), order, nil)
	c.ask(201, "POST", "/orders", bearer(keys[0]), order, nil)
	eventually(c.t, "both deliveries", func() error { return c.undelivered(2) })
	for _, one := range h.all(c.t) {
		c.received = append(c.received, text{one.id, one.body})
	}
	if len(c.received) != 6 {
		c.t.Errorf("got %d headers and bodies, want those of three requests", len(c.received))
	}
	c.ask(200, "POST", "/webhooks/"+string(webhook.ID)+"/test", bearer(keys[0]), nil, nil)
	var attempts []app.Attempt
	c.ask(200, "GET", "/webhooks/"+string(webhook.ID)+"/deliveries", bearer(keys[0]), nil, &attempts)
	for _, attempt := range attempts {
		path := "/webhooks/" + string(webhook.ID) + "/deliveries/" + string(attempt.ID)
		c.ask(200, "GET", path, bearer(keys[0]), nil, nil)
	}
}

// mistakes makes requests with secrets in the wrong places.
func (c *canaries) mistakes(owner tokens) {
	for _, secret := range c.secrets {
		value := secret.forms[0]
		escaped := url.PathEscape(value)
		for _, path := range []string{
			"/orders/" + escaped, "/" + escaped + "/x",
			"/products?limit=" + url.QueryEscape(value), "/products?cursor=" + url.QueryEscape(value),
		} {
			c.ask(0, "GET", path, bearer(owner.access), nil, nil)
		}
		c.ask(0, "GET", "/platform/websites", bearer(value), nil, nil)
		c.ask(0, "GET", "/orders/x", http.Header{
			"Authorization": {"Basic " + value}, "X-Request-Id": {value}, "User-Agent": {value},
			"Referer": {"https://x/" + escaped},
		}, nil, nil)
		for _, body := range []any{
			map[string]any{"email": value, "password": value},
			map[string]any{"email": []string{value}, "password": []string{value}},
			`{"email":"a@canary.example","password":"` + value,
			`{"email":"a@canary.example","password":"` + value + `" oops }`,
		} {
			c.ask(0, "POST", "/auth/login", http.Header{"Origin": {"https://" + escaped}}, body, nil)
			c.ask(0, "POST", "/auth/login", nil, body, nil)
		}
		c.ask(0, "POST", "/auth/accept-invite", nil, map[string]string{"token": value, "password": value}, nil)
		for _, provider := range []string{value, "google"} {
			body := map[string]any{"storeId": c.store, "provider": provider, "token": value}
			c.ask(0, "POST", "/customer-auth/social", nil, body, nil)
		}
		c.ask(0, "POST", "/webhooks", bearer(owner.access), map[string]any{
			"url": "https://u:" + escaped + "@canary.example/", "events": []string{value}, "secret": value,
		}, nil)
		c.ask(0, "POST", "/api-keys", bearer(owner.access), map[string]any{
			"name": " ", "scopes": []string{value}, "mode": value,
		}, nil)
	}
	// This comes last: the reuse of a superseded token ends all sessions.
	for _, secret := range c.secrets {
		for _, path := range []string{"/auth/refresh", "/customer-auth/refresh"} {
			value := secret.forms[0]
			cookies := "refreshToken=" + value + "; customerRefreshToken=" + value
			c.ask(0, "POST", path, http.Header{"Cookie": {cookies}}, nil, nil)
		}
	}
	c.ask(401, "GET", "/auth/me", bearer(owner.access), nil, nil)
}
