package persistencetest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Noon is the current time of the tests.
var Noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// Restaurant is a website with two stores, one product in each.
type Restaurant struct {
	Website app.WebsiteID
	Stores  []app.StoreID
	Menu    []app.Product
	Owner   app.User
}

// Open creates a restaurant with the plan ENTERPRISE.
func Open(t testing.TB, db *Database, domain string) Restaurant {
	t.Helper()
	ctx := t.Context()
	store := identity.NewStore{
		Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true,
		DeliveryFees: map[app.Currency]int64{"EUR": 250},
		Views: []app.StoreView{
			{Code: "de_de", Locale: "de-DE", Currency: "EUR"},
			{Code: "en_us", Locale: "en-US", Currency: "USD"},
		},
	}
	website := identity.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}
	var r Restaurant
	var err error
	r.Website, r.Stores, err = db.CreateWebsite(ctx, Noon, website, store, store)
	Must(t, err)
	for _, id := range r.Stores {
		pizza := app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}
		product, err := db.CreateProduct(ctx, Noon, id, pizza, nil)
		Must(t, err)
		r.Menu = append(r.Menu, product)
	}
	r.Owner = app.User{Email: "owner@" + domain}
	r.Owner.ID, err = db.CreateUser(ctx, Noon, identity.NewUser{
		Email: r.Owner.Email, Name: "Owner", PasswordHash: "-",
		Roles: map[app.StoreID]app.Role{r.Stores[0]: app.RoleOwner, r.Stores[1]: app.RoleOwner},
	})
	Must(t, err)
	return r
}

// Caller returns the owner as the caller of requests about one of the stores, with a new session.
func (r Restaurant) Caller(t testing.TB, db *persistence.DB, store int) app.Principal {
	t.Helper()
	session := Session(t, db, Noon, r.Owner, r.Stores[store], 24*time.Hour)
	return app.Principal{
		Realm: app.RealmTenant, UserID: r.Owner.ID, SessionID: session.ID, WebsiteID: r.Website,
		StoreID: r.Stores[store], Role: app.RoleOwner,
	}
}

// Session starts a session of a user in a store, "" = the store that a login chooses. It needs neither the password nor
// a one-time password, which it switches off meanwhile.
func Session(
	t testing.TB, db *persistence.DB, now time.Time, user app.User, store app.StoreID, ttl time.Duration,
) identity.Session {
	t.Helper()
	var proof identity.Proof
	var secret []byte
	var enabled sql.NullTime
	Must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT password_hash, otp_secret, otp_enabled_at FROM users
		WHERE id = $1`, user.ID).Scan(&proof.Verified, &secret, &enabled))
	setOTP := func(secret []byte, enabled sql.NullTime) {
		_, err := db.System().DB.ExecContext(t.Context(), `UPDATE users SET otp_secret = $2, otp_enabled_at = $3
			WHERE id = $1`, user.ID, secret, enabled)
		Must(t, err)
	}
	if enabled.Valid {
		setOTP(nil, sql.NullTime{})
		defer setOTP(secret, enabled)
	}
	session, err := db.StartSession(t.Context(), now, app.Actor{}, user, proof, store, ttl)
	Must(t, err)
	return session
}

// View returns the default view of a store.
func (r Restaurant) View(t testing.TB, db *Database, store int) app.StoreViewID {
	t.Helper()
	session := Session(t, db.DB, Noon, r.Owner, r.Stores[store], time.Hour)
	for _, entry := range session.Stores {
		if entry.StoreID == r.Stores[store] {
			return entry.StoreViews[0].ID
		}
	}
	t.Fatalf("store %s is not among the owner's stores", r.Stores[store])
	return ""
}

// Order returns an order of two units of a store's product.
func (r Restaurant) Order(t testing.TB, db *Database, store int) app.NewOrder {
	t.Helper()
	return app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: r.Menu[store].ID, Quantity: 2}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePhone,
		Guest: app.OrderCustomer{Name: "Ada", Email: "ada@example.com"}, StoreViewID: r.View(t, db, store),
	}
}

// Place places orders in the first store.
func (r Restaurant) Place(t testing.TB, db *Database, orders int) {
	t.Helper()
	for range orders {
		r.PlaceOne(t, db)
	}
}

// PlaceOne places an order in the first store.
func (r Restaurant) PlaceOne(t testing.TB, db *Database) app.Order {
	t.Helper()
	order, err := db.PlaceOrder(t.Context(), Noon, r.Stores[0], r.Order(t, db, 0), nil)
	Must(t, err)
	return order
}

// Payment returns a card payment in EUR.
func Payment(transaction string, amount int64) app.NewPayment {
	return app.NewPayment{
		Provider: "STRIPE", TransactionID: transaction, Status: app.PaymentSucceeded, AmountMinor: amount,
		Currency: "EUR", PaymentMethod: "card", CardLast4: "4242",
	}
}

// Invite invites a user to all stores. db can be the database opened with another configuration.
func (r Restaurant) Invite(t testing.TB, db *persistence.DB, token string) app.Invitation {
	t.Helper()
	by := r.Caller(t, db, 0)
	in := app.Invitation{Email: "grace@example.com", Name: "Grace", Role: app.RoleStaff, StoreIDs: r.Stores}
	invitation, err := db.Invite(t.Context(), Noon, by, app.Actor{ID: string(r.Owner.ID)}, in, app.NewSecret(token),
		time.Hour, nil)
	Must(t, err)
	return invitation
}

// Key creates an API key of a store.
func (r Restaurant) Key(t testing.TB, db *Database, store int, mode app.KeyMode) app.IssuedAPIKey {
	t.Helper()
	key := app.NewAPIKey{Name: "Till", Scopes: []app.Scope{app.ScopeReadOrders}, Mode: mode}
	issued, err := db.IssueAPIKey(t.Context(), Noon, r.Stores[store], key)
	Must(t, err)
	return issued
}

// WithMails opens a database with mails enabled.
func WithMails(t testing.TB, db *Database) *persistence.DB {
	t.Helper()
	with, err := persistence.Open(persistence.Config{
		URL: db.URL, SystemURL: db.SystemURL, MaxConns: 4, Sealer: Keyring().Sealer(), Mails: true,
	})
	Must(t, err)
	t.Cleanup(func() { with.Close() })
	return with
}

// Exec runs a statement as the role that sees every store.
func Exec(t testing.TB, db *Database, statement string, args ...any) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), statement, args...)
	Must(t, err)
}

// Count returns the number that a query across all stores returns.
func Count(t testing.TB, db *Database, query string, args ...any) (n int) {
	t.Helper()
	Must(t, db.System().DB.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
