package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// invited invites a user as the OWNER of "own" and returns the token.
func (w *world) invited(body map[string]any) string {
	w.Helper()
	var out invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], body).ok(201, &out)
	if out.ExpiresAt.Sub(out.CreatedAt.Time) != invitationTTL || !strings.HasSuffix(out.Link, "#"+out.Token) ||
		strings.Contains(w.log.String(), out.Token) {
		w.Errorf("invitation: got %+v, want a link with its token, valid for %v, and no token in the log", out, invitationTTL)
	}
	return out.Token
}

func grace(role string, stores ...app.StoreID) map[string]any {
	body := map[string]any{"email": "grace@example.com", "name": "Grace", "role": role}
	if len(stores) > 0 {
		body["storeIds"] = stores
	}
	return body
}

func accept(token, password string) map[string]any {
	return map[string]any{"token": token, "password": password}
}

const goodPassword = "correct horse battery staple"

func TestInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"].id, w.stores["sibling"].id
	replaced := w.invited(grace("STAFF", own))
	token := w.invited(grace("MANAGER", own, sibling))
	w.do("POST", "/auth/accept-invite", "", accept(replaced, goodPassword)).refused(app.CodeTokenInvalid)
	w.do("POST", "/auth/accept-invite", "", accept(token, "short")).refused(app.CodeValidationFailed, "password")
	for _, weak := range []string{"Password1", "sévèn ç", "grace@example.com", "Sibling-Own-7"} {
		w.do("POST", "/auth/accept-invite", "", accept(token, weak)).refused(app.CodeValidationFailed, "password")
	}

	var out loginOut
	a := w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, &out)
	if cookie := a.Header().Get("Set-Cookie"); out.User.Name != "Grace" || len(out.Stores) != 2 ||
		out.Stores[1].Role != app.RoleManager || !strings.HasPrefix(cookie, "refreshToken=") {
		t.Errorf("accepted: got %+v and the cookie %q, want Grace as MANAGER of two stores and a session", out, cookie)
	}
	w.do("GET", "/orders/"+string(w.stores["own"].order.ID), out.AccessToken, nil).ok(200, nil)
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).refused(app.CodeTokenInvalid) // once only
	w.do("POST", "/auth/login", "", map[string]any{"email": "grace@example.com", "password": goodPassword}).ok(200, nil)
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", own)).refused(app.CodeConflict)
}

// If the invited email belongs to a user, only the password of that user accepts the invitation.
func TestInvitationOfAnExistingUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := quickHash(w.T, goodPassword)
	w.addUser("grace", hash, nil, map[app.StoreID]app.Role{w.stores["foreign"].id: app.RoleStaff})
	token := w.invited(grace("ADMIN"))
	w.do("POST", "/auth/accept-invite", "", accept(token, "a stranger's password")).refused(app.CodeInvalidCredentials)
	var out loginOut
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, &out)
	if out.User.ID != w.users["grace"].ID || len(out.Stores) != 2 {
		t.Errorf("accepted: got %+v, want the user %s with two stores", out, w.users["grace"].ID)
	}
}

// The link of an invitation leads to the base URL, regardless of the hosts that a request names.
func TestInvitationLinkIgnoresTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF"), func(r *http.Request) {
		r.Host, r.URL.Host = "evil.test", "evil.test"
		r.Header.Set("X-Forwarded-Host", "evil.test")
		r.Header.Set("Forwarded", "host=evil.test")
	}).ok(201, &out)
	if !strings.HasPrefix(out.Link, issuer+"/dashboard/accept-invite#") {
		t.Errorf("link: got %s, want one to %s", out.Link, issuer)
	}
}

// A user who is disabled while the request is running gets the same response as a disabled user, and the invitation
// stays.
func TestInvitedUserIsDisabledConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("grace", nil, "foreign")
	disable := func(disabled bool) {
		w.exec("UPDATE users SET disabled_at = CASE WHEN $2 THEN now() END WHERE id = $1", w.users["grace"].ID, disabled)
	}
	token := w.invited(grace("ADMIN"))
	s := w.serverOn(w.db.DB, func(*Config) {})
	s.passwords.runs = func() { disable(true) } // after the check of the user, before that of the password
	during := w.doOn(s, "POST", "/auth/accept-invite", "", accept(token, password)).
		refused(app.CodeInvalidCredentials)
	disabled := w.do("POST", "/auth/accept-invite", "", accept(token, password)).refused(app.CodeInvalidCredentials)
	if during.same() != disabled.same() {
		t.Errorf("disabled meanwhile: got %s, want %s", during.Body, disabled.Body)
	}
	disable(false)
	w.do("POST", "/auth/accept-invite", "", accept(token, password)).ok(200, nil)
}

// With a mail server, invitations are mailed, including the invitation of a new website's owner.
func TestInvitationIsMailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mailing := w.serverOn(persistencetest.WithMails(t, w.db), func(*Config) {})
	for _, test := range []struct {
		server *Server
		mailed bool
	}{{w.server, false}, {mailing, true}} {
		var invited invitationOut
		w.doOn(test.server, "POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &invited)
		var opened openWebsiteOut
		w.doOn(test.server, "POST", "/platform/websites", w.tokens["PLATFORM"],
			websiteBody(fmt.Sprintf("mailed-%v.test", test.mailed))).ok(201, &opened)
		for _, got := range []invitationOut{invited, opened.Invitation} {
			var mails int
			w.must(w.db.System().DB.QueryRowContext(t.Context(), `
			SELECT count(*) FROM mails m JOIN jobs j ON j.subject = m.id AND j.store_id = m.store_id
				WHERE m.subject = $1 AND j.kind = 'mail'`, got.ID).Scan(&mails))
			shown := strings.HasPrefix(got.Link, issuer+"/dashboard/accept-invite#") && got.Token != ""
			if got.Mailed != test.mailed || mails == 1 != test.mailed || shown == test.mailed ||
				test.mailed && got.Link+got.Token != "" {
				t.Errorf("invitation: got %+v and %d mails, want a mail: %t, otherwise a link", got, mails, test.mailed)
			}
		}
	}
}

// A repeated request neither replaces the invitation nor shows its token again.
func TestInvitationIsRepeatedWithoutItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	var first, again invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF"), key).ok(201, &first)
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF"), key).ok(201, &again)
	token := first.Token
	first.Token, first.Link = "", ""
	if diff := cmp.Diff(first, again); diff != "" || token == "" {
		t.Errorf("repeated invitation of the token %q (-want +got):\n%s", token, diff)
	}
	w.do("POST", "/users", w.tokens["OWNER"], grace("ADMIN"), key).refused(app.CodeIdempotencyKeyReused)
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, nil)
}

// Platform administrators are members of no store.
func TestPlatformAdministratorsJoinNoStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := quickHash(w.T, goodPassword)
	admin := app.PlatformAdmin
	w.addUser("root", hash, &admin, nil)
	body := websiteBody("roots.test")
	body["owner"].(object)["email"] = "Root@example.com"
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], body).refused(app.CodeValidationFailed, "owner.email")
	token := w.invited(altered(grace("OWNER"), object{"email": "root@example.com"}))
	for range 2 {
		w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).refused(app.CodeConflict)
	}
	var members []app.Member
	w.do("GET", "/users", w.tokens["OWNER"], nil).ok(200, &members)
	for _, member := range members {
		if member.ID == w.users["root"].ID {
			t.Errorf("members: got the platform administrator %+v, want none", member)
		}
	}
}

func TestInvitationExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.invited(grace("STAFF"))
	w.now = w.now.Add(invitationTTL)
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).refused(app.CodeTokenInvalid)
}

func TestBadInvitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling, foreign := w.stores["own"].id, w.stores["sibling"].id, w.stores["foreign"].id
	for name, stores := range map[string][]app.StoreID{"foreign": {foreign}, "one of them": {own, foreign},
		"unknown": {"sto_unknown"}} {
		w.run(name, func(t *testing.T) {
			a := w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", stores...))
			a.what += " " + name
			a.refused(app.CodeStoreMismatch)
		})
	}
	w.do("POST", "/users", w.tokens["LONER"], grace("STAFF", sibling)).refused(app.CodeStoreMismatch) // no OWNER there
	w.do("POST", "/users", w.tokens["OWNER"], grace("CHEF")).refused(app.CodeValidationFailed, "role")
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", own, own)).refused(app.CodeValidationFailed, "storeIds")
	w.do("POST", "/users", w.tokens["OWNER"], map[string]any{"email": "no address", "name": " ", "role": "STAFF"}).
		refused(app.CodeValidationFailed, "email", "name")
}

// Ten concurrent requests accept an invitation once.
func TestInvitationIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.invited(grace("STAFF"))
	codes := make([]app.Code, 10)
	var wait sync.WaitGroup
	for i := range codes {
		wait.Go(func() {
			codes[i] = w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).body.Error.Code
		})
	}
	wait.Wait()
	accepted := 0
	for _, code := range codes {
		switch code {
		case "":
			accepted++
		case app.CodeTokenInvalid, app.CodeConflict:
		default:
			t.Errorf("code: got %s, want %s or %s", code, app.CodeTokenInvalid, app.CodeConflict)
		}
	}
	if accepted != 1 {
		t.Errorf("accepted requests: got %d, want 1", accepted)
	}
}
