package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// TestClientIDs checks that users of a website change only its own client ids, each provider separately.
func TestClientIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, owner := w.stores["own"].website, w.tokens["OWNER"]
	want := ownWebsiteOut{ID: own, Name: "one.test", Domain: "one.test", Social: app.ClientIDs{
		Google: []string{}, Apple: []string{}, Facebook: []string{},
	}}
	check := func(a *response) {
		t.Helper()
		var got ownWebsiteOut
		a.ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.what, diff)
		}
	}
	check(w.do("GET", "/website", w.tokens["ADMIN"], nil))
	check(w.do("PATCH", "/website", owner, object{}))
	want.Social.Google, want.Social.Apple = []string{"a", "b"}, []string{"a"}
	check(w.do("PATCH", "/website", owner,
		object{"social": object{"google": []string{"b", "a"}, "apple": []string{"a"}}}))
	want.Social.Google = []string{"b", "c"}
	check(w.do("PATCH", "/website", owner, object{"social": object{"google": []string{"c", "b"}}}))
	want.Social.Apple = []string{}
	check(w.do("PATCH", "/website", owner, object{"social": object{"apple": []string{}}}))
	check(w.do("GET", "/website", w.token("OWNER", w.stores["sibling"].id), nil))

	var foreign ownWebsiteOut
	w.do("GET", "/website", w.tokens["FOREIGN"], nil).ok(200, &foreign)
	if foreign.ID != w.stores["foreign"].website || len(foreign.Social.Google) != 0 {
		t.Errorf("the other website: got %+v, want %s without client ids", foreign, w.stores["foreign"].website)
	}
	ids := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint(i))
		}
		return ids
	}
	for path, social := range map[string]any{
		"social": []string{}, "social.google": nil, "social.apple": ids(11), "social.myspace": []string{"a"},
		"social.facebook": []string{"a", "a"}, "social.google[1]": []string{"a", ""},
		"social.google[0]": []string{"a b"},
		"social.apple[0]":  []int{1}, "social.facebook[0]": []string{strings.Repeat("x", 256)},
	} {
		body := object{"social": social}
		if member, found := strings.CutPrefix(path, "social."); found {
			member, _, _ = strings.Cut(member, "[")
			body = object{"social": object{member: social}}
		}
		w.do("PATCH", "/website", owner, body).refused(app.CodeValidationFailed, path)
		w.do("PATCH", "/platform/websites/"+string(own), w.tokens["PLATFORM"], body).
			refused(app.CodeValidationFailed, path)
	}
	w.do("PATCH", "/website", owner, object{"social": nil}).refused(app.CodeValidationFailed, "social")
	want.Social.Google = ids(10)
	check(w.do("PATCH", "/website", owner, object{"social": object{"google": ids(10)}}))
}

// TestClientIDOfAnotherWebsite checks that no owner can take the client id of another website or learns whose it is,
// and that the platform can move it.
func TestClientIDOfAnotherWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clientIDs("foreign", "theirs", "also theirs")
	const all = "SELECT string_agg(provider || client_id, ' ' ORDER BY provider, client_id) FROM website_client_ids"
	before := w.text(all)
	body := object{"social": object{"google": []string{"ours", "theirs"}, "apple": []string{"new"}}}
	a := w.do("PATCH", "/website", w.tokens["OWNER"], body).refused(app.CodeConflict, "social.google[1]")
	for _, secret := range []string{"two.test", "foreign", string(w.stores["foreign"].website), "also theirs"} {
		if strings.Contains(a.Body.String(), secret) {
			t.Errorf("conflict: got %s, want no %s in it", a.Body, secret)
		}
	}
	if after := w.text(all); after != before {
		t.Errorf("client ids after the conflict: got %s, want %s", after, before)
	}

	var moved app.Website
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"], body).ok(200, &moved)
	want := app.ClientIDs{Google: []string{"ours", "theirs"}, Apple: []string{"new"}, Facebook: []string{}}
	if diff := cmp.Diff(want, moved.Social); diff != "" {
		t.Errorf("after the move (-want +got):\n%s", diff)
	}
	var foreign ownWebsiteOut
	w.do("GET", "/website", w.tokens["FOREIGN"], nil).ok(200, &foreign)
	both := []string{"also theirs", "theirs"}
	want = app.ClientIDs{Google: []string{"also theirs"}, Apple: both, Facebook: both}
	if diff := cmp.Diff(want, foreign.Social); diff != "" {
		t.Errorf("the other website after the move (-want +got):\n%s", diff)
	}
	w.do("PATCH", "/website", w.tokens["FOREIGN"], object{"social": object{"google": []string{"theirs"}}}).
		refused(app.CodeConflict, "social.google[0]")
}

// TestConcurrentClientIDs checks that of two websites that add the same client id concurrently, one gets it.
func TestConcurrentClientIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{"social": object{"google": []string{"web", "app"}}}
	for range 10 {
		w.exec("DELETE FROM website_client_ids")
		var won, lost atomic.Int64
		var wait sync.WaitGroup
		for _, name := range []string{"OWNER", "FOREIGN"} {
			wait.Go(func() {
				switch a := w.do("PATCH", "/website", w.tokens[name], body); a.Code {
				case http.StatusOK:
					won.Add(1)
				case http.StatusConflict:
					lost.Add(1)
				}
			})
		}
		wait.Wait()
		if won.Load() != 1 || lost.Load() != 1 {
			t.Errorf("got %d successes and %d conflicts, want one of each", won.Load(), lost.Load())
		}
	}
}

// A website cannot log in with the ID tokens that its customers got at another website.
func TestIDTokenOfAnotherWebsite(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	w.clientIDs("foreign", "theirs")
	login := func(store string, audience any) *response {
		token := w.provider.sign("one", w.claims(object{"aud": audience})).Reveal()
		return w.loginWith(object{"storeId": w.stores[store].id, "provider": "google", "token": token})
	}
	login("foreign", "theirs").ok(200, nil)
	login("own", "web").ok(200, nil)
	login("own", "app").ok(200, nil)
	login("sibling", "web").ok(200, nil)
	login("own", "theirs").refused(app.CodeInvalidCredentials)
	login("foreign", "web").refused(app.CodeInvalidCredentials)
	login("own", []string{"theirs", "web"}).refused(app.CodeInvalidCredentials)

	// Client ids of one provider are not valid at another, and a removed id is refused by the next login.
	w.do("PATCH", "/website", w.tokens["OWNER"],
		object{"social": object{"google": []string{"web"}, "apple": []string{}}}).ok(200, nil)
	login("own", "app").refused(app.CodeInvalidCredentials)
	w.login(app.ProviderApple, w.provider.sign("one", w.claims(nil))).refused(app.CodeValidationFailed, "provider")
	w.login(app.ProviderFacebook, w.provider.sign("one", w.claims(nil))).ok(200, nil)
}

// TestUsedIDToken checks that a token counts once per website, however it is encoded, and only after a success.
func TestUsedIDToken(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	w.provider.set(func() { w.provider.keys["ec"] = key })
	w.clientIDs("own", "web")
	login := func(store string, token string) *response {
		return w.loginWith(object{"storeId": w.stores[store].id, "provider": "google", "token": token})
	}
	token := w.provider.sign("ec", w.claims(nil)).Reveal()
	var ada loginCustomerOut
	login("own", token).ok(200, &ada)
	unused := w.login(app.ProviderGoogle, app.NewSecret("x")).refused(app.CodeInvalidCredentials).same()
	for name, again := range map[string]string{
		"the same": token, "another encoding of the signature": otherBits(token),
		"the other signature of ES256": otherSignature(t, token),
	} {
		w.run(name, func(t *testing.T) {
			for _, store := range []string{"own", "sibling"} { // one website
				a := login(store, again)
				a.what = name + " at " + store
				if got := a.refused(app.CodeInvalidCredentials).same(); got != unused {
					t.Errorf("%s: got %s, want %s", a.what, got, unused)
				}
			}
		})
	}
	// A refused login does not use the token up.
	email := object{"email": "bob@example.com", "email_verified": false, "sub": "bob"}
	w.do("POST", "/customer-auth/register", "", altered(registration(w.stores["own"].id),
		object{"email": "bob@example.com"})).ok(201, nil)
	token = w.provider.sign("one", w.claims(email)).Reveal()
	login("own", token).refused(app.CodeAccountLinkRequired)
	login("own", token).refused(app.CodeAccountLinkRequired)
	login("sibling", token).ok(200, nil)
	login("own", token).refused(app.CodeInvalidCredentials)
}

// TestConcurrentUsedIDTokens checks that of concurrent logins with one token exactly one succeeds.
func TestConcurrentUsedIDTokens(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	for range 5 {
		token := w.provider.sign("one", w.claims(nil)).Reveal()
		var won, lost atomic.Int64
		var wait sync.WaitGroup
		for i := range 10 {
			store := w.stores[[]string{"own", "sibling"}[i%2]].id
			wait.Go(func() {
				a := w.loginWith(object{"storeId": store, "provider": "google", "token": token})
				switch a.body.Error.Code {
				case "":
					won.Add(1)
				case app.CodeInvalidCredentials:
					lost.Add(1)
				}
			})
		}
		wait.Wait()
		if won.Load() != 1 || lost.Load() != 9 {
			t.Errorf("got %d successes and %d refusals, want 1 and 9", won.Load(), lost.Load())
		}
	}
}

// TestUsedIDTokensAreErased checks that a token is kept until an hour after its expiry.
func TestUsedIDTokensAreErased(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	w.login(app.ProviderGoogle, w.provider.sign("one", w.claims(nil))).ok(200, nil) // expires in an hour
	for _, c := range []struct {
		at   time.Duration
		want int64
	}{{time.Hour, 0}, {2 * time.Hour, 0}, {2*time.Hour + time.Second, 1}} {
		erased, err := w.db.Erase(t.Context(), w.now.Add(c.at), app.Retention{
			Bodies: 720 * time.Hour, Log: 2160 * time.Hour, Audit: 9600 * time.Hour,
		}, func() {})
		if w.must(err); erased.IDTokens != c.want {
			t.Errorf("after %v: got %d erased tokens, want %d", c.at, erased.IDTokens, c.want)
		}
	}
}

// otherBits returns a token with other unused bits in the last digit of its signature, which no decoder reads.
func otherBits(token string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, token[len(token)-1])
	return token[:len(token)-1] + string(digits[last^1])
}

// otherSignature returns an ES256 token with the other valid signature of the same content: (r, n−s) for (r, s).
func otherSignature(t *testing.T, token string) string {
	t.Helper()
	signed := token[:strings.LastIndexByte(token, '.')+1]
	signature, err := base64.RawURLEncoding.DecodeString(token[len(signed):])
	if err != nil || len(signature) != 64 {
		t.Fatalf("signature: got %d bytes and error %v, want 64", len(signature), err)
	}
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	return signed + base64.RawURLEncoding.EncodeToString(signature)
}
