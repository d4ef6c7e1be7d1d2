package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
)

// The parsers of credentials that no other file fuzzes: FuzzParseToken, FuzzParseRefresh,
// FuzzCursor and, in package app, FuzzAPIKey are the others.

// FuzzAuthorization: a credential is what follows the scheme and one space, and nothing else
// has one.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer ", "bearer x", "Bearer  x", "Basic dTpw", "Bearer svc_live_sk_0", "Bearer\tx", "Bearer x, Bearer y"} {
		f.Add(seed, "", false)
		f.Add(seed, seed, true)
	}
	f.Fuzz(func(t *testing.T, value, second string, twice bool) {
		header := http.Header{"Authorization": {value}}
		if twice {
			header["Authorization"] = append(header["Authorization"], second)
		}
		credential, err := bearer(header)
		if err != nil && (credential != "" || app.CodeOf(err) != app.CodeTokenInvalid) {
			t.Errorf("%q: %q, %v", value, credential, err)
		}
		const scheme = len("Bearer")
		if err == nil && (twice || len(value) < scheme || !strings.EqualFold(value[:scheme], "Bearer") || strings.TrimPrefix(value[scheme:], " ") != credential) {
			t.Errorf("%q has the credential %q", value, credential)
		}
	})
}

// FuzzCookies: whatever net/http takes for a cookie of the name, we see too; so what is two
// to anybody is never one to us.
func FuzzCookies(f *testing.F) {
	for _, seed := range []string{"", "refreshToken=a", "refreshToken=a; refreshToken=b", `refreshToken="a"`, " refreshToken = a;;=; refreshToken", "x=refreshToken=a", "a=b; refreshToken=\x01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		header := http.Header{"Cookie": {line}}
		ours := cookies(header, refreshCookie)
		theirs := (&http.Request{Header: header}).CookiesNamed(refreshCookie)
		if len(theirs) > len(ours) {
			t.Errorf("%q: %q, but %v", line, ours, theirs)
		}
		for _, value := range ours {
			if !strings.Contains(line, value) || value != strings.TrimSpace(value) || strings.Contains(value, ";") {
				t.Errorf("%q has %q", line, value)
			}
		}
	})
}

// FuzzInvitationToken: a token is taken as it is, or the body is refused.
func FuzzInvitationToken(f *testing.F) {
	for _, seed := range []string{"", newInvitationToken().Reveal(), strings.Repeat("é", 100), strings.Repeat("x", 101), "a\x00b", "\xff", `"`, "' OR true --"} {
		f.Add(seed)
	}
	rt := &route{endpoint: handle((*Server).acceptInvite)}
	f.Fuzz(func(t *testing.T, token string) {
		body, err := json.Marshal(accept(token, goodPassword))
		if must(err); !utf8.ValidString(token) || checkSyntax(body) != nil {
			return
		}
		var in acceptInviteIn
		c := &call{route: rt, request: httptest.NewRequest("POST", issuer+"/auth/accept-invite", nil), exchange: &exchange{}, body: body}
		err = c.bind(&in)
		if taken := token != "" && utf8.RuneCountInString(token) <= 100; taken != (err == nil) || err != nil && app.CodeOf(err) != app.CodeValidationFailed {
			t.Errorf("%q: %v", token, err)
		}
		if err == nil && in.Token.Reveal() != token {
			t.Errorf("%q is taken for %q", token, in.Token.Reveal())
		}
	})
}

// FuzzIDToken: whoever a provider's token opens an account to is whom the provider signed.
func FuzzIDToken(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	point, err := key.PublicKey.Bytes()
	must(err)
	encoded := base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(object{"keys": []object{{"kty": "EC", "kid": "one", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:])}}})
	must(err)
	p := newProviders(Config{
		Providers: map[app.Provider]Provider{app.ProviderGoogle: {ClientIDs: []string{"web"}, Issuer: "https://accounts.test", JWKSURL: "https://accounts.test/keys"}},
		Now:       func() time.Time { return noon },
	})[app.ProviderGoogle]
	p.keys.body, p.keys.fetchedAt = set, noon // so that nothing is fetched
	sign := func(method jwt.SigningMethod, key any, change object) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims(altered(object{
			"iss": "https://accounts.test", "aud": "web", "sub": "1234", "iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix(), "email": "ada@gmail.com", "email_verified": true,
		}, change)))
		token.Header["kid"] = "one"
		signed, err := token.SignedString(key)
		must(err)
		return signed
	}
	valid := sign(jwt.SigningMethodES256, key, nil)
	want := app.SocialIdentity{Provider: app.ProviderGoogle, Subject: "1234", Email: "ada@gmail.com", Proven: true}
	if who, err := p.verify(f.Context(), app.NewSecret(valid), ""); err != nil || who != want {
		f.Fatal(who, err)
	}
	for _, seed := range []string{valid, valid[:len(valid)-1], noIDToken, "", "..", `{"payload":"e30","signatures":[]}`, valid + ".", strings.Replace(valid, ".ey", ".eY", 1)} {
		f.Add(seed)
	}
	f.Add(sign(jwt.SigningMethodES256, key, object{"sub": "", "email": "eve@gmail.com"}))
	f.Add(sign(jwt.SigningMethodES256, key, object{"sub": "5678", "aud": "somebody else"}))
	f.Add(sign(jwt.SigningMethodHS256, point, object{"sub": "5678"}))
	f.Add(sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, object{"sub": "5678"}))
	f.Fuzz(func(t *testing.T, raw string) {
		who, err := p.verify(t.Context(), app.NewSecret(raw), "")
		if err == nil && who != want {
			t.Errorf("%q opens an account to %+v", raw, who)
		}
		if err != nil && app.CodeOf(err) != app.CodeInvalidCredentials {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
