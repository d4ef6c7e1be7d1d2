// Package e2e tests the real programs with a real PostgreSQL and a real Temporal server.
package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// world is shared by all tests that call needWorld: the infrastructure and one API. Each test starts its own workers,
// so the tests run one after another.
type world struct {
	programs harness.Programs
	infra    *harness.Infra
	api      string
	client   *http.Client
	tls      tls.Certificate // of the development CA, for receivers
	db       *persistence.DB
	temporal client.Client
	fragile  bool // a test replaced the shared world
}

var the world

// fixture builds the programs and starts the shared world when the first test needs them.
var fixture struct {
	dir            string
	built, started sync.Once
	buildErr       error
	startErr       error
	stop           func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if fixture.dir, err = os.MkdirTemp("", "comanda-e2e-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(fixture.dir)
	fixture.stop = func() {}
	defer func() { fixture.stop() }()
	return m.Run()
}

// needPrograms builds the programs for a test that starts its own infrastructure.
func needPrograms(t *testing.T) {
	t.Helper()
	fixture.built.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // a first build of Temporal takes minutes
		defer cancel()
		the.programs, fixture.buildErr = harness.Build(ctx, fixture.dir)
	})
	must(t, fixture.buildErr)
}

// needWorld starts the shared world, unless the test runs in a fragile world. The functions that create restaurants,
// receivers and workers call it. Without PostgreSQL, the test is skipped, but in CI it fails.
func needWorld(t *testing.T) {
	t.Helper()
	if the.fragile {
		return
	}
	needPrograms(t)
	fixture.started.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		fixture.stop, fixture.startErr = the.start(ctx, fixture.dir)
	})
	err := fixture.startErr
	if err != nil && os.Getenv("CI") != "true" && strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) {
		t.Skip(err)
	}
	must(t, err)
}

// start starts the infrastructure and an API. The returned function stops all started processes, also after an error.
func (w *world) start(ctx context.Context, dir string) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	graceful := func(p *harness.Process) func() {
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := p.Stop(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another user
		return stop, err
	}
	if w.infra, err = w.programs.StartInfra(ctx, filepath.Join(dir, "data")); err != nil {
		return stop, err
	}
	stops = append(stops, graceful(w.infra.Process))
	if err := w.connect(); err != nil {
		return stop, err
	}
	stops = append(stops, w.temporal.Close, func() { w.db.Close() })
	serve, url, err := w.serve(ctx, nil)
	if err != nil {
		return stop, err
	}
	w.api = url
	stops = append(stops, graceful(serve))
	return stop, nil
}

func (w *world) connect() error {
	env := w.infra.Ready.Env
	authority, err := os.ReadFile(w.infra.Ready.CAFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	w.client = &http.Client{Timeout: 30 * time.Second, Transport: transport}
	if w.tls, err = tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"]); err != nil {
		return err
	}
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return err
	}
	w.db, err = persistence.Open(persistence.Config{URL: env["DATABASE_URL"], Sealer: keyring.Sealer()})
	if err != nil {
		return err
	}
	quiet := temporallog.NewStructuredLogger(slogDiscard())
	w.temporal, err = client.Dial(client.Options{
		HostPort: env["TEMPORAL_ADDRESS"], Namespace: env["TEMPORAL_NAMESPACE"], Logger: quiet,
	})
	return err
}

// serve starts an API on a free port and returns its URL.
func (w *world) serve(ctx context.Context, settings map[string]string) (*harness.Process, string, error) {
	address, err := harness.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	all := map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": "https://" + address,
		"COMANDA_AUTH_RATE_LIMIT": "1000",   // each restaurant logs in from here
		"COMANDA_API_RATE":        "100000", // and sends all of its requests with few credentials
		"COMANDA_API_BURST":       "100000",
	}
	for k, v := range settings {
		all[k] = v
	}
	process, err := w.programs.StartComanda(ctx, w.infra, "serve", all)
	return process, "https://" + address, err
}

// worker starts a worker, which ends at the end of the test at the latest.
func worker(t *testing.T, settings map[string]string) *harness.Process {
	t.Helper()
	needWorld(t)
	process, err := the.programs.StartComanda(t.Context(), the.infra, "worker", settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	return process
}

// restaurant is a website with one store and the client of its logged-in owner.
type restaurant struct {
	*comanda.Client

	t       *testing.T
	email   string // of the owner
	store   app.StoreID
	product app.ProductID
}

const ownerPassword = "a password of the tests"

func newRestaurant(t *testing.T) *restaurant {
	t.Helper()
	needWorld(t)
	now := time.Now()
	domain := string(app.NewID[app.WebsiteID](now))
	website := persistence.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}
	_, stores, err := the.db.CreateWebsite(t.Context(), now, website, persistence.NewStore{
		Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin",
		Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}},
	})
	must(t, err)
	hash, err := api.HashPassword(app.NewSecret(ownerPassword))
	must(t, err)
	email := "owner@" + domain + ".example"
	_, err = the.db.CreateUser(t.Context(), now, persistence.NewUser{
		Email: email, Name: "Owner", PasswordHash: hash, Roles: map[app.StoreID]app.Role{stores[0]: app.RoleOwner},
	})
	must(t, err)
	pizza := app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}
	product, err := the.db.CreateProduct(t.Context(), now, stores[0], pizza, nil)
	must(t, err)
	r := &restaurant{t: t, email: email, store: stores[0], product: product.ID}
	r.login(the.api)
	return r
}

// newClient returns a client of the API at a URL. It repeats no request, so that tests see each refusal.
func newClient(t *testing.T, url, key string) *comanda.Client {
	t.Helper()
	c, err := comanda.New(url, comanda.Config{APIKey: key, HTTP: the.client, MaxRetries: -1})
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
	request, err := http.NewRequestWithContext(r.t.Context(), method, the.api+path, bytes.NewReader(encoded))
	must(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.AccessToken())
	response, err := the.client.Do(request)
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
		Items:           []comanda.OrderItemRequest{{ProductID: string(r.product), Quantity: 2}},
		FulfillmentType: comanda.FulfillmentTypePickup,
		Customer:        &comanda.GuestRequest{Name: "Ada Lovelace"},
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
		const waiting = "SELECT count(*) FROM outbox WHERE store_id = $1 AND dispatched_at IS NULL"
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually calls try until it returns no error. After 90 s, or ten minutes with -long, it fails the test with the
// last error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	patience := 90 * time.Second
	if *long {
		patience = 10 * time.Minute
	}
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var errNotYet = errors.New("not yet")
