package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// The websites. The sandbox is a store of the chain's website.
const (
	chain    = "chain"    // many webhooks and imports
	starter  = "starter"  // a backlog on the plan STARTER
	quiet    = "quiet"    // a restaurant with one ordered webhook
	restless = "restless" // changes its webhooks all the time
	sandbox  = "sandbox"
)

const (
	ownerPassword = "a password of the judge"
	// manyFrom is the shortest run in which the chain has a hundred webhooks.
	manyFrom = 5 * time.Minute
)

// sites are the websites with their receivers.
type sites struct {
	names     []string // of the sites in use
	w         *world
	h         *history
	receivers *receivers
	byName    map[string]*site
	platform  *comanda.Client // with the session of a platform administrator
}

// site is a store with the clients that change it. It is safe for concurrent use.
type site struct {
	name    string
	website string
	store   string
	email   string          // of the owner
	key     *comanda.Client // with an API key with all scopes, the secret
	owner   *comanda.Client
	all     *sites

	secret string

	suspending   sync.Mutex // held while the website is suspended
	lock         sync.Mutex
	products     []*comanda.Product
	orders       []string // oldest first
	customers    []string
	members      []*member
	reservations []string
	webhooks     []*hooked
	keys         []*issued
	replays      []string
	names        int // receivers so far
}

// issued is an API key that an operation has created.
type issued struct {
	id      string
	client  *comanda.Client
	revoked bool
}

// newSites sets up the websites, fills those with the given names, and starts the receivers. The chain has fewer
// webhooks if the run is short.
func newSites(ctx context.Context, w *world, h *history, names []string) (*sites, error) {
	s := &sites{names: names, w: w, h: h, receivers: newReceivers(w.Certificate(), h), byName: map[string]*site{}}
	h.Stores, h.Deadlines = map[string]string{}, map[string]time.Duration{}
	hash, err := api.HashPassword(app.NewSecret(ownerPassword))
	if err != nil {
		return s, err
	}
	for _, name := range []string{chain, starter, quiet, restless} {
		if err := s.open(ctx, name, hash); err != nil {
			return s, fmt.Errorf("open %s: %w", name, err)
		}
	}
	if err := s.openPlatform(ctx); err != nil {
		return s, fmt.Errorf("open the platform: %w", err)
	}
	if err := s.openSandbox(ctx); err != nil {
		return s, fmt.Errorf("open the sandbox: %w", err)
	}
	for _, name := range names {
		one := s.byName[name]
		h.Stores[name] = one.store
		if err := one.fill(ctx); err != nil {
			return s, fmt.Errorf("fill %s: %w", name, err)
		}
	}
	return s, nil
}

// heal lets all receivers respond from now on, so that the deliveries end.
func (s *sites) heal() { s.receivers.mended.Store(true) }

// close ends the receivers.
func (s *sites) close() { s.receivers.close() }

// open creates a website with one store, its owner and an API key.
func (s *sites) open(ctx context.Context, name, passwordHash string) error {
	now := time.Now()
	plan := app.PlanEnterprise
	if name == starter {
		plan = app.PlanStarter
	}
	website, stores, err := s.w.SystemDB().CreateWebsite(ctx, now,
		identity.NewWebsite{Name: name, Domain: name + ".example", Plan: plan},
		identity.NewStore{
			Name: name, CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 190_000, TaxIncluded: name != chain,
			Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}},
		})
	if err != nil {
		return err
	}
	one := &site{
		name: name, website: string(website), store: string(stores[0]), email: "owner@" + name + ".example", all: s,
	}
	if _, err := s.w.SystemDB().CreateUser(ctx, now, identity.NewUser{
		Email: one.email, Name: "Owner", PasswordHash: passwordHash,
		Roles: map[app.StoreID]app.Role{stores[0]: app.RoleOwner},
	}); err != nil {
		return err
	}
	s.byName[name] = one
	if err := one.connect(ctx); err != nil {
		return err
	}
	issued, err := one.issue(ctx, comanda.KeyModeLive)
	if err != nil {
		return err
	}
	return one.use(issued.Key)
}

// use sets the API key.
func (s *site) use(secret string) (err error) {
	s.secret = secret
	s.key, err = s.all.client(secret)
	return err
}

// openSandbox creates the sandbox of the chain with its first test key.
func (s *sites) openSandbox(ctx context.Context) error {
	issued, err := s.byName[chain].issue(ctx, comanda.KeyModeTest)
	if err != nil {
		return err
	}
	one := &site{name: sandbox, store: issued.StoreID, email: s.byName[chain].email, all: s}
	s.byName[sandbox] = one
	if err := one.use(issued.Key); err != nil {
		return err
	}
	return one.connect(ctx)
}

// client returns a client of the API that repeats no request. Without an API key, it can log in.
func (s *sites) client(key string) (*comanda.Client, error) {
	return comanda.New(s.w.URL(), comanda.Config{APIKey: key, HTTP: s.w.HTTPClient(), MaxRetries: -1})
}

// connect logs the owner in.
func (s *site) connect(ctx context.Context) (err error) {
	if s.owner, err = s.all.client(""); err != nil {
		return err
	}
	return s.login(ctx)
}

// login starts a session of the owner in the store of the site.
func (s *site) login(ctx context.Context) error {
	in := comanda.LoginRequest{Email: s.email, Password: ownerPassword}
	if s.name == sandbox {
		if _, err := s.owner.Login(ctx, in); err != nil {
			return err
		}
		_, err := s.owner.SwitchStore(ctx, comanda.SwitchStoreRequest{StoreID: s.store})
		return err
	}
	in.StoreID = &s.store
	_, err := s.owner.Login(ctx, in)
	return err
}

// issue creates an API key with all scopes.
func (s *site) issue(ctx context.Context, mode comanda.KeyMode) (*comanda.IssuedAPIKey, error) {
	scopes := make([]comanda.Scope, len(app.Scopes))
	for i, scope := range app.Scopes {
		scopes[i] = comanda.Scope(scope)
	}
	in := comanda.CreateAPIKeyRequest{Name: "judge", Scopes: scopes, Mode: &mode}
	return s.owner.CreateAPIKey(ctx, in)
}

// fill creates the menu, settings, webhooks and first orders of a site.
func (s *site) fill(ctx context.Context) error {
	fees := map[string]*int64{"EUR": new(int64(290))}
	loyalty := comanda.LoyaltySettingsRequest{
		MinPoints: new(fewestPoints), MinorPerPoint: map[string]*int{"EUR": new(minorPerPoint)},
	}
	in := comanda.ChangeSettingsRequest{DeliveryFees: fees, Seats: new(200), Loyalty: &loyalty}
	if s.name == starter && s.all.h.Lasts >= manyFrom { // the shortest deadline is a minute
		in.Acceptance = &comanda.AcceptanceRequest{CancelAfterMinutes: new(1)}
		s.all.h.Deadlines[s.name] = time.Minute
	}
	if _, err := s.owner.UpdateSettings(ctx, in); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(s.all.h.Seed, uint64(len(s.name)))) //nolint:gosec // repeatable
	for n := range 8 {
		product, err := s.key.CreateProduct(ctx, newProduct(random, fmt.Sprintf("MENU-%d", n)))
		if err != nil {
			return err
		}
		s.products = append(s.products, product)
	}
	for n := range s.webhooksAtBegin() {
		if err := s.subscribe(ctx, n); err != nil {
			return err
		}
	}
	for range 3 {
		order, err := s.key.PlaceOrder(ctx, s.newOrder(random))
		if err != nil {
			return err
		}
		s.orders = append(s.orders, order.ID)
	}
	if err := s.enroll(ctx, random); err != nil {
		return err
	}
	if s.name == starter { // fills more than two windows of the plan
		_, err := s.key.ImportProducts(ctx, comanda.ImportProductsParams{}, newRows(random, fillingRows))
		return err
	}
	return nil
}
