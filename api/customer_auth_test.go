package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// registration is a valid body of a store.
func registration(store app.StoreID) map[string]any {
	return map[string]any{
		"storeId": store, "email": "ada@example.com", "password": password, "firstName": "Ada", "lastName": "Lovelace", "phone": "+4915112345678",
	}
}

// addCustomer registers a customer who has no usable password.
func (w *world) addCustomer(store, email string) loginCustomerOut {
	w.Helper()
	id := w.stores[store].id
	session, err := w.db.RegisterCustomer(w.Context(), w.now, id, persistence.NewCustomer{Email: email, FirstName: "Ada", LastName: "Lovelace", PasswordHash: "-"}, time.Hour)
	w.must(err)
	token, err := w.server.tokens.mint(w.now, customerClaims(id, session))
	w.must(err)
	return loginCustomerOut{token, session.Customer}
}

func customerClaims(store app.StoreID, session persistence.CustomerSession) claims {
	return claims{
		Subject: string(session.Customer.ID), Email: session.Customer.Email, StoreID: store, Audience: app.RealmCustomer, SessionID: session.ID,
	}
}

// orderOf places an order of a registered customer.
func (w *world) orderOf(store string, customer app.CustomerID) app.Order {
	w.Helper()
	s := w.stores[store]
	order, err := w.db.PlaceOrder(w.Context(), w.now, s.id, app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: s.product.ID, Quantity: 1}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourceWeb, CustomerID: customer, StoreViewID: s.view.ID,
	}, nil, nil)
	w.must(err)
	return order
}

// events returns the bodies of a store's events of one type.
func (w *world) events(store app.StoreID, t app.EventType) (bodies []string) {
	w.Helper()
	w.must(w.db.System().NewRaw("SELECT body FROM outbox WHERE store_id = ? AND type = ?", store, t).Scan(w.Context(), &bodies))
	return bodies
}

func TestRegisterCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var data loginCustomerOut
	a := w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &data)
	want := app.Customer{ID: data.Customer.ID, Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678"}
	if diff := cmp.Diff(want, data.Customer); diff != "" || !strings.Contains(string(a.body.Data), `"loyaltyPoints":0,"totalOrders":0`) {
		t.Errorf("%s in %s", diff, a.body.Data)
	}
	refresh := w.checkCustomerLogin(a, own, data)

	events := w.events(own, app.EventCustomerCreated)
	at := slices.IndexFunc(events, func(body string) bool { return strings.Contains(body, `"email":"ada@example.com"`) })
	if len(events) != before+1 || at < 0 {
		t.Fatalf("%d new events", len(events)-before)
	}
	var event struct {
		StoreID app.StoreID  `json:"storeId"`
		Data    app.Customer `json:"data"`
	}
	w.must(json.Unmarshal([]byte(events[at]), &event))
	if event.StoreID != own || event.Data != want {
		t.Errorf("event %s", events[at])
	}
	for _, secret := range []string{password, data.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) || strings.Contains(events[at], secret) {
			t.Errorf("%.12s… is in the log or the event", secret)
		}
	}

	// The address is taken in any case, but only in that store and not by a guest of that address.
	w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": "ADA@Example.com"})).refused(app.CodeEmailTaken)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["sibling"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["foreign"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration("sto_none")).refused(app.CodeNotFound)
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Grace", "email": "grace@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, nil)
	var grace loginCustomerOut
	w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": "grace@example.com", "phone": nil})).ok(201, &grace)
	if grace.Customer.TotalOrders != 0 || grace.Customer.Phone != "" {
		t.Errorf("a guest's past is the account's: %+v", grace.Customer)
	}
}

// checkCustomerLogin checks cookie and claims of an answer, and returns the refresh token.
func (w *world) checkCustomerLogin(a *answer, store app.StoreID, data loginCustomerOut) string {
	w.Helper()
	cookie, attributes, _ := strings.Cut(a.Header().Get("Set-Cookie"), ";")
	if attributes != " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict" || len(a.Header().Values("Set-Cookie")) != 1 {
		w.Errorf("cookie: %s", a.Header().Values("Set-Cookie"))
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
		w.Errorf("claims: %s", diff)
	}
	refresh, ok := strings.CutPrefix(cookie, "customerRefreshToken=")
	if !ok || refresh != w.server.tokens.mintRefresh(app.RealmCustomer, app.SessionID(session), 0) {
		w.Errorf("refresh token: %s", cookie)
	}
	if refresh == w.server.tokens.mintRefresh(app.RealmTenant, app.SessionID(session), 0) {
		w.Error("the realms share their refresh keys")
	}
	return refresh
}

func TestRegisterAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	w.server.timeout, w.server.passwords.maxWait = 2*time.Minute, 2*time.Minute // for slow machines
	before := len(w.events(own, app.EventCustomerCreated))
	var mu sync.Mutex
	answers := map[app.Code]int{}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			email := []string{"ada@example.com", "ADA@example.com"}[i%2]
			a := w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email}))
			mu.Lock()
			defer mu.Unlock()
			answers[a.body.Error.Code]++
		})
	}
	wait.Wait()
	// On a machine with much else to do, some wait too long for their turn to hash.
	if answers[""] != 1 || answers[app.CodeEmailTaken]+answers[app.CodeUnavailable] != 49 || answers[app.CodeEmailTaken] == 0 {
		t.Error(answers)
	}
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestLoginCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	var registered, data loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &registered)
	w.orderOf("own", registered.Customer.ID)
	a := w.do("POST", "/customer-auth/login", "", altered(credentials("Ada@EXAMPLE.com", password), object{"storeId": own})).ok(200, &data)
	registered.Customer.TotalOrders = 1
	if diff := cmp.Diff(registered.Customer, data.Customer); diff != "" {
		t.Error(diff)
	}
	refresh := w.checkCustomerLogin(a, own, data)
	for _, secret := range []string{password, data.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("%.12s… is in the log", secret)
		}
	}
	if w.claimsOf(registered.AccessToken)["sid"] == w.claimsOf(data.AccessToken)["sid"] {
		t.Error("two logins share a session")
	}
}

func (w *world) claimsOf(token string) (c jwt.MapClaims) {
	w.Helper()
	_, _, err := jwt.NewParser().ParseUnverified(token, &c)
	w.must(err)
	return c
}

// TestRefusedCustomerLoginsLookTheSame: as for users, whatever is wrong.
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
	login := func(store app.StoreID, email, password string) *answer {
		before := runs.Load()
		a := w.do("POST", "/customer-auth/login", "", object{"storeId": store, "email": email, "password": password})
		if n := runs.Load() - before; n != 1 {
			t.Errorf("%s: the hash ran %d times", email, n)
		}
		return a
	}
	seen := map[string]string{}
	for name, a := range map[string]*answer{
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
		a.what = name
		if a.refused(app.CodeInvalidCredentials); a.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: sets a cookie", name)
		}
		seen[a.same()] = name
	}
	if len(seen) != 1 {
		t.Errorf("the answers differ: %q", seen)
	}
	login(own, "ada@example.com", password).ok(200, nil)
	w.do("POST", "/auth/login", "", credentials("ada@example.com", password)).refused(app.CodeInvalidCredentials)
}

func TestCustomerRehash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	weak, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 8 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	w.must(err)
	w.addCustomer("own", "ada@example.com")
	w.exec("UPDATE customers SET password_hash = $1 WHERE email = 'ada@example.com'", weak)
	for range 2 {
		w.do("POST", "/customer-auth/login", "", altered(credentials("ada@example.com", password), object{"storeId": own})).ok(200, nil)
	}
	login, err := w.db.CustomerLoginByEmail(t.Context(), own, "ada@example.com")
	w.must(err)
	if !strings.HasPrefix(login.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the hash is %s", login.PasswordHash)
	}
}

func TestLogoutCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com")
	order := "/orders/" + string(w.orderOf("own", customer.Customer.ID).ID)
	login, err := w.db.CustomerLoginByEmail(t.Context(), w.stores["own"].id, "ada@example.com")
	w.must(err)
	second, err := w.db.StartCustomerSession(t.Context(), noon, w.stores["own"].id, login, "", time.Hour)
	w.must(err)
	other, err := w.server.tokens.mint(w.now, customerClaims(w.stores["own"].id, second))
	w.must(err)

	var data map[string]string
	a := w.do("POST", "/customer-auth/logout", customer.AccessToken, nil).ok(200, &data)
	if cookie := a.Header().Get("Set-Cookie"); cookie != "customerRefreshToken=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict" {
		t.Errorf("cookie: %s", cookie)
	}
	if len(data) != 1 || data["message"] == "" {
		t.Errorf("data: %s", a.body.Data)
	}
	w.do("GET", order, customer.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", customer.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.do("GET", order, other, nil).ok(200, nil)

	w.exec("UPDATE customers SET disabled_at = now() WHERE id = $1", customer.Customer.ID)
	w.do("GET", order, other, nil).refused(app.CodeTokenRevoked)
	w.do("POST", "/customer-auth/logout", w.tokens["OWNER"], nil).refused(app.CodeTokenInvalid)
	w.do("POST", "/customer-auth/logout", "", nil).refused(app.CodeTokenInvalid)
}

// TestOwnOrders: a customer sees own orders, and of others not even that they exist.
func TestOwnOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	elsewhere := w.addCustomer("sibling", "ada@example.com")
	mine, bobs := w.orderOf("own", ada.Customer.ID), w.orderOf("own", bob.Customer.ID)
	var guests orderOut
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Ada", "email": "ada@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, &guests)
	if guests.Customer.ID == ada.Customer.ID {
		t.Error("a guest's order touches the account of that address")
	}

	var seen orderOut
	w.do("GET", "/orders/"+string(mine.ID), ada.AccessToken, nil).ok(200, &seen)
	if diff := cmp.Diff(mine, seen.Order); diff != "" || len(seen.AllowedTransitions) != 0 {
		t.Error(diff, seen.AllowedTransitions)
	}
	unknown := w.do("GET", "/orders/ord_0199f1c2", ada.AccessToken, nil).refused(app.CodeNotFound).same()
	for name, c := range map[string]struct {
		who   loginCustomerOut
		order app.OrderID
	}{
		"another customer's":                 {ada, bobs.ID},
		"a guest's of that address":          {ada, guests.ID},
		"of the same address, another store": {ada, w.orderOf("sibling", elsewhere.Customer.ID).ID},
		"from the other store":               {elsewhere, mine.ID},
		"a stranger's":                       {ada, w.stores["foreign"].order.ID},
	} {
		if a := w.do("GET", "/orders/"+string(c.order), c.who.AccessToken, nil).refused(app.CodeNotFound); a.same() != unknown {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
}

// TestCustomerTokenAttacks: a token is good for its realm, its store and its session alone.
func TestCustomerTokenAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	order := "/orders/" + string(w.orderOf("own", ada.Customer.ID).ID)
	login, err := w.db.CustomerLoginByEmail(t.Context(), own, "ada@example.com")
	w.must(err)
	session, err := w.db.StartCustomerSession(t.Context(), noon, own, login, "", time.Hour)
	w.must(err)
	with := func(realm app.Realm, change func(*claims)) string {
		c := customerClaims(own, session)
		change(&c)
		keys := w.server.tokens
		keys.access = map[app.Realm][]app.DerivedKey{c.Audience: w.server.tokens.access[realm]}
		token, err := keys.mint(w.now, c)
		w.must(err)
		return token
	}
	w.do("GET", order, with(app.RealmCustomer, func(*claims) {}), nil).ok(200, nil)
	for name, token := range map[string]string{
		"the tenants' key":             with(app.RealmTenant, func(*claims) {}),
		"the platform's key":           with(app.RealmPlatform, func(*claims) {}),
		"said to be a tenant's":        with(app.RealmCustomer, func(c *claims) { c.Audience, c.Role = app.RealmTenant, app.RoleOwner }),
		"said to be a platform token":  with(app.RealmCustomer, func(c *claims) { c.Audience = app.RealmPlatform }),
		"a role":                       with(app.RealmCustomer, func(c *claims) { c.Role = app.RoleOwner }),
		"no store":                     with(app.RealmCustomer, func(c *claims) { c.StoreID = "" }),
		"no customer":                  with(app.RealmCustomer, func(c *claims) { c.Subject = "" }),
		"no session":                   with(app.RealmCustomer, func(c *claims) { c.SessionID = "" }),
		"a refresh token":              w.server.tokens.mintRefresh(app.RealmCustomer, session.ID, 0),
		"the session of a tenant user": w.customerToken(),
	} {
		a := w.do("GET", order, token, nil)
		a.what = name
		a.refused(app.CodeTokenInvalid)
	}
	user := w.claims("OWNER", own)
	for name, token := range map[string]string{
		"another's session":            with(app.RealmCustomer, func(c *claims) { c.Subject = string(bob.Customer.ID) }),
		"another store":                with(app.RealmCustomer, func(c *claims) { c.StoreID = w.stores["sibling"].id }),
		"a session that is not":        with(app.RealmCustomer, func(c *claims) { c.SessionID = "ses_none" }),
		"a tenant user with a session": with(app.RealmCustomer, func(c *claims) { c.Subject, c.SessionID = user.Subject, user.SessionID }),
		"a customer as a tenant":       with(app.RealmTenant, func(c *claims) { c.Audience, c.Role = app.RealmTenant, app.RoleOwner }),
	} {
		a := w.do("GET", order, token, nil)
		a.what = name
		a.refused(app.CodeTokenRevoked)
	}
	w.now = w.now.Add(time.Hour)
	a := w.do("GET", order, ada.AccessToken, nil).refused(app.CodeTokenExpired)
	if !strings.Contains(a.body.Error.Message, "/customer-auth/refresh") {
		t.Error(a.body.Error.Message)
	}
	w.do("GET", "/products", ada.AccessToken, nil).refused(app.CodeTokenInvalid)
}

func TestBadRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nothing":                {object{"storeId": nil, "email": nil, "password": nil, "firstName": nil, "lastName": nil, "phone": nil}, "storeId|email|password|firstName|lastName"},
		"a store of no form":     {object{"storeId": "a b"}, "storeId"},
		"a store that is a list": {object{"storeId": []any{own}}, "storeId"},
		"an address without @":   {object{"email": "ada"}, "email"},
		"two addresses":          {object{"email": "a@example.com,b@example.com"}, "email"},
		"a line break":           {object{"email": "a@example.com\nBcc: b@example.com"}, "email"},
		"a long address":         {object{"email": strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 100) + "com"}, "email"},
		"an empty password":      {object{"password": ""}, "password"},
		"seven bytes":            {object{"password": "s3ven b"}, "password"},
		"1025 bytes":             {object{"password": strings.Repeat("x", 1025)}, "password"},
		"1026 bytes in 513":      {object{"password": strings.Repeat("é", 513)}, "password"},
		"a common password":      {object{"password": "password123"}, "password"},
		"in another case":        {object{"password": "PassWord123"}, "password"},
		"a password number":      {object{"password": 12345678}, "password"},
		"a blank name":           {object{"firstName": " \t"}, "firstName"},
		"a long name":            {object{"lastName": strings.Repeat("é", 101)}, "lastName"},
		"a number without +":     {object{"phone": "4915112345678"}, "phone"},
		"a phone null":           {object{"phone": json.RawMessage("null")}, "phone"},
		"points":                 {object{"loyaltyPoints": 100}, "loyaltyPoints"},
		"a role":                 {object{"role": "OWNER"}, "role"},
	} {
		a := w.do("POST", "/customer-auth/register", "", altered(registration(own), c.change))
		a.what = name
		a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
	}
	for i, good := range []string{"ächtbyt", strings.Repeat("é", 512), "  spaces  ", "11111111a", strings.Repeat("\u2028", 3)} {
		email := fmt.Sprintf("%d@example.com", i)
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"password": good, "email": email})).ok(201, nil)
		login := func(password string) *answer {
			return w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": email, "password": password})
		}
		login(good).ok(200, nil)
		if trimmed := strings.TrimSpace(good); trimmed != good && trimmed != "" {
			login(trimmed).refused(app.CodeInvalidCredentials)
		}
	}
	for body, paths := range map[string]string{
		`{}`: "storeId|email|password",
		`{"storeId":"sto_1","email":1,"password":{}}`:                     "email|password",
		`{"storeId":"no id!","email":"a","password":"b","remember":true}`: "remember|storeId",
	} {
		w.do("POST", "/customer-auth/login", "", body).refused(app.CodeValidationFailed, strings.Split(paths, "|")...)
	}
	ada := w.addCustomer("own", "ada@example.com")
	w.do("POST", "/customer-auth/logout", ada.AccessToken, `{"everywhere":true}`).refused(app.CodeValidationFailed, "everywhere")
	for _, path := range []string{"/customer-auth/register", "/customer-auth/login", "/customer-auth/logout"} {
		w.do("POST", path, ada.AccessToken, `{}`, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	}
}

func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	lines := strings.Fields(commonPasswords)
	if len(lines) != 1000 || len(commonPasswordSet()) != len(lines) {
		t.Errorf("%d lines, %d passwords", len(lines), len(commonPasswordSet()))
	}
	useless := func(p string) bool { return len(p) < 8 || p != strings.ToLower(p) }
	if i := slices.IndexFunc(lines, useless); i >= 0 {
		t.Errorf("%q can never match", lines[i])
	}
}
