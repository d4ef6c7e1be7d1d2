package demo

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/social"
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
			DatabaseURL: db.URL, SystemURL: db.SystemURL, Keyring: persistencetest.Keyring(), Now: time.Now,
			ReceiverURL: receiver, Secret: app.NewSecret("secret"), APIKey: app.NewSecret(key),
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

	checkUsers(t, first)
	store := first.Stores[0].StoreID
	login, err := db.CustomerLoginByEmail(t.Context(), store, first.Customer.Email)
	if err != nil || login.PasswordHash == "" || first.Customer != (Customer{Account{customer, Password}, store}) {
		t.Errorf("customer: got %+v and error %v, want %s with a password", first.Customer, err, customer)
	}
	for domain, website := range map[string]app.WebsiteID{
		"trattoria.example": first.Stores[0].WebsiteID, "sushi.example": first.Stores[2].WebsiteID,
	} {
		got, err := db.Website(t.Context(), website)
		if diff := cmp.Diff(social.ClientIDs(domain), got.Social); diff != "" || err != nil {
			t.Errorf("client ids of %s: %v (-want +got):\n%s", domain, err, diff)
		}
	}
	products, _, err := db.Products(t.Context(), time.Now(), store, app.ProductFilter{}, persistence.Cursor{},
		app.PageLimit{Rows: 100, Bytes: app.MaxEvent})
	if err != nil || len(products) != 10 {
		t.Errorf("products: got %d and error %v, want 10", len(products), err)
	}
	subscriptions, err := db.Subscriptions(t.Context(), store)
	if err != nil || len(subscriptions) != 1 || subscriptions[0].URL != "https://localhost:2/hook" {
		t.Errorf("subscriptions: got %+v and error %v, want one with the URL of the second seed", subscriptions, err)
	}
	keys, err := db.APIKeys(t.Context(), store, "", 100)
	if err != nil || len(keys) != 1 || len(keys[0].Scopes) != len(app.Scopes) {
		t.Fatalf("API keys: got %+v and error %v, want one with all scopes", keys, err)
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", keys[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if third := seed("https://localhost:2/hook", first.APIKey); third.APIKey == first.APIKey || third.APIKey == "" {
		t.Errorf("after the key was revoked, got %q, want a new key", third.APIKey)
	}
}

// checkUsers checks that the first store has a user of every role, and that the last user belongs to another website.
func checkUsers(t *testing.T, made Demo) {
	t.Helper()
	first := made.Stores[0]
	for _, role := range app.Roles {
		has := func(u User) bool { return u.Role == role && u.StoreIDs[0] == first.StoreID }
		if !slices.ContainsFunc(made.Users, has) {
			t.Errorf("users of the first store: got none with the role %s, want one", role)
		}
	}
	owner, stranger := made.Users[0], made.Users[len(made.Users)-1]
	if len(owner.StoreIDs) != 2 || made.Stores[1].WebsiteID != first.WebsiteID {
		t.Errorf("the first owner has the stores %v, want both stores of the website", owner.StoreIDs)
	}
	if slices.Contains(stranger.StoreIDs, first.StoreID) || stranger.Role != app.RoleOwner {
		t.Errorf("the last user is %+v, want the owner of another website", stranger)
	}
}

func TestSeedWithoutReceiver(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	made, err := Seed(t.Context(), Options{
		DatabaseURL: db.URL, SystemURL: db.SystemURL, Keyring: persistencetest.Keyring(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	subscriptions, err := db.Subscriptions(t.Context(), made.Stores[0].StoreID)
	if err != nil || len(subscriptions) != 0 {
		t.Errorf("got subscriptions %+v and error %v, want none", subscriptions, err)
	}
}
