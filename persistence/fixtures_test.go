package persistence_test

import (
	"os"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// restaurant is a website with two stores, one product in each.
type restaurant struct {
	website app.WebsiteID
	stores  []app.StoreID
	menu    []app.Product
	owner   app.User
}

func open(t *testing.T, db *persistencetest.Database, domain string) restaurant {
	t.Helper()
	ctx := t.Context()
	store := persistence.NewStore{
		Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true,
		DeliveryFees: map[app.Currency]int64{"EUR": 250},
		Views: []app.StoreView{
			{Code: "de_de", Locale: "de-DE", Currency: "EUR"},
			{Code: "en_us", Locale: "en-US", Currency: "USD"},
		},
	}
	var r restaurant
	var err error
	r.website, r.stores, err = db.CreateWebsite(ctx, noon, persistence.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise}, store, store)
	must(t, err)
	for _, id := range r.stores {
		product, err := db.CreateProduct(ctx, noon, id, app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}, nil, nil)
		must(t, err)
		r.menu = append(r.menu, product)
	}
	r.owner = app.User{Email: "owner@" + domain}
	r.owner.ID, err = db.CreateUser(ctx, noon, persistence.NewUser{
		Email: r.owner.Email, Name: "Owner", PasswordHash: "-",
		Roles: map[app.StoreID]app.Role{r.stores[0]: app.RoleOwner, r.stores[1]: app.RoleOwner},
	})
	must(t, err)
	return r
}

// view returns the default view of a store.
func (r restaurant) view(t *testing.T, db *persistencetest.Database, store int) app.StoreViewID {
	t.Helper()
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, r.owner, r.stores[store], time.Hour)
	must(t, err)
	for _, entry := range session.Stores {
		if entry.StoreID == r.stores[store] {
			return entry.StoreViews[0].ID
		}
	}
	t.Fatal("the owner lacks a store")
	return ""
}

func (r restaurant) order(t *testing.T, db *persistencetest.Database, store int) app.NewOrder {
	return app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: r.menu[store].ID, Quantity: 2}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePhone,
		Guest: app.OrderCustomer{Name: "Ada", Email: "ada@example.com"}, StoreViewID: r.view(t, db, store),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
