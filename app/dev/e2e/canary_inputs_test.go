package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/social"
)

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
	command := exec.CommandContext(c.t.Context(), worldOf(c.t).programs.Comanda, "admin", "create-platform-admin",
		"--email", address, "--name", "Canary Administrator")
	command.Env = os.Environ()
	for _, name := range databaseVariables {
		command.Env = append(command.Env, name+"="+worldOf(c.t).infra.Ready.Env[name])
	}
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
