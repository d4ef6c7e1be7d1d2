package api

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// accept-invite is no oracle of passwords: the tenth wrong password ends the invitation. A password that the rules
// refuse gets the same response for new and existing users, and does not count.
func TestGuessingAtAnInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("known", nil, "foreign")
	known := w.invited(altered(grace("STAFF"), object{"email": "known@example.com"}))
	unknown := w.invited(altered(grace("STAFF"), object{"email": "new@example.com"}))
	for _, bad := range []string{"short", "iloveyou1", "Comanda2026", "grace1234"} {
		here := w.do("POST", "/auth/accept-invite", "", accept(known, bad)).
			refused(app.CodeValidationFailed, "password")
		there := w.do("POST", "/auth/accept-invite", "", accept(unknown, bad)).
			refused(app.CodeValidationFailed, "password")
		if here.same() != there.same() {
			t.Errorf("password %q: got %s for an existing user, want %s as for a new one", bad, here.Body, there.Body)
		}
	}
	login := w.do("POST", "/auth/login", "", credentials("known@example.com", swordfish))
	for range 10 {
		a := w.do("POST", "/auth/accept-invite", "", accept(known, swordfish)).refused(app.CodeInvalidCredentials)
		if a.same() != login.same() {
			t.Errorf("wrong password: got %s, want %s", a.Body, login.Body)
		}
	}
	w.do("POST", "/auth/accept-invite", "", accept(known, password)).refused(app.CodeTokenInvalid)
	if diff := cmp.Diff([]string{"new@example.com"}, w.listed(w.tokens["OWNER"])); diff != "" {
		t.Errorf("remaining invitations (-want +got):\n%s", diff)
	}
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=invitation.withdrawn", w.tokens["OWNER"], nil).ok(200, &trail)
	if len(trail) != 1 || trail[0].Details["reason"] != "failures" || trail[0].Actor.ID != "" {
		t.Errorf("audit entries: got %+v, want one with the reason failures", trail)
	}
}

// However many guesses run concurrently, ten get a response. A slow machine may refuse a request with UNAVAILABLE
// before it checks the password. Such a request is no guess and is repeated.
func TestGuessingConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("known", nil, "foreign")
	token := w.invited(altered(grace("STAFF"), object{"email": "known@example.com"}))
	codes := make([]app.Code, 24)
	var wait sync.WaitGroup
	for i := range codes {
		wait.Go(func() {
			codes[i] = app.CodeUnavailable
			for codes[i] == app.CodeUnavailable {
				codes[i] = w.do("POST", "/auth/accept-invite", "", accept(token, swordfish)).body.Error.Code
			}
		})
	}
	wait.Wait()
	counts := map[app.Code]int{}
	for _, code := range codes {
		counts[code]++
	}
	want := map[app.Code]int{app.CodeInvalidCredentials: 10, app.CodeTokenInvalid: len(codes) - 10}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// The account of accept-invite is the invited email, with the same budget as its login. New tokens, spellings and
// addresses do not renew it.
func TestAcceptInviteCountsForTheEmail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("known", nil, "foreign")
	server := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit = 1 }) // 10 for the account
	client := 0
	try := func(path string, body any) *response {
		client++
		return w.doOn(server, "POST", path, "", body, func(r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", client)
		})
	}
	for i := range 10 {
		token := w.invited(altered(grace("STAFF"), object{"email": []string{"known", "KNOWN"}[i%2] + "@example.com"}))
		if i%2 == 0 {
			try("/auth/accept-invite", accept(token, swordfish)).refused(app.CodeInvalidCredentials)
		} else {
			try("/auth/login", credentials("Known@example.com", swordfish)).refused(app.CodeInvalidCredentials)
		}
	}
	token := w.invited(altered(grace("STAFF"), object{"email": "known@example.com"}))
	try("/auth/accept-invite", accept(token, password)).refused(app.CodeRateLimited)
	try("/auth/login", credentials("known@example.com", password)).refused(app.CodeRateLimited)
	try("/auth/accept-invite", accept("unknown", password)).refused(app.CodeTokenInvalid)
}

// A store has 20 invitations an hour. Resending counts, and so do all inviters in all their active stores, and the
// platform.
func TestInvitationsPerHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"].id, w.stores["sibling"].id
	invite := func(token string, i int, stores ...app.StoreID) *response {
		return w.do("POST", "/users", token,
			altered(grace("STAFF", stores...), object{"email": fmt.Sprintf("%d@example.com", i)}))
	}
	var first invitationOut
	invite(w.tokens["OWNER"], 0, own, sibling).ok(201, &first)
	for range 9 {
		w.do("POST", "/invitations/"+string(first.ID)+"/resend", w.tokens["OWNER"], nil).ok(200, nil)
	}
	// Refused requests do not count.
	invite(w.tokens["LONER"], 1, sibling).refused(app.CodeStoreMismatch)
	byPlatform := func(i int) *response {
		return w.do("POST", "/platform/websites/"+string(w.stores["own"].website)+"/invite-owner", w.tokens["PLATFORM"],
			object{"email": fmt.Sprintf("%d@example.com", i), "name": "Ada", "storeId": own})
	}
	byPlatform(1).ok(201, nil)
	w.do("POST", "/users", w.tokens["OWNER"], grace("CHEF")).refused(app.CodeValidationFailed)
	for i := range 9 {
		invite(w.tokens[[]string{"OWNER", "LONER"}[i%2]], 2+i, own).ok(201, nil)
	}
	byPlatform(20).refused(app.CodeRateLimited)
	a := invite(w.tokens["LONER"], 20, own).refused(app.CodeRateLimited)
	if a.Header().Get("Retry-After") == "" {
		t.Error("RATE_LIMITED: got no Retry-After, want one")
	}
	invite(w.tokens["OWNER"], 20, own, sibling).refused(app.CodeRateLimited)
	w.do("POST", "/invitations/"+string(first.ID)+"/resend", w.tokens["OWNER"], nil).refused(app.CodeRateLimited)
	for i := range 10 { // the refused ones counted for neither store
		invite(w.tokens["OWNER"], 30+i, sibling).ok(201, nil)
	}
	invite(w.tokens["OWNER"], 40, sibling).refused(app.CodeRateLimited)
}
