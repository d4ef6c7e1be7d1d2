package api

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// forge signs any header and claims with any key.
func forge(t testing.TB, method jwt.SigningMethod, key any, header, claims string) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	signature, err := method.Sign(text, key)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestTokenAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tenant, platform := w.server.tokens.access[app.RealmTenant][0], w.server.tokens.access[app.RealmPlatform][0]
	foreignRing, err := app.NewKeyring(app.NewSecret(strings.Repeat("other key ", 4)))
	w.must(err)
	foreign := foreignRing.Derive("tenant access token")[0]
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	w.must(err)

	header := `{"alg":"HS256","typ":"JWT","kid":"` + tenant.ID + `"}`
	good := w.claims("OWNER", w.stores["own"].id)
	good.Issuer, good.IssuedAt, good.ExpiresAt = issuer, w.now.Unix(), w.now.Add(15*time.Minute).Unix()
	encoded, err := json.Marshal(good)
	w.must(err)
	var members map[string]any
	w.must(json.Unmarshal(encoded, &members))
	// with returns the claims with changes; nil removes a claim.
	with := func(change map[string]any) string {
		changed := maps.Clone(members)
		maps.Copy(changed, change)
		maps.DeleteFunc(changed, func(_ string, v any) bool { return v == nil })
		encoded, err := json.Marshal(changed)
		w.must(err)
		return string(encoded)
	}
	hs256 := func(header, claims string) string {
		return forge(t, jwt.SigningMethodHS256, tenant.Bytes, header, claims)
	}
	valid := hs256(header, with(nil))
	cut := strings.LastIndex(valid, ".")
	now := w.now.Unix()
	expired := map[string]any{"iat": now - 1000, "exp": now - 100}
	other := func(change map[string]any, and map[string]any) map[string]any {
		both := maps.Clone(change)
		maps.Copy(both, and)
		return both
	}

	accepted := map[string]string{
		"as we make it":             valid,
		"no typ":                    hs256(`{"alg":"HS256","kid":"`+tenant.ID+`"}`, with(nil)),
		"a claim that we know not":  hs256(header, with(map[string]any{"nonce": "x"})),
		"issued by a faster clock":  hs256(header, with(map[string]any{"iat": now + 4, "exp": now + 600})),
		"another role than it says": hs256(header, with(map[string]any{"role": "STAFF"})),
	}
	for name, token := range accepted {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/webhooks", token, nil).ok(200, nil)
		})
	}
	refused := map[string]string{
		"empty": "", "one dot": ".", "two dots": "..", "three parts of nothing": "a.b.c", "a space": " " + valid,
		"a comma": valid + "," + valid,
		"alg none": base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"`+tenant.ID+`"}`)) + "." +
			base64.RawURLEncoding.EncodeToString([]byte(with(nil))) + ".",
		"alg none, signed":        hs256(`{"alg":"none","kid":"`+tenant.ID+`"}`, with(nil)),
		"alg hs256 in lower case": hs256(`{"alg":"hs256","kid":"`+tenant.ID+`"}`, with(nil)),
		"HS384": forge(t, jwt.SigningMethodHS384, tenant.Bytes,
			strings.Replace(header, "256", "384", 1), with(nil)),
		"HS512": forge(t, jwt.SigningMethodHS512, tenant.Bytes,
			strings.Replace(header, "256", "512", 1), with(nil)),
		"RS256": forge(t, jwt.SigningMethodRS256, rsaKey,
			strings.Replace(header, "HS", "RS", 1), with(nil)),
		"HS256 said to be RS256":   hs256(strings.Replace(header, "HS", "RS", 1), with(nil)),
		"the key of another realm": forge(t, jwt.SigningMethodHS256, platform.Bytes, header, with(nil)),
		"a key that is not ours":   forge(t, jwt.SigningMethodHS256, foreign.Bytes, header, with(nil)),
		"its kid as well": forge(t, jwt.SigningMethodHS256, foreign.Bytes,
			strings.Replace(header, tenant.ID, foreign.ID, 1), with(nil)),
		"an empty key": forge(t, jwt.SigningMethodHS256, []byte{}, header, with(nil)),
		"no kid":       hs256(`{"alg":"HS256","typ":"JWT"}`, with(nil)),
		"kid a path": hs256(strings.Replace(header, tenant.ID, "../../../../dev/null", 1),
			with(nil)),
		"kid a path, the empty key": forge(t, jwt.SigningMethodHS256, []byte{},
			strings.Replace(header, tenant.ID, "/dev/null", 1), with(nil)),
		"kid SQL": hs256(strings.Replace(header, tenant.ID, "' UNION SELECT 'k' --", 1),
			with(nil)),
		"kid SQL, its key": forge(t, jwt.SigningMethodHS256, []byte("k"),
			strings.Replace(header, tenant.ID, "' UNION SELECT 'k' --", 1), with(nil)),
		"kid a URL": hs256(strings.Replace(header, tenant.ID, "https://evil.test/jwks.json", 1),
			with(nil)),
		"kid of a command": hs256(strings.Replace(header, tenant.ID, "|sleep 9", 1), with(nil)),
		"kid a list": hs256(strings.Replace(header, `"`+tenant.ID+`"`, `["`+tenant.ID+`"]`, 1),
			with(nil)),
		"kid a number":                  hs256(`{"alg":"HS256","typ":"JWT","kid":7}`, with(nil)),
		"another typ":                   hs256(strings.Replace(header, "JWT", "at+jwt", 1), with(nil)),
		"crit":                          hs256(strings.Replace(header, "{", `{"crit":["exp"],`, 1), with(nil)),
		"jwk":                           hs256(strings.Replace(header, "{", `{"jwk":{},`, 1), with(nil)),
		"no exp":                        hs256(header, with(map[string]any{"exp": nil})),
		"exp null":                      hs256(header, strings.Replace(with(nil), `"exp":`, `"exp":null,"x":`, 1)),
		"exp a string":                  hs256(header, with(map[string]any{"exp": "9999999999"})),
		"exp a fraction":                hs256(header, strings.Replace(with(nil), `"iat":`, `"exp":1e20,"x":`, 1)),
		"exp for ever":                  hs256(header, with(map[string]any{"exp": int64(1) << 62})),
		"too long a life":               hs256(header, with(map[string]any{"exp": now + 901})),
		"no iat":                        hs256(header, with(map[string]any{"iat": nil})),
		"iat in the future":             hs256(header, with(map[string]any{"iat": now + 60, "exp": now + 600})),
		"exp before iat":                hs256(header, with(map[string]any{"exp": now - 1})),
		"no iss":                        hs256(header, with(map[string]any{"iss": nil})),
		"another iss":                   hs256(header, with(map[string]any{"iss": issuer + "/"})),
		"no aud":                        hs256(header, with(map[string]any{"aud": nil})),
		"aud a list":                    hs256(header, with(map[string]any{"aud": []string{"tenant"}})),
		"aud customer":                  hs256(header, with(map[string]any{"aud": "customer"})),
		"aud platform-admin":            hs256(header, with(map[string]any{"aud": "platform-admin"})),
		"aud api-key":                   hs256(header, with(map[string]any{"aud": "api-key"})),
		"no sid":                        hs256(header, with(map[string]any{"sid": nil})),
		"no sub":                        hs256(header, with(map[string]any{"sub": nil})),
		"no store":                      hs256(header, with(map[string]any{"storeId": nil})),
		"a claim twice":                 hs256(header, strings.Replace(with(nil), "{", `{"sub":"usr_x",`, 1)),
		"a claim twice, unknown":        hs256(header, strings.Replace(with(nil), "{", `{"x":1,"x":2,`, 1)),
		"claims in another case":        hs256(header, strings.Replace(with(nil), `"exp"`, `"EXP"`, 1)),
		"claims a list":                 hs256(header, `[]`),
		"claims null":                   hs256(header, `null`),
		"claims cut off":                hs256(header, with(nil)[:40]),
		"header a list":                 hs256(`[]`, with(nil)),
		"no signature":                  valid[:cut+1],
		"a signature cut short":         valid[:len(valid)-4],
		"altered bits that pad":         valid[:len(valid)-1] + string(flipPadding(valid[len(valid)-1])),
		"padding":                       valid + "=",
		"a fourth part":                 valid + ".x",
		"altered claims":                strings.Replace(valid, ".ey", ".eY", 1),
		"a line break":                  valid[:20] + "\n" + valid[20:],
		"a line break in the signature": valid[:len(valid)-4] + "\n" + valid[len(valid)-4:],
		"standard base64":               valid[:cut] + "." + strings.Repeat("+", 43),
		"a megabyte of dots":            strings.Repeat(".", 1<<20),
		"a megabyte of claims": hs256(header,
			strings.Replace(with(nil), "{", `{"x":"`+strings.Repeat("y", 1<<20)+`",`, 1)),
		"expired, with a bad signature": forge(t, jwt.SigningMethodHS256, foreign.Bytes, header, with(expired)),
		"expired, of another issuer":    hs256(header, with(other(expired, map[string]any{"iss": "x"}))),
		"expired, of another realm":     hs256(header, with(other(expired, map[string]any{"aud": "customer"}))),
		"expired, without a session":    hs256(header, with(other(expired, map[string]any{"sid": nil}))),
		"expired, with crit":            hs256(strings.Replace(header, "{", `{"crit":["exp"],`, 1), with(expired)),
	}
	for name, token := range refused {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/webhooks", token, nil).refused(app.CodeTokenInvalid)
		})
	}
	for name, token := range map[string]string{
		"expired":                  hs256(header, with(expired)),
		"expired this very second": hs256(header, with(map[string]any{"iat": now - 10, "exp": now})),
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/webhooks", token, nil).refused(app.CodeTokenExpired)
		})
	}
	for name, claims := range map[string]map[string]any{
		"another's session": {"sub": w.users["ADMIN"].ID}, "no such session": {"sid": "ses_none"},
		"a store of which the user is no member": {"storeId": w.stores["foreign"].id},
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/webhooks", hs256(header, with(claims)), nil).refused(app.CodeTokenRevoked)
		})
	}
	// An expired platform token gets the error of the wrong realm, not of the expiry.
	w.now = w.now.Add(time.Hour)
	w.do("GET", "/webhooks", w.tokens["PLATFORM"], nil).refused(app.CodeTokenInvalid)
	w.do("GET", "/auth/me", w.tokens["PLATFORM"], nil).refused(app.CodeTokenExpired)
}

// flipPadding changes an unused bit of the last base64 character. The number of bytes must not be a multiple of three.
func flipPadding(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)^1]
}

func TestCredentialsAreReadFromTheHeaderOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.tokens["OWNER"]
	for name, change := range map[string]func(*http.Request){
		"two headers": header("Authorization", "Bearer "+token),
		"Basic":       func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) },
		"no scheme":   func(r *http.Request) { r.Header.Set("Authorization", token) },
		"no token":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer") },
		"two spaces":  func(r *http.Request) { r.Header.Set("Authorization", "Bearer  "+token) },
		"a cookie": func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "accessToken", Value: token})
		},
		"another header": func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("X-Access-Token", token)
		},
		"the query": func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "access_token=" + token
		},
		"the query, again": func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + token },
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/products", token, nil, change).refused(app.CodeTokenInvalid)
		})
	}
	w.do("GET", "/products?access_token="+token, token, nil).refused(app.CodeValidationFailed, "access_token")
}

// The first key signs. Older keys verify until they are removed from the ring.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ring := func(keys ...string) app.Keyring {
		ring, err := app.NewKeyring(app.NewSecret(strings.Join(keys, ",")))
		w.must(err)
		return ring
	}
	before, after := strings.Repeat("old", 20), strings.Repeat("new", 20)
	server := func(keys ...string) *Server {
		return w.serverOn(w.db.DB, func(c *Config) { c.Keyring = ring(keys...) })
	}
	c := w.claims("OWNER", w.stores["own"].id)
	old, err := server(before).tokens.mint(w.now, c)
	w.must(err)
	fresh, err := server(after, before).tokens.mint(w.now, c)
	w.must(err)
	w.doOn(server(after, before), "GET", "/auth/me", old, nil).ok(200, nil)
	w.doOn(server(after, before), "GET", "/auth/me", fresh, nil).ok(200, nil)
	w.doOn(server(after), "GET", "/auth/me", old, nil).refused(app.CodeTokenInvalid)
	w.doOn(server(after), "GET", "/auth/me", fresh, nil).ok(200, nil)
}

func FuzzParseToken(f *testing.F) {
	tokens := newTokens(Config{Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: 15 * time.Minute})
	valid, err := tokens.mint(noon,
		claims{Subject: "usr_1", StoreID: "sto_1", Audience: app.RealmTenant, SessionID: "ses_1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add("a.b.c")
	f.Add(valid[:len(valid)-1])
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := tokens.parse(noon, raw, []app.Realm{app.RealmTenant, app.RealmPlatform})
		if err == nil && raw != valid {
			t.Errorf("%q: got claims %+v, want an error", raw, c)
		}
		if code := app.CodeOf(err); err != nil && code != app.CodeTokenInvalid && code != app.CodeTokenExpired {
			t.Errorf("%q: got error %v, want %s or %s", raw, err, app.CodeTokenInvalid, app.CodeTokenExpired)
		}
	})
}

func FuzzParseRefresh(f *testing.F) {
	tokens := newTokens(Config{Keyring: persistencetest.Keyring()})
	valid := tokens.mintRefresh(app.RealmTenant, "ses_1", 7)
	f.Add(valid)
	f.Add(tokens.mintRefresh(app.RealmPlatform, "ses_1", 7))
	f.Add(valid[:len(valid)-1])
	f.Add("ses_1.+7." + strings.Repeat("A", 43))
	f.Add("..")
	f.Fuzz(func(t *testing.T, raw string) {
		token, err := tokens.parseRefresh(raw, []app.Realm{app.RealmTenant})
		if err == nil && (raw != valid || token != refreshToken{app.RealmTenant, "ses_1", 7}) {
			t.Errorf("%q: got token %+v, want an error", raw, token)
		}
		if err != nil && (app.CodeOf(err) != app.CodeTokenInvalid || token != refreshToken{} || raw == valid) {
			t.Errorf("%q: got %+v and error %v, want %s without a token, or the valid one", raw, token, err,
				app.CodeTokenInvalid)
		}
	})
}
