package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// restaurant is a website with one store and the client of its logged-in owner.
type restaurant struct {
	*comanda.Client

	t       *testing.T
	email   string // of the owner
	store   app.StoreID
	product app.ProductID
}

const ownerPassword = "a password of the tests"

// ownerHash returns the hash of the password. It is computed once, because that takes a tenth of a second.
var ownerHash = sync.OnceValues(func() (string, error) { return api.HashPassword(app.NewSecret(ownerPassword)) })

func newRestaurant(t *testing.T) *restaurant {
	t.Helper()
	now := time.Now()
	domain := string(app.NewID[app.WebsiteID](now))
	website := identity.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}
	_, stores, err := worldOf(t).db.CreateWebsite(t.Context(), now, website, identity.NewStore{
		Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin",
		Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}},
	})
	must(t, err)
	hash, err := ownerHash()
	must(t, err)
	email := "owner@" + domain + ".example"
	_, err = worldOf(t).db.CreateUser(t.Context(), now, identity.NewUser{
		Email: email, Name: "Owner", PasswordHash: hash, Roles: map[app.StoreID]app.Role{stores[0]: app.RoleOwner},
	})
	must(t, err)
	pizza := app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}
	product, err := worldOf(t).db.CreateProduct(t.Context(), now, stores[0], pizza, nil)
	must(t, err)
	r := &restaurant{t: t, email: email, store: stores[0], product: product.ID}
	r.login(worldOf(t).api)
	return r
}

// newClient returns a client of the API at a URL. It repeats no request, so that tests see each refusal.
func newClient(t *testing.T, url, key string) *comanda.Client {
	t.Helper()
	c, err := comanda.New(url, comanda.Config{APIKey: key, HTTP: worldOf(t).client, MaxRetries: -1})
	must(t, err)
	return c
}

// login logs the owner in at the API at a URL, which gets all further requests.
func (r *restaurant) login(url string) {
	r.t.Helper()
	r.Client = newClient(r.t, url, "")
	_, err := r.Login(r.t.Context(), comanda.LoginRequest{Email: r.email, Password: ownerPassword})
	must(r.t, err)
}

// moveTo sends all further requests to the API at another URL.
func (r *restaurant) moveTo(url string) { r.Client = newClient(r.t, url, r.AccessToken()) }

// want makes a request whose response must have a status, and decodes its data into out. It is for tests that compare
// the members of a response with those of an event, also the members that the client does not know.
func (r *restaurant) want(status int, method, path string, body, out any) {
	r.t.Helper()
	var encoded []byte
	if body != nil {
		var err error
		encoded, err = json.Marshal(body)
		must(r.t, err)
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, worldOf(r.t).api+path, bytes.NewReader(encoded))
	must(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.AccessToken())
	response, err := worldOf(r.t).client.Do(request)
	must(r.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(r.t, err)
	if response.StatusCode != status {
		r.t.Fatalf("%s %s: got status %d, want %d: %s", method, path, response.StatusCode, status, text)
	}
	if out != nil {
		must(r.t, json.Unmarshal(text, &struct{ Data any }{out}))
	}
}

// wantCode checks the code of a refusal.
func wantCode(t *testing.T, what string, err error, want comanda.ErrorCode) {
	t.Helper()
	if refused, ok := errors.AsType[*comanda.Error](err); !ok || refused.Code != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
	}
}

func (r *restaurant) order() *comanda.Order {
	r.t.Helper()
	order, err := r.PlaceOrder(r.t.Context(), r.newOrder())
	must(r.t, err)
	return order
}

func (r *restaurant) newOrder() comanda.PlaceOrderRequest {
	return comanda.PlaceOrderRequest{
		Items:           []comanda.OrderItemRequest{{ProductID: new(string(r.product)), Quantity: 2}},
		FulfillmentType: comanda.FulfillmentTypePickup,
		Customer:        comanda.Set(comanda.GuestRequest{Name: "Ada Lovelace", Email: new("ada@example.com")}),
	}
}

func (r *restaurant) changeStatus(order *comanda.Order, to comanda.OrderStatus) {
	r.t.Helper()
	_, err := r.UpdateOrderStatus(r.t.Context(), order.ID, comanda.ChangeOrderStatusRequest{Status: to})
	must(r.t, err)
}

func (r *restaurant) subscribe(h *hook, events ...comanda.SubscribableEventType) *comanda.Webhook {
	r.t.Helper()
	if events == nil {
		events = []comanda.SubscribableEventType{comanda.SubscribableEventTypeOrderCreated}
	}
	s, err := r.CreateWebhook(r.t.Context(), comanda.CreateWebhookRequest{
		URL: h.url, Events: events, Secret: hookSecret,
	})
	must(r.t, err)
	return s
}

func (r *restaurant) changeWebhook(s *comanda.Webhook, change comanda.ChangeWebhookRequest) {
	r.t.Helper()
	_, err := r.UpdateWebhook(r.t.Context(), s.ID, change)
	must(r.t, err)
}

func (r *restaurant) replayDelivery(d comanda.Delivery) {
	r.t.Helper()
	_, err := r.ReplayDelivery(r.t.Context(), d.ID)
	must(r.t, err)
}

// awaitDispatch waits until all events of the store are dispatched. Dispatch, not the commit, matches events with
// webhooks.
func (r *restaurant) awaitDispatch() {
	r.t.Helper()
	eventually(r.t, "all events are dispatched", func() error {
		const waiting = "SELECT count(*) FROM undispatched WHERE store_id = $1"
		if n := count(r.t, waiting, r.store); n > 0 {
			return fmt.Errorf("%d events are not dispatched", n)
		}
		return nil
	})
}

// delivery waits until the store has exactly one delivery that satisfies a condition, and returns it.
func (r *restaurant) delivery(what string, satisfied func(comanda.Delivery) bool) comanda.Delivery {
	r.t.Helper()
	var list []comanda.Delivery
	eventually(r.t, what, func() error {
		list = r.deliveries(comanda.ListDeliveriesParams{})
		if len(list) != 1 || !satisfied(list[0]) {
			return fmt.Errorf("deliveries: %+v", list)
		}
		return nil
	})
	return list[0]
}

// deliveries returns the first page of a list of deliveries.
func (r *restaurant) deliveries(params comanda.ListDeliveriesParams) []comanda.Delivery {
	r.t.Helper()
	list, err := r.ListDeliveries(r.t.Context(), params)
	must(r.t, err)
	return list.Data
}

func withStatus(status comanda.DeliveryStatus) func(comanda.Delivery) bool {
	return func(d comanda.Delivery) bool { return d.Status == status }
}

// workflowOf returns the id of the workflow of a delivery outside of bursts.
func workflowOf(d comanda.Delivery) string {
	return app.DeliveryWorkflowID(app.EventID(d.EventID), app.SubscriptionID(d.WebhookID))
}

// attempts returns the attempts of a webhook, oldest first.
func (r *restaurant) attempts(webhook string) []comanda.Attempt {
	r.t.Helper()
	list, err := r.ListDeliveryAttempts(r.t.Context(), webhook, comanda.ListDeliveryAttemptsParams{Limit: 100})
	must(r.t, err)
	slices.Reverse(list.Data)
	return list.Data
}

// undelivered returns an error unless n deliveries are delivered.
func (r *restaurant) undelivered(n int) error {
	r.t.Helper()
	var count int
	err := worldOf(r.t).db.System().DB.QueryRowContext(r.t.Context(),
		"SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = 'delivered'", r.store).Scan(&count)
	if err != nil || count != n {
		return fmt.Errorf("%d of %d deliveries are delivered, error %v", count, n, err)
	}
	return nil
}
