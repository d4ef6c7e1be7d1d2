package api

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// registration is a valid body of POST /customer-auth/register in a store.
func registration(store app.StoreID) map[string]any {
	return map[string]any{
		"storeId": store, "email": "ada@example.com", "password": password, "firstName": "Ada", "lastName": "Lovelace",
		"phone": "+4915112345678",
	}
}

// addCustomer registers a customer who has no usable password.
func (w *world) addCustomer(store, email string) loginCustomerOut {
	w.Helper()
	id := w.stores[store].id
	session, err := w.db.RegisterCustomer(w.Context(), w.now, id, app.Actor{},
		identity.NewCustomer{Email: email, FirstName: "Ada", LastName: "Lovelace", PasswordHash: "-"}, time.Hour)
	w.must(err)
	token, err := w.server.tokens.mint(w.now, customerClaims(id, session))
	w.must(err)
	return loginCustomerOut{token, session.Customer}
}

func customerClaims(store app.StoreID, session identity.CustomerSession) claims {
	return claims{
		Subject: string(session.Customer.ID), Email: session.Customer.Email, StoreID: store,
		Audience: app.RealmCustomer, SessionID: session.ID,
	}
}

// orderOf places an order of a registered customer.
func (w *world) orderOf(store string, customer app.CustomerID) app.Order {
	w.Helper()
	s := w.stores[store]
	order, err := w.db.PlaceOrder(w.Context(), w.now, s.id, app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: s.product.ID, Quantity: 1}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourceWeb, CustomerID: customer, StoreViewID: s.view.ID,
	}, nil)
	w.must(err)
	return order
}

// events returns the bodies of a store's events of one type.
func (w *world) events(store app.StoreID, t app.EventType) (bodies []string) {
	w.Helper()
	w.must(w.db.System().NewRaw("SELECT body FROM outbox WHERE store_id = ? AND type = ?", store, t).Scan(w.Context(),
		&bodies))
	return bodies
}

// checkCustomerLogin checks the cookie and the claims of a response, and returns the refresh token.
func (w *world) checkCustomerLogin(a *response, store app.StoreID, data loginCustomerOut) string {
	w.Helper()
	cookie, attributes, _ := strings.Cut(a.Header().Get("Set-Cookie"), ";")
	if attributes != " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict" ||
		len(a.Header().Values("Set-Cookie")) != 1 {
		w.Errorf("got the cookies %q, want one with the attributes of a refresh token", a.Header().Values("Set-Cookie"))
	}
	var c jwt.MapClaims
	_, _, err := jwt.NewParser().ParseUnverified(data.AccessToken, &c)
	w.must(err)
	session, _ := c["sid"].(string)
	want := jwt.MapClaims{
		"sub": string(data.Customer.ID), "email": data.Customer.Email, "storeId": string(store), "aud": "customer",
		"iat": float64(noon.Unix()), "exp": float64(noon.Unix() + 900), "iss": issuer, "sid": session,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		w.Errorf("claims (-want +got): %s", diff)
	}
	refresh, ok := strings.CutPrefix(cookie, "customerRefreshToken=")
	if !ok || refresh != w.server.tokens.mintRefresh(app.RealmCustomer, app.SessionID(session), 0) {
		w.Errorf("got the cookie %s, want the first refresh token of the session", cookie)
	}
	if refresh == w.server.tokens.mintRefresh(app.RealmTenant, app.SessionID(session), 0) {
		w.Errorf("refresh token: got %s, want one that differs from the token of a user", refresh)
	}
	return refresh
}

func TestLoginCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	var registered, data loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &registered)
	w.orderOf("own", registered.Customer.ID)
	a := w.do("POST", "/customer-auth/login", "",
		altered(credentials("Ada@EXAMPLE.com", password), object{"storeId": own})).ok(200, &data)
	registered.Customer.TotalOrders = 1
	if diff := cmp.Diff(registered.Customer, data.Customer); diff != "" {
		t.Error("customer at login (-want +got):", diff)
	}
	refresh := w.checkCustomerLogin(a, own, data)
	for _, secret := range []string{password, data.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log contains a secret that begins with %.12s", secret)
		}
	}
	if w.claimsOf(registered.AccessToken)["sid"] == w.claimsOf(data.AccessToken)["sid"] {
		t.Error("two logins: got the same session, want two")
	}
}

func (w *world) claimsOf(token string) (c jwt.MapClaims) {
	w.Helper()
	_, _, err := jwt.NewParser().ParseUnverified(token, &c)
	w.must(err)
	return c
}

// Refused logins of customers have the same response for each reason.
func TestRefusedCustomerLoginsLookTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	w.withPassword("owner2", nil, "own")
	for _, email := range []string{"ada@example.com", "disabled@example.com", "social@example.com"} {
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email})).ok(201, nil)
	}
	w.exec("UPDATE customers SET disabled_at = now() WHERE email = 'disabled@example.com'")
	w.exec("UPDATE customers SET password_hash = '' WHERE email = 'social@example.com'")
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Guest", "email": "guest@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, nil)
	var runs atomic.Int64
	w.server.passwords.runs = func() { runs.Add(1) }
	login := func(store app.StoreID, email, password string) *response {
		before := runs.Load()
		a := w.do("POST", "/customer-auth/login", "", object{"storeId": store, "email": email, "password": password})
		if n := runs.Load() - before; n != 1 {
			t.Errorf("%s: got %d runs of the hash function, want 1", email, n)
		}
		return a
	}
	seen := map[string]string{}
	for name, a := range map[string]*response{
		"unknown address":     login(own, "nobody@example.com", password),
		"unknown store":       login("sto_none", "ada@example.com", password),
		"another store":       login(w.stores["sibling"].id, "ada@example.com", password),
		"wrong password":      login(own, "ada@example.com", password+"!"),
		"white space matters": login(own, "ada@example.com", " "+password),
		"case matters":        login(own, "ada@example.com", strings.ToUpper(password)),
		"disabled":            login(own, "disabled@example.com", password),
		"no password":         login(own, "social@example.com", password),
		"a guest":             login(own, "guest@example.com", password),
		"a user":              login(own, "owner2@example.com", password),
		"an odd address":      login(own, "Robert'); DROP TABLE customers;--", password),
	} {
		w.run(name, func(t *testing.T) {
			if a.refused(app.CodeInvalidCredentials); a.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: got the cookie %q, want none", name, a.Header().Get("Set-Cookie"))
			}
			seen[a.same()] = name
		})
	}
	if len(seen) != 1 {
		t.Errorf("got different responses, want equal ones: %q", seen)
	}
	login(own, "ada@example.com", password).ok(200, nil)
	w.do("POST", "/auth/login", "", credentials("ada@example.com", password)).refused(app.CodeInvalidCredentials)
}

func TestCustomerRehash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.passwords.use(hashing)
	own := w.stores["own"].id
	weak, err := argon2id.CreateHash(password,
		&argon2id.Params{Memory: 8 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	w.must(err)
	w.addCustomer("own", "ada@example.com")
	w.exec("UPDATE customers SET password_hash = $1 WHERE email = 'ada@example.com'", weak)
	for range 2 {
		w.do("POST", "/customer-auth/login", "",
			altered(credentials("ada@example.com", password), object{"storeId": own})).ok(200, nil)
	}
	login, err := w.db.CustomerLoginByEmail(t.Context(), own, "ada@example.com")
	w.must(err)
	if !strings.HasPrefix(login.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash: got %s, want the current parameters of argon2id", login.PasswordHash)
	}
}

func TestLogoutCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com")
	order := "/orders/" + string(w.orderOf("own", customer.Customer.ID).ID)
	login, err := w.db.CustomerLoginByEmail(t.Context(), w.stores["own"].id, "ada@example.com")
	w.must(err)
	second, err := w.db.StartCustomerSession(t.Context(), noon, w.stores["own"].id, app.Actor{}, login, "", time.Hour)
	w.must(err)
	other, err := w.server.tokens.mint(w.now, customerClaims(w.stores["own"].id, second))
	w.must(err)

	var data map[string]string
	a := w.do("POST", "/customer-auth/logout", customer.AccessToken, nil).ok(200, &data)
	cleared := "customerRefreshToken=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict"
	if cookie := a.Header().Get("Set-Cookie"); cookie != cleared {
		t.Errorf("cookie: got %s, want %s", cookie, cleared)
	}
	if len(data) != 1 || data["message"] == "" {
		t.Errorf("data: got %s, want only a message", a.body.Data)
	}
	w.do("GET", order, customer.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", customer.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("GET", order, other, nil).ok(200, nil)

	w.exec("UPDATE customers SET disabled_at = now() WHERE id = $1", customer.Customer.ID)
	w.do("GET", order, other, nil).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", w.tokens["OWNER"], nil).refused(app.CodeTokenInvalid)
	w.do("POST", "/customer-auth/logout", "", nil).refused(app.CodeTokenInvalid)
}
