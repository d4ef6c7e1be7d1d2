package api

import (
	"bytes"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

const (
	issuer        = "https://api.test"
	webhookSecret = "a secret that nobody may ever see"
)

// world is a server with a separate database: one website has the stores "own" and "sibling", another website has the
// store "foreign".
type world struct {
	*testing.T
	db     *persistencetest.Database
	server *Server
	log    *logBuffer
	now    time.Time // the server's clock

	timeout time.Duration // after which a request, or a wait of the test, fails

	inserted int // number of events that insertEvent inserted

	tester  tester
	retrier retrier
	stores  map[string]*shop
	users   map[string]app.User // by role; "LONER" is OWNER of own only; "PLATFORM"; "FOREIGN"
	tokens  map[string]string   // access tokens of these users for the store own; that of FOREIGN is for foreign
}

// shop is a store and its contents.
type shop struct {
	id       app.StoreID
	website  app.WebsiteID
	view     app.StoreView
	product  app.Product
	order    app.Order
	webhook  app.Subscription
	delivery app.Delivery // of the order, still queued
	key      app.APIKey   // never used
	replay   app.BulkReplay

	reservation app.Reservation // not yet confirmed
}

// newWorldOn creates a world in an empty database.
func newWorldOn(t *testing.T, db *persistencetest.Database) *world {
	t.Helper()
	w := newEmptyWorld(t, db)
	t.Cleanup(w.checkEvents)
	w.addRows()
	return w
}

func newEmptyWorld(t *testing.T, db *persistencetest.Database) *world {
	t.Helper()
	w := &world{
		T: t, db: db, log: &logBuffer{}, now: noon, timeout: testTimeout,
		stores: map[string]*shop{}, users: map[string]app.User{}, tokens: map[string]string{},
	}
	w.server = w.serverOn(w.db.DB, func(*Config) {})
	return w
}

// addRows creates the websites, stores and users of the world and fills the stores.
func (w *world) addRows() {
	w.Helper()
	website := func(domain string, stores ...string) {
		website, ids, err := w.db.CreateWebsite(w.Context(), noon,
			identity.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}, newStores(stores)...)
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
}

func newStores(names []string) (stores []identity.NewStore) {
	for _, name := range names {
		stores = append(stores, identity.NewStore{
			Name: name, CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true,
			DeliveryFees: map[app.Currency]int64{"EUR": 250, "USD": 300},
			Views: []app.StoreView{
				{Code: "de_de", Locale: "de-DE", Currency: "EUR"}, {Code: "en_us", Locale: "en-US", Currency: "USD"},
			},
		})
	}
	return stores
}

// testTimeout is the time that a request, its wait to hash a password, or its work in the background may take in tests.
// It is longer than in production, so that a slow machine neither responds UNAVAILABLE nor omits an audit entry.
const testTimeout = 2 * time.Minute

// quickHashing are parameters with which a hash takes microseconds. In production it takes a tenth of a second of
// processor time.
var quickHashing = argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

func quickHash(t *testing.T, password string) string {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &quickHashing)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// boundTimeout is the timeout of tests whose requests would wait without end if a bound were missing. It is much
// longer than they take.
const boundTimeout = 30 * time.Second

// serverOn creates another server, with the log and the clock of the world.
func (w *world) serverOn(db *persistence.DB, change func(*Config)) *Server {
	config := Config{
		DB: db, Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: 15 * time.Minute,
		RefreshTTL: 168 * time.Hour, Timeout: w.timeout, OptionalOTP: true,
		TrustedProxies: proxies, RateLimit: 1000, APIRate: 100_000, APIBurst: 100_000,
		WebsiteRate: 100_000, WebsiteBurst: 100_000, Tester: &w.tester,
		Retrier: &w.retrier,
		Log:     zerolog.New(w.log),
		Now:     func() time.Time { return w.now },
	}
	stopped := make(chan struct{}) // so that streams end as soon as they begin
	close(stopped)
	config.Stopping = stopped
	change(&config)
	server := New(config)
	server.passwords.use(quickHashing)
	server.passwords.maxWait, server.failures.timeout, server.resets.timeout = w.timeout, w.timeout, w.timeout
	server.work.wait = w.timeout
	w.Cleanup(server.Close)
	return server
}

func (w *world) addUser(name, hash string, platform *string, roles map[app.StoreID]app.Role) {
	w.Helper()
	user := app.User{Email: strings.ToLower(name) + "@example.com", Name: name, PlatformRole: platform}
	var err error
	user.ID, err = w.db.CreateUser(w.Context(), noon, identity.NewUser{
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

// session starts a session of a user.
func (w *world) session(name string, store app.StoreID) identity.Session {
	w.Helper()
	return persistencetest.Session(w, w.db.DB, w.now, w.users[name], store, time.Hour)
}

func (w *world) claims(name string, store app.StoreID) claims {
	w.Helper()
	user := w.users[name]
	session := w.session(name, store)
	c := claims{
		Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role,
		Audience: app.RealmTenant, SessionID: session.ID,
	}
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
	session := w.session(owner, s.id)
	for _, entry := range session.Stores {
		if entry.StoreID == s.id {
			s.view = entry.StoreViews[0]
		}
	}
	var err error
	s.product, err = w.db.CreateProduct(w.Context(), noon, s.id, app.Product{
		SKU: "P1", Name: "Pizza <Margherita> & more", Category: "pizza", PriceMinor: 950, Currency: "EUR",
		Prices:       map[app.Currency]int64{"USD": 1100},
		Translations: map[string]app.ProductText{"en": {Name: "Pizza", Description: "Round"}}, IsAvailable: true,
	}, nil)
	w.must(err)
	s.webhook, err = w.db.CreateSubscription(w.Context(), noon, s.id, app.Actor{}, app.NewSubscription{
		URL: "https://hooks.example.com/", Events: []app.EventType{app.EventOrderCreated},
		Secret: app.NewSecret(webhookSecret),
	}, nil)
	w.must(err)
	s.order, err = w.db.PlaceOrder(w.Context(), noon, s.id, app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: s.product.ID, Quantity: 2}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePhone,
		Guest:       app.OrderCustomer{Name: "Ada", Phone: "+493012345"},
		StoreViewID: s.view.ID,
	}, nil)
	w.must(err)
	s.reservation, err = w.db.Reserve(w.Context(), noon, s.id, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 2, StartAt: app.At(noon.AddDate(0, 0, 80)),
	}, nil)
	w.must(err)
	_, err = w.db.Dispatch(w.Context(), noon, 1000)
	w.must(err)
	deliveries, err := w.db.Deliveries(w.Context(), s.id, app.DeliveryFilter{}, "", 10)
	w.must(err)
	s.delivery = deliveries[0]
	issued, err := w.db.IssueAPIKey(w.Context(), noon, s.id,
		app.NewAPIKey{Name: "unused", Scopes: app.Scopes[:]})
	w.must(err)
	s.key = issued.APIKey
	s.replay, err = w.db.CreateBulkReplay(w.Context(), noon, s.id, app.Actor{}, app.NewBulkReplay{
		SubscriptionID: s.webhook.ID, DeliveryStatus: app.ReplayedDeadLetters, From: app.At(noon),
		To: app.At(noon.Add(time.Hour)),
	}, nil)
	w.must(err)
}

// key creates an API key of a store.
func (w *world) key(store string, scopes ...app.Scope) string {
	w.Helper()
	issued, err := w.db.IssueAPIKey(w.Context(), w.now, w.stores[store].id,
		app.NewAPIKey{Name: "Test", Scopes: scopes})
	w.must(err)
	return issued.Key.Reveal()
}

// repeated is the end of the name that package testing gives to a subtest whose name is empty or already used.
var repeated = regexp.MustCompile(`#[0-9]{2,}$`)

// run runs a case of a test as a subtest, to which the world reports failures until f returns. The name selects this
// case only.
func (w *world) run(name string, f func(t *testing.T)) {
	w.Helper()
	outer := w.T
	defer func() { w.T = outer }()
	outer.Run(name, func(t *testing.T) {
		w.T = t
		if repeated.MatchString(t.Name()) {
			t.Errorf("name of the case: got %q, want a name that no other case of the test has", name)
		}
		f(t)
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// logBuffer collects the log of concurrent requests.
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
