package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

const (
	issuer        = "https://api.test"
	webhookSecret = "a secret that nobody may ever see"
)

// world is a server with a database of its own: one website with two stores, "own" and
// "sibling", and another with the store "foreign".
type world struct {
	*testing.T
	db     *persistencetest.Database
	server *Server
	log    *logBuffer
	now    time.Time // the server's clock

	tester tester
	stores map[string]*shop
	users  map[string]app.User // by role, "LONER" (OWNER of own alone), "PLATFORM", "FOREIGN"
	tokens map[string]string   // access tokens of the same, in the store own, FOREIGN's in foreign
}

// shop is a store with something in it.
type shop struct {
	id       app.StoreID
	website  app.WebsiteID
	view     app.StoreView
	product  app.Product
	order    app.Order
	webhook  app.Subscription
	delivery app.Delivery // of the order, still queued
	key      app.APIKey   // without any use
	replay   app.BulkReplay

	reservation app.Reservation // not yet confirmed
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, db: persistencetest.New(t), log: &logBuffer{}, now: noon,
		stores: map[string]*shop{}, users: map[string]app.User{}, tokens: map[string]string{},
	}
	t.Cleanup(w.checkEvents)
	w.server = w.serverOn(w.db.DB, func(*Config) {})
	website := func(domain string, stores ...string) {
		website, ids, err := w.db.CreateWebsite(t.Context(), noon, persistence.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}, newStores(stores)...)
		w.must(err)
		for i, name := range stores {
			w.stores[name] = &shop{id: ids[i], website: website}
		}
	}
	website("one.test", "own", "sibling")
	website("two.test", "foreign")
	own, sibling, foreign := w.stores["own"].id, w.stores["sibling"].id, w.stores["foreign"].id
	for _, role := range app.Roles {
		w.addUser(string(role), "-", nil, map[app.StoreID]app.Role{own: role, sibling: app.RoleOwner})
	}
	w.addUser("LONER", "-", nil, map[app.StoreID]app.Role{own: app.RoleOwner})
	w.addUser("FOREIGN", "-", nil, map[app.StoreID]app.Role{foreign: app.RoleOwner})
	admin := app.PlatformAdmin
	w.addUser("PLATFORM", "-", &admin, nil)
	for name := range w.users {
		store := own
		if name == "FOREIGN" {
			store = foreign
		}
		w.tokens[name] = w.token(name, store)
	}
	for _, name := range []string{"own", "sibling", "foreign"} {
		w.fill(w.stores[name], map[string]string{"foreign": "FOREIGN"}[name])
	}
	return w
}

func newStores(names []string) (stores []persistence.NewStore) {
	for _, name := range names {
		stores = append(stores, persistence.NewStore{
			Name: name, CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true,
			DeliveryFees: map[app.Currency]int64{"EUR": 250, "USD": 300},
			Views:        []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}, {Code: "en_us", Locale: "en-US", Currency: "USD"}},
		})
	}
	return stores
}

// serverOn makes a server beside the world's, which shares its log and its clock.
func (w *world) serverOn(db *persistence.DB, change func(*Config)) *Server {
	config := Config{
		DB: db, Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: 15 * time.Minute, RefreshTTL: 168 * time.Hour,
		TrustedProxies: proxies, RateLimit: 1000, Tester: &w.tester, Log: zerolog.New(w.log), Now: func() time.Time { return w.now },
	}
	stopped := make(chan struct{}) // so that streams end as soon as they begin
	close(stopped)
	config.Stopping = stopped
	change(&config)
	server := New(config)
	w.Cleanup(server.Close)
	return server
}

func (w *world) addUser(name, hash string, platform *string, roles map[app.StoreID]app.Role) {
	w.Helper()
	user := app.User{Email: strings.ToLower(name) + "@example.com", Name: name, PlatformRole: platform}
	var err error
	user.ID, err = w.db.CreateUser(w.Context(), noon, persistence.NewUser{
		Email: user.Email, Name: user.Name, PasswordHash: hash, PlatformRole: platform, Roles: roles,
	})
	w.must(err)
	w.users[name] = user
}

// token logs a user in without a password.
func (w *world) token(name string, store app.StoreID) string {
	w.Helper()
	token, err := w.server.tokens.mint(w.now, w.claims(name, store))
	w.must(err)
	return token
}

func (w *world) claims(name string, store app.StoreID) claims {
	w.Helper()
	user := w.users[name]
	session, err := w.db.StartSession(w.Context(), w.now, app.Actor{}, user, store, time.Hour)
	w.must(err)
	c := claims{Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role, Audience: app.RealmTenant, SessionID: session.ID}
	if user.PlatformRole != nil {
		c.Audience = app.RealmPlatform
	}
	return c
}

// fill gives a store a product, a webhook, an order and its delivery.
func (w *world) fill(s *shop, owner string) {
	w.Helper()
	if owner == "" {
		owner = "OWNER"
	}
	session, err := w.db.StartSession(w.Context(), w.now, app.Actor{}, w.users[owner], s.id, time.Hour)
	w.must(err)
	for _, entry := range session.Stores {
		if entry.StoreID == s.id {
			s.view = entry.StoreViews[0]
		}
	}
	s.product, err = w.db.CreateProduct(w.Context(), noon, s.id, app.Product{
		SKU: "P1", Name: "Pizza <Margherita> & more", Category: "pizza", PriceMinor: 950, Currency: "EUR",
		Prices: map[app.Currency]int64{"USD": 1100}, Translations: map[string]app.ProductText{"en": {Name: "Pizza", Description: "Round"}}, IsAvailable: true,
	}, nil, nil)
	w.must(err)
	s.webhook, err = w.db.CreateSubscription(w.Context(), noon, s.id, app.Actor{}, app.NewSubscription{
		URL: "https://hooks.example.com/", Events: []app.EventType{app.EventOrderCreated}, Secret: app.NewSecret(webhookSecret),
	}, nil, nil)
	w.must(err)
	s.order, err = w.db.PlaceOrder(w.Context(), noon, s.id, app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: s.product.ID, Quantity: 2}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePhone, Guest: app.OrderCustomer{Name: "Ada"}, StoreViewID: s.view.ID,
	}, nil, nil)
	w.must(err)
	s.reservation, err = w.db.Reserve(w.Context(), noon, s.id, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 2, StartAt: app.At(noon.AddDate(0, 0, 80)),
	}, nil, nil)
	w.must(err)
	_, err = w.db.Dispatch(w.Context(), noon, 100)
	w.must(err)
	deliveries, err := w.db.Deliveries(w.Context(), s.id, app.DeliveryFilter{}, "", 10)
	w.must(err)
	s.delivery = deliveries[0]
	issued, err := w.db.CreateAPIKey(w.Context(), noon, s.id, app.Actor{}, app.NewAPIKey{Name: "unused", Scopes: app.Scopes[:]}, nil, nil)
	w.must(err)
	s.key = issued.APIKey
	s.replay, err = w.db.OrderBulkReplay(w.Context(), noon, s.id, app.Actor{}, app.NewBulkReplay{
		SubscriptionID: s.webhook.ID, DeliveryStatus: app.DeliveryDeadLetter, From: app.At(noon), To: app.At(noon.Add(time.Hour)),
	}, nil, nil)
	w.must(err)
}

// key makes an API key of a store.
func (w *world) key(store string, scopes ...app.Scope) string {
	w.Helper()
	issued, err := w.db.CreateAPIKey(w.Context(), w.now, w.stores[store].id, app.Actor{}, app.NewAPIKey{Name: "a test's", Scopes: scopes}, nil, nil)
	w.must(err)
	return issued.Key.Reveal()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// orderBody is a valid order in a store.
func (w *world) orderBody(store string) map[string]any {
	return map[string]any{
		"items":           []any{map[string]any{"productId": w.stores[store].product.ID, "quantity": 2}},
		"fulfillmentType": "PICKUP", "customer": map[string]any{"name": "Ada"},
	}
}

func apiKeyBody() map[string]any {
	return map[string]any{"name": "Till", "scopes": []string{"read:orders"}}
}

// productBody is a valid product, without a SKU so that there can be several.
func productBody() map[string]any {
	return map[string]any{"name": "Lasagne", "priceMinor": 1250, "currency": "EUR"}
}

func webhookBody() map[string]any {
	return map[string]any{"url": "https://example.com/hook", "events": []string{"order.created"}, "secret": webhookSecret}
}

// answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	t    *testing.T
	what string
	body struct {
		Success bool
		Data    json.RawMessage
		Meta    map[string]any
		Error   errorBody
	}
}

// do sends a request over TLS. body is nil, bytes or a string as they are, or anything else
// as JSON. Whatever comes back is held against the document and the rules for every answer.
func (w *world) do(method, path, token string, body any, change ...func(*http.Request)) *answer {
	w.Helper()
	return w.doOn(w.server, method, path, token, body, change...)
}

func (w *world) doOn(server http.Handler, method, path, token string, body any, change ...func(*http.Request)) *answer {
	w.Helper()
	r := httptest.NewRequest(method, issuer+path, reader(w.T, body))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, f := range change {
		f(r)
	}
	a := &answer{ResponseRecorder: httptest.NewRecorder(), t: w.T, what: method + " " + path}
	server.ServeHTTP(a, r)
	checkHeaders(a)
	if a.Code == http.StatusNoContent && a.Body.Len() == 0 {
		return a
	}
	if a.Code == http.StatusOK && a.Header().Get("Content-Type") == "text/event-stream" {
		return a
	}
	if a.Header().Get("Content-Type") != "application/json" {
		w.Fatalf("%s: %d with %s", a.what, a.Code, a.Header().Get("Content-Type"))
	}
	w.must(json.Unmarshal(a.Body.Bytes(), &a.body))
	checkAnswer(w.T, method, strings.SplitN(path, "?", 2)[0], a)
	return a
}

func reader(t *testing.T, body any) io.Reader {
	switch body := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(body)
	case []byte:
		return bytes.NewReader(body)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(encoded)
}

func checkHeaders(a *answer) {
	a.t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Strict-Transport-Security": "max-age=31536000",
	} {
		if got := a.Header().Get(name); got != want {
			a.t.Errorf("%s: %s is %q", a.what, name, got)
		}
	}
	if id := a.Header().Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		a.t.Errorf("%s: X-Request-Id is %q", a.what, id)
	}
	if challenge := a.Header().Get("WWW-Authenticate"); (a.Code == 401) != (challenge == "Bearer") {
		a.t.Errorf("%s: %d with WWW-Authenticate %q", a.what, a.Code, challenge)
	}
}

// ok demands a success and reads its data.
func (a *answer) ok(status int, data any) *answer {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("%s: %d instead of %d: %s", a.what, a.Code, status, a.Body)
	}
	if data != nil {
		if err := json.Unmarshal(a.body.Data, data); err != nil {
			a.t.Fatalf("%s: %v: %s", a.what, err, a.body.Data)
		}
	}
	return a
}

// refused demands a refusal with a code and, in this order, details with those paths.
func (a *answer) refused(code app.Code, paths ...string) *answer {
	a.t.Helper()
	if a.body.Error.Code != code || a.Code != statuses[code] {
		a.t.Errorf("%s: %d %s instead of %s: %s", a.what, a.Code, a.body.Error.Code, code, cut(a.Body.String(), 500))
		return a
	}
	got := []string{}
	for _, d := range a.body.Error.Details {
		got = append(got, d.Path)
	}
	if len(paths) > 0 && strings.Join(got, "|") != strings.Join(paths, "|") {
		a.t.Errorf("%s: faults at %q instead of %q: %s", a.what, got, paths, cut(a.Body.String(), 500))
	}
	return a
}

// same returns the body without what differs from request to request.
func (a *answer) same() string {
	return strings.ReplaceAll(a.Body.String(), a.Header().Get("X-Request-Id"), "req")
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

// logBuffer keeps the log of concurrent requests.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// lines returns the log of one level.
func (b *logBuffer) lines(level string) (lines []string) {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, `"level":"`+level+`"`) {
			lines = append(lines, line)
		}
	}
	return lines
}
