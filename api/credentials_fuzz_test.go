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

// Other files have FuzzParseToken, FuzzParseRefresh, FuzzCursor and, in package app, FuzzAPIKey.

// FuzzAuthorization checks that a credential is the text after the scheme and one space.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer ", "bearer x", "Bearer  x", "Basic dTpw",
		"Bearer svc_live_sk_0", "Bearer\tx", "Bearer x, Bearer y"} {
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
			t.Errorf("%q: got credential %q and error %v, want none and %s", value, credential, err,
				app.CodeTokenInvalid)
		}
		const scheme = len("Bearer")
		if err == nil &&
			(twice || len(value) < scheme || !strings.EqualFold(value[:scheme],
				"Bearer") || strings.TrimPrefix(value[scheme:], " ") != credential) {
			t.Errorf("%q: got credential %q, want the text after the scheme or an error", value, credential)
		}
	})
}

// FuzzCookies checks that cookies finds at least the cookies that net/http finds, so that a repeated cookie is refused.
func FuzzCookies(f *testing.F) {
	for _, seed := range []string{"", "refreshToken=a", "refreshToken=a; refreshToken=b", `refreshToken="a"`,
		" refreshToken = a;;=; refreshToken", "x=refreshToken=a", "a=b; refreshToken=\x01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		header := http.Header{"Cookie": {line}}
		ours := cookies(header, userCookie)
		theirs := (&http.Request{Header: header}).CookiesNamed(userCookie)
		if len(theirs) > len(ours) {
			t.Errorf("%q: got %q, want at least %v", line, ours, theirs)
		}
		for _, value := range ours {
			if !strings.Contains(line, value) || value != strings.TrimSpace(value) || strings.Contains(value, ";") {
				t.Errorf("%q: got value %q, want a trimmed part of the line without a semicolon", line, value)
			}
		}
	})
}

// FuzzInvitationToken checks that a token is either bound unchanged or refused.
func FuzzInvitationToken(f *testing.F) {
	for _, seed := range []string{
		"", newInvitationToken().Reveal(), strings.Repeat("é", 100), strings.Repeat("x", 101), "a\x00b", "\xff", `"`,
		"' OR true --",
	} {
		f.Add(seed)
	}
	rt := &route{Handler: acceptInvitation}
	f.Fuzz(func(t *testing.T, token string) {
		body, err := json.Marshal(accept(token, goodPassword))
		if must(err); !utf8.ValidString(token) || checkContent(body) != nil {
			return
		}
		var in acceptInviteIn
		c := &call{
			route: rt, request: httptest.NewRequest("POST", issuer+"/auth/accept-invite", nil), exchange: &exchange{},
			body: body,
		}
		err = c.bind(&in)
		if taken := token != "" && utf8.RuneCountInString(token) <= 100; taken != (err == nil) ||
			err != nil && app.CodeOf(err) != app.CodeValidationFailed {
			t.Errorf("%q: got error %v, want one: %t", token, err, !taken)
		}
		if err == nil && in.Token.Reveal() != token {
			t.Errorf("bound token: got %q, want %q", in.Token.Reveal(), token)
		}
	})
}

// FuzzIDToken checks that an accepted ID token identifies the person for whom the provider signed it.
func FuzzIDToken(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	point, err := key.PublicKey.Bytes()
	must(err)
	encoded := base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(object{"keys": []object{{"kty": "EC", "kid": "one", "crv": "P-256",
		"x": encoded(point[1:33]), "y": encoded(point[33:])}}})
	must(err)
	p := newProviders(Config{
		Providers: map[app.Provider]Provider{
			app.ProviderGoogle: {
				Issuer: "https://accounts.test", JWKSURL: "https://accounts.test/keys",
			},
		},
		Now: func() time.Time { return noon },
	})[app.ProviderGoogle]
	p.keys.body, p.keys.fetchedAt = set, noon // so that no keys are fetched
	sign := func(method jwt.SigningMethod, key any, change object) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims(altered(object{
			"iss": "https://accounts.test", "aud": "web", "sub": "1234", "iat": noon.Unix(),
			"exp": noon.Add(time.Hour).Unix(), "email": "ada@gmail.com", "email_verified": true,
		}, change)))
		token.Header["kid"] = "one"
		signed, err := token.SignedString(key)
		must(err)
		return signed
	}
	valid := sign(jwt.SigningMethodES256, key, nil)
	ids := []string{"web"}
	want, err := p.verify(f.Context(), app.NewSecret(valid), "", ids)
	if must(err); want.Provider != app.ProviderGoogle || want.Subject != "1234" || want.Email != "ada@gmail.com" ||
		!want.Proven {
		f.Fatalf("valid token: got %+v, want Ada at Google", want)
	}
	for _, seed := range []string{valid, valid[:len(valid)-1], noIDToken, "", "..", `{"payload":"e30","signatures":[]}`,
		valid + ".", strings.Replace(valid, ".ey", ".eY", 1)} {
		f.Add(seed)
	}
	f.Add(sign(jwt.SigningMethodES256, key, object{"sub": "", "email": "eve@gmail.com"}))
	f.Add(sign(jwt.SigningMethodES256, key, object{"sub": "5678", "aud": "somebody else"}))
	f.Add(sign(jwt.SigningMethodHS256, point, object{"sub": "5678"}))
	f.Add(sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, object{"sub": "5678"}))
	f.Fuzz(func(t *testing.T, raw string) {
		who, err := p.verify(t.Context(), app.NewSecret(raw), "", ids)
		// compares the hash of the token too: another encoding of a token is not another token
		if err == nil && who != want {
			t.Errorf("%q: got %+v, want %+v", raw, who, want)
		}
		if err != nil && app.CodeOf(err) != app.CodeInvalidCredentials {
			t.Errorf("%q: got error %v, want %s", raw, err, app.CodeInvalidCredentials)
		}
	})
}
