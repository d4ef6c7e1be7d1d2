package demo

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

func TestSeedTwice(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	seed := func(receiver, key string) Demo {
		t.Helper()
		made, err := Seed(t.Context(), Options{
			DatabaseURL: db.URL, Keyring: persistencetest.Keyring(), Now: time.Now, ReceiverURL: receiver, Secret: app.NewSecret("secret"),
			APIKey: app.NewSecret(key),
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := seed("https://localhost:1/hook", "")
	if diff := cmp.Diff(first, seed("https://localhost:2/hook", first.APIKey)); diff != "" {
		t.Errorf("the second seed differs (-first +second):\n%s", diff)
	}

	checkPeople(t, first)
	store := first.Stores[0].StoreID
	login, err := db.CustomerLoginByEmail(t.Context(), store, first.Customer.Email)
	if err != nil || first.Customer.StoreID != store || login.PasswordHash == "" || first.Customer.Password != Password {
		t.Errorf("customer %+v, %v", first.Customer, err)
	}
	products, err := db.Products(t.Context(), store, app.ProductFilter{}, persistence.Cursor{}, 100)
	if err != nil || len(products) != 10 {
		t.Errorf("%d products, %v", len(products), err)
	}
	subscriptions, err := db.Subscriptions(t.Context(), store)
	if err != nil || len(subscriptions) != 1 || subscriptions[0].URL != "https://localhost:2/hook" {
		t.Errorf("subscriptions %+v, %v", subscriptions, err)
	}
	keys, err := db.APIKeys(t.Context(), store, "", 100)
	if err != nil || len(keys) != 1 || len(keys[0].Scopes) != len(app.Scopes) {
		t.Fatalf("keys %+v, %v", keys, err)
	}
	if _, err := db.RevokeAPIKey(t.Context(), time.Now(), store, app.Actor{}, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	if third := seed("https://localhost:2/hook", first.APIKey); third.APIKey == first.APIKey || third.APIKey == "" {
		t.Errorf("after its end the key is %q", third.APIKey)
	}
}

// checkPeople checks that there is somebody of every role, and somebody who must see nothing of the first website.
func checkPeople(t *testing.T, made Demo) {
	t.Helper()
	first := made.Stores[0]
	for _, role := range app.Roles {
		if !slices.ContainsFunc(made.Users, func(u User) bool { return u.Role == role && u.StoreIDs[0] == first.StoreID }) {
			t.Errorf("nobody is %s", role)
		}
	}
	owner, stranger := made.Users[0], made.Users[len(made.Users)-1]
	if len(owner.StoreIDs) != 2 || made.Stores[1].WebsiteID != first.WebsiteID {
		t.Errorf("the first owner has the stores %v", owner.StoreIDs)
	}
	if slices.Contains(stranger.StoreIDs, first.StoreID) || stranger.Role != app.RoleOwner {
		t.Errorf("the last user is no stranger: %+v", stranger)
	}
}

func TestSeedWithoutReceiver(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	made, err := Seed(t.Context(), Options{DatabaseURL: db.URL, Keyring: persistencetest.Keyring(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if subscriptions, err := db.Subscriptions(t.Context(), made.Stores[0].StoreID); err != nil || len(subscriptions) != 0 {
		t.Errorf("subscriptions %+v, %v", subscriptions, err)
	}
}
