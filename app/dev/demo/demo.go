// Package demo creates demo data: a restaurant with two stores, a menu, a user of every role and a customer, and a
// second, unrelated restaurant.
package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/social"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Password is the password of all demo users.
const Password = "comanda-demo-2026"

// Demo describes the demo data.
type Demo struct {
	Users         []User
	Stores        []Store
	PlatformAdmin Account
	APIKey        string // of the first store, with all scopes
	Customer      Customer
}

// Account holds the credentials of a login.
type Account struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// User is a user of stores.
type User struct {
	Account
	Role     app.Role      `json:"role"`
	StoreIDs []app.StoreID `json:"storeIds"`
}

// Customer is a customer of a store.
type Customer struct {
	Account
	StoreID app.StoreID `json:"storeId"`
}

// Store is a store of the demo.
type Store struct {
	StoreID   app.StoreID   `json:"storeId"`
	StoreName string        `json:"storeName"`
	WebsiteID app.WebsiteID `json:"websiteId"`
}

// Options selects the database and the settings of the demo data.
type Options struct {
	DatabaseURL string // DATABASE_URL of the product
	SystemURL   string // COMANDA_SYSTEM_DATABASE_URL of the product
	Keyring     app.Keyring
	Now         func() time.Time

	// ReceiverURL and Secret belong to the webhook of the first store, which selects all events; "" = no webhook.
	ReceiverURL string
	Secret      app.Secret

	// APIKey is the key that an earlier seed returned; the database stores only its hash. Without a valid key, Seed
	// creates a new one.
	APIKey app.Secret
}

// Seed creates the missing demo data. It changes existing data only to update the URL and the secret of the webhook.
func Seed(ctx context.Context, o Options) (Demo, error) {
	db, err := persistence.Open(persistence.Config{
		URL: o.DatabaseURL, SystemURL: o.SystemURL, MaxConns: 2, Sealer: o.Keyring.Sealer(),
	})
	if err != nil {
		return Demo{}, err
	}
	defer func() { _ = db.Close() }()
	conn, err := connect(ctx, o.SystemURL)
	if err != nil {
		return Demo{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	s := &seeder{Options: o, db: db, conn: conn, hash: sync.OnceValues(func() (string, error) {
		return api.HashPassword(app.NewSecret(Password))
	})}
	return s.seed(ctx)
}

// connect opens a connection that sees every store, for statements that persistence does not offer.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["role"] = "comanda_system"
	return pgx.ConnectConfig(ctx, config)
}

type seeder struct {
	Options
	db   *persistence.DB
	conn *pgx.Conn
	hash func() (string, error) // hash of Password
}

func (s *seeder) seed(ctx context.Context) (Demo, error) {
	var demo Demo
	for _, r := range restaurants() {
		stores, err := s.open(ctx, r)
		if err != nil {
			return Demo{}, fmt.Errorf("%s: %w", r.website.Name, err)
		}
		if err := s.offerSocial(ctx, stores[0].WebsiteID, r.website.Domain); err != nil {
			return Demo{}, fmt.Errorf("client ids of %s: %w", r.website.Name, err)
		}
		users, err := s.hire(ctx, r.staff, stores)
		if err != nil {
			return Demo{}, fmt.Errorf("%s: %w", r.website.Name, err)
		}
		if err := s.fill(ctx, stores[0].StoreID, r.menu); err != nil {
			return Demo{}, fmt.Errorf("menu of %s: %w", r.website.Name, err)
		}
		demo.Stores = append(demo.Stores, stores...)
		demo.Users = append(demo.Users, users...)
	}
	err := s.subscribe(ctx, demo.Stores[0].StoreID)
	if err != nil {
		return Demo{}, fmt.Errorf("webhook: %w", err)
	}
	if demo.APIKey, err = s.key(ctx, demo.Stores[0].StoreID); err != nil {
		return Demo{}, fmt.Errorf("API key: %w", err)
	}
	demo.Customer = Customer{Account{customer, Password}, demo.Stores[0].StoreID}
	if err := s.register(ctx, demo.Customer); err != nil {
		return Demo{}, fmt.Errorf("customer: %w", err)
	}
	demo.PlatformAdmin = Account{platformAdmin, Password}
	role := "ADMIN"
	return demo, s.addUser(ctx, identity.NewUser{Email: platformAdmin, Name: "Platform admin", PlatformRole: &role})
}

// open returns the stores of a restaurant and creates its website if it does not exist.
func (s *seeder) open(ctx context.Context, r restaurant) ([]Store, error) {
	_, _, err := s.db.CreateWebsite(ctx, s.Now(), r.website, r.stores...)
	if err != nil && app.CodeOf(err) != app.CodeConflict {
		return nil, err
	}
	rows, err := s.conn.Query(ctx, `SELECT s.id, s.name, s.website_id
		FROM stores s JOIN websites w ON w.id = s.website_id WHERE w.domain = $1`, r.website.Domain)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Store])
	if err != nil {
		return nil, err
	}
	var stores []Store // in the order of the demo data, without stores that were added later
	for _, store := range r.stores {
		i := slices.IndexFunc(found, func(f Store) bool { return f.StoreName == store.Name })
		if i < 0 {
			return nil, fmt.Errorf("the store %q was renamed or removed", store.Name)
		}
		stores = append(stores, found[i])
	}
	return stores, nil
}

// offerSocial gives a website its client ids at the mock of the login providers, unless it has any.
func (s *seeder) offerSocial(ctx context.Context, id app.WebsiteID, domain string) error {
	website, err := s.db.Website(ctx, id)
	if err != nil {
		return err
	}
	for _, provider := range app.Providers {
		if len(*website.Social.Of(provider)) > 0 {
			return nil
		}
	}
	_, err = s.db.ChangeClientIDs(ctx, s.Now(), app.Actor{}, id, social.ClientIDs(domain))
	return err
}

// hire creates the users of a restaurant.
func (s *seeder) hire(ctx context.Context, staff []worker, stores []Store) ([]User, error) {
	var users []User
	for _, w := range staff {
		roles := map[app.StoreID]app.Role{}
		user := User{Account: Account{w.email, Password}, Role: w.role}
		for _, store := range stores[:w.stores] {
			roles[store.StoreID] = w.role
			user.StoreIDs = append(user.StoreIDs, store.StoreID)
		}
		if err := s.addUser(ctx, identity.NewUser{Email: w.email, Name: w.name, Roles: roles}); err != nil {
			return nil, err
		}
		users = append(users, user)
	}
	return users, nil
}

// addUser creates a user unless one with that email exists.
func (s *seeder) addUser(ctx context.Context, user identity.NewUser) error {
	_, err := s.db.LoginByEmail(ctx, user.Email)
	if app.CodeOf(err) != app.CodeNotFound {
		return err
	}
	if user.PasswordHash, err = s.hash(); err != nil {
		return err
	}
	_, err = s.db.CreateUser(ctx, s.Now(), user)
	return err
}

// register creates a customer unless one with that email exists.
func (s *seeder) register(ctx context.Context, c Customer) error {
	_, err := s.db.CustomerLoginByEmail(ctx, c.StoreID, c.Email)
	if app.CodeOf(err) != app.CodeNotFound {
		return err
	}
	hash, err := s.hash()
	if err != nil {
		return err
	}
	_, err = s.db.RegisterCustomer(ctx, s.Now(), c.StoreID, app.Actor{}, identity.NewCustomer{
		Email: c.Email, FirstName: "Carla", LastName: "Customer", Phone: "+493012345678", PasswordHash: hash,
	}, 0) // the new session expires immediately
	return err
}

// fill creates the products of a menu that the store never had. A deleted product stays deleted.
func (s *seeder) fill(ctx context.Context, store app.StoreID, menu []app.Product) error {
	rows, err := s.conn.Query(ctx, `SELECT sku FROM products WHERE store_id = $1`, store)
	if err != nil {
		return err
	}
	known, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, dish := range menu {
		if slices.Contains(known, dish.SKU) {
			continue
		}
		if _, err := s.db.CreateProduct(ctx, s.Now(), store, dish, nil); err != nil {
			return err
		}
	}
	return nil
}

// key returns the earlier API key if it is valid and has all scopes, otherwise a new one.
func (s *seeder) key(ctx context.Context, store app.StoreID) (string, error) {
	caller, err := s.db.AuthenticateKey(ctx, s.Now(), s.APIKey)
	switch code := app.CodeOf(err); {
	case err == nil && caller.StoreID == store && len(caller.Scopes) == len(app.Scopes):
		return s.APIKey.Reveal(), nil
	case err != nil && code != app.CodeTokenInvalid && code != app.CodeAPIKeyRevoked:
		return "", err
	}
	key := app.NewAPIKey{Name: "Demo", Scopes: app.Scopes[:]}
	issued, err := s.db.IssueAPIKey(ctx, s.Now(), store, key)
	return issued.Key.Reveal(), err
}

// subscribe creates the webhook of a store, or updates the URL and the secret of the existing one.
func (s *seeder) subscribe(ctx context.Context, store app.StoreID) error {
	if s.ReceiverURL == "" {
		return nil
	}
	var id app.SubscriptionID
	err := s.conn.QueryRow(ctx, `SELECT id FROM subscriptions WHERE store_id = $1 AND deleted_at IS NULL AND url ~ $2
		ORDER BY created_at LIMIT 1`, store, receiverPattern).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = s.db.CreateSubscription(ctx, s.Now(), store, app.Actor{}, app.NewSubscription{
			URL: s.ReceiverURL, Events: app.EventTypes[:], Secret: s.Secret,
		}, nil)
		return err
	}
	if err != nil {
		return err
	}
	_, err = s.conn.Exec(ctx, `UPDATE subscriptions SET url = $2, secret = $3, version = version + 1, updated_at = $4
		WHERE id = $1`, id, s.ReceiverURL, s.Keyring.Sealer().Seal(s.Secret, string(id)), s.Now())
	return err
}
