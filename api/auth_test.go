package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

const password = "correct horse battery staple"

func credentials(email, password string) map[string]any {
	return map[string]any{"email": email, "password": password}
}

// withPassword adds a user who can log in.
func (w *world) withPassword(name string, platform *string, stores ...string) {
	w.Helper()
	hash := quickHash(w.T, password)
	roles := map[app.StoreID]app.Role{}
	for _, store := range stores {
		roles[w.stores[store].id] = app.RoleManager
	}
	w.addUser(name, hash, platform, roles)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")

	var data loginOut
	a := w.do("POST", "/auth/login", "", credentials("ADA@example.com", password)).ok(200, &data)
	if data.User != w.users["ada"] || len(data.Stores) != 1 {
		t.Errorf("got %+v in %d stores, want %+v in 1", data.User, len(data.Stores), w.users["ada"])
	}
	want := app.StoreEntry{
		StoreID: w.stores["own"].id, StoreName: "own", WebsiteName: "one.test", WebsiteDomain: "one.test",
		Role: app.RoleManager, CountryCode: "DE",
		WebsiteID: data.Stores[0].WebsiteID, StoreViews: data.Stores[0].StoreViews,
	}
	if diff := cmp.Diff(want, data.Stores[0]); diff != "" || len(want.StoreViews) != 2 ||
		!want.StoreViews[0].IsDefault {
		t.Errorf("store (-want +got): %s; views %+v, want 2, the default first", diff, want.StoreViews)
	}

	// The attributes of the cookie, and the claims.
	cookie := a.Header().Get("Set-Cookie")
	value, attributes, _ := strings.Cut(cookie, ";")
	if attributes != " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict" ||
		len(a.Header().Values("Set-Cookie")) != 1 {
		t.Errorf("got the cookie %s, want one with the attributes of a refresh token", cookie)
	}
	var c jwt.MapClaims
	token, _, err := jwt.NewParser().ParseUnverified(data.AccessToken, &c)
	w.must(err)
	session, _ := c["sid"].(string)
	wantClaims := jwt.MapClaims{
		"sub": string(w.users["ada"].ID), "email": "ada@example.com", "storeId": string(w.stores["own"].id),
		"role": "MANAGER", "aud": "tenant",
		"iat": float64(noon.Unix()), "exp": float64(noon.Unix() + 900), "iss": issuer, "sid": session,
	}
	if diff := cmp.Diff(wantClaims, c); diff != "" || token.Header["alg"] != "HS256" ||
		!strings.HasPrefix(session, "ses_") {
		t.Errorf("claims (-want +got): %s; algorithm %v, session %s", diff, token.Header["alg"], session)
	}
	mac := hmac.New(sha256.New, w.server.tokens.refresh[app.RealmTenant][0].Bytes)
	mac.Write([]byte(session + ".0"))
	if value != "refreshToken="+session+".0."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) {
		t.Errorf("got the cookie %s, want the first refresh token of %s", value, session)
	}

	var me meOut
	w.do("GET", "/auth/me", data.AccessToken, nil).ok(200, &me)
	wantMe := meOut{
		User: meUser{w.users["ada"].ID, "ada@example.com", "ada", false},
		Store: &app.StoreContext{
			StoreID: w.stores["own"].id, StoreName: "own", WebsiteID: want.WebsiteID, Role: app.RoleManager,
			CountryCode: "DE",
			Locale:      "de-DE", Currency: "EUR", Timezone: "Europe/Berlin",
		},
	}
	if diff := cmp.Diff(wantMe, me); diff != "" {
		t.Error("GET /auth/me (-want +got):", diff)
	}
	for _, secret := range []string{password, data.AccessToken, value} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log contains a secret that begins with %.12s", secret)
		}
	}
}

func TestLoginChoosesTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own", "sibling")
	login := func(store string) *response {
		body := credentials("ada@example.com", password)
		if store != "" {
			body["storeId"] = w.stores[store].id
		}
		return w.do("POST", "/auth/login", "", body)
	}
	at := func(a *response) string {
		t.Helper()
		var data loginOut
		a.ok(200, &data)
		var me meOut
		w.do("GET", "/auth/me", data.AccessToken, nil).ok(200, &me)
		return me.Store.StoreName
	}
	var data loginOut
	login("").ok(200, &data)
	if got := at(login("")); got != data.Stores[0].StoreName || len(data.Stores) != 2 {
		t.Errorf("first login: got the store %s, want the first of %+v", got, data.Stores)
	}
	if got := at(login("own")); got != "own" {
		t.Errorf("login to own: got the store %s, want own", got)
	}
	if got := at(login("sibling")); got != "sibling" {
		t.Errorf("login to sibling: got the store %s, want sibling", got)
	}
	if got := at(login("")); got != "sibling" {
		t.Errorf("login without a store: got %s, want the last store, sibling", got)
	}
	if a := login("foreign").refused(app.CodeStoreMismatch); a.Header().Get("Set-Cookie") != "" {
		t.Error("a refused login sets a cookie")
	}
}

func TestPlatformLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.withPassword("root", &role)
	var data loginOut
	a := w.do("POST", "/auth/login", "", credentials("root@example.com", password)).ok(200, &data)
	if data.User.PlatformRole == nil || *data.User.PlatformRole != "ADMIN" ||
		!strings.Contains(string(a.body.Data), `"stores":[]`) {
		t.Errorf("platform login: got %s, want the role ADMIN and no stores", a.body.Data)
	}
	var c jwt.MapClaims
	_, _, err := jwt.NewParser().ParseUnverified(data.AccessToken, &c)
	w.must(err)
	if _, store := c["storeId"]; store || c["role"] != nil || c["aud"] != "platform-admin" {
		t.Errorf("claims: got %v, want aud platform-admin without storeId and role", c)
	}
	if me := w.do("GET", "/auth/me", data.AccessToken, nil).ok(200, nil); strings.Contains(string(me.body.Data),
		"store") {
		t.Errorf("GET /auth/me of a platform administrator: got %s, want no store", me.body.Data)
	}
	w.do("GET", "/products", data.AccessToken, nil).refused(app.CodeTokenInvalid)
}

// TestRefusedLoginsLookTheSame checks that refused logins run the hash once and have the same response for each reason.
func TestRefusedLoginsLookTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	w.withPassword("disabled", nil, "own")
	w.withPassword("homeless", nil)
	_, err := w.db.System().DB.ExecContext(t.Context(), "UPDATE users SET disabled_at = now() WHERE id = $1",
		w.users["disabled"].ID)
	w.must(err)
	var runs atomic.Int64
	w.server.passwords.runs = func() { runs.Add(1) }
	seen := map[string]string{}
	for name, body := range map[string]map[string]any{
		"unknown address":     credentials("nobody@example.com", password),
		"wrong password":      credentials("ada@example.com", password+"!"),
		"disabled user":       credentials("disabled@example.com", password),
		"no store":            credentials("homeless@example.com", password),
		"no usable hash":      credentials("owner@example.com", "-"),
		"the longest":         credentials("ada@example.com", strings.Repeat("x", app.MaxPassword)),
		"white space matters": credentials("ada@example.com", password+" "),
		"an odd address":      credentials("Robert'); DROP TABLE users;--", "x"),
	} {
		w.run(name, func(t *testing.T) {
			before := runs.Load()
			a := w.do("POST", "/auth/login", "", body).refused(app.CodeInvalidCredentials)
			if n := runs.Load() - before; n != 1 {
				t.Errorf("%s: got %d runs of the hash function, want 1", name, n)
			}
			headers := a.Header().Clone()
			headers.Del("X-Request-Id")
			for name := range headers {
				if name == "Set-Cookie" {
					t.Errorf("%s: got a cookie, want none", name)
				}
			}
			seen[a.same()] = name
		})
	}
	if len(seen) != 1 {
		t.Errorf("got different responses, want equal ones: %q", seen)
	}
	before := runs.Load()
	w.do("POST", "/auth/login", "", credentials("ada@example.com", password)).ok(200, nil)
	if n := runs.Load() - before; n != 1 {
		t.Errorf("login: got %d runs of the hash function, want 1", n)
	}
}

// A login with the correct password replaces a hash that has weaker parameters.
func TestRehash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.passwords.use(hashing)
	weak, err := argon2id.CreateHash(password,
		&argon2id.Params{Memory: 8 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	w.must(err)
	w.addUser("ada", weak, nil, map[app.StoreID]app.Role{w.stores["own"].id: app.RoleStaff})
	hash := func() string {
		login, err := w.db.LoginByEmail(t.Context(), "ada@example.com")
		w.must(err)
		return login.PasswordHash
	}
	w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	if got := hash(); got != weak {
		t.Errorf("hash after a wrong password: got %s, want %s", got, weak)
	}
	w.do("POST", "/auth/login", "", credentials("ada@example.com", password)).ok(200, nil)
	strong := hash()
	if !strings.HasPrefix(strong, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash: got %s, want the current parameters of argon2id", strong)
	}
	w.do("POST", "/auth/login", "", credentials("ada@example.com", password)).ok(200, nil)
	if got := hash(); got != strong {
		t.Errorf("hash after another login: got %s, want %s", got, strong)
	}
}

func TestBadLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, paths := range map[string]string{
		`{}`:                                                          "email|password",
		`{"email":"","password":""}`:                                  "email|password",
		`{"email":1,"password":true}`:                                 "email|password",
		`{"email":null,"password":"x"}`:                               "email",
		`{"email":["a"],"password":{}}`:                               "email|password",
		`{"Email":"a","password":"x"}`:                                "Email|email",
		`{"email":"a","password":"x","remember":true}`:                "remember",
		`{"email":"a","password":"x","storeId":"no id!"}`:             "storeId",
		`{"email":"` + strings.Repeat("é", 321) + `","password":"x"}`: "email",
		`{"email":"a","password":"` + strings.Repeat("x", app.MaxPassword+1) + `"}`: "password",
		`{"email":"a","password":"` + strings.Repeat("é", 513) + `"}`:               "password",
	} {
		w.do("POST", "/auth/login", "", body).refused(app.CodeValidationFailed, strings.Split(paths, "|")...)
	}
	w.do("POST", "/auth/login?x=1", "", credentials("a", "b")).refused(app.CodeValidationFailed, "x")
	w.do("POST", "/auth/login", "", `{"email":"`+strings.Repeat("é", 320)+`","password":"x"}`).
		refused(app.CodeInvalidCredentials)
	w.do("GET", "/auth/me?store=1", w.tokens["STAFF"], nil).refused(app.CodeValidationFailed, "store")
	w.do("GET", "/auth/me", w.tokens["STAFF"], `{"a":1}`).refused(app.CodeValidationFailed, "a")
	w.do("GET", "/auth/me", w.tokens["STAFF"], `{}`).ok(200, nil)
}
