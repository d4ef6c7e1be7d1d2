package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// invited invites somebody as the owner of "own" and returns the token.
func (w *world) invited(body map[string]any) string {
	w.Helper()
	var out invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], body).ok(201, &out)
	if out.ExpiresAt.Sub(out.CreatedAt.Time) != invitationTTL || !strings.HasSuffix(out.Link, "#"+out.Token) || strings.Contains(w.log.String(), out.Token) {
		w.Errorf("invitation %+v", out)
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
	w.do("POST", "/auth/accept-invite", "", accept(token, "Password1")).refused(app.CodeValidationFailed, "password")

	var out loginOut
	a := w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, &out)
	if out.User.Name != "Grace" || len(out.Stores) != 2 || out.Stores[1].Role != app.RoleManager || !strings.HasPrefix(a.Header().Get("Set-Cookie"), "refreshToken=") {
		t.Errorf("accepted as %+v", out)
	}
	w.do("GET", "/orders/"+string(w.stores["own"].order.ID), out.AccessToken, nil).ok(200, nil)
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).refused(app.CodeTokenInvalid) // once only
	w.do("POST", "/auth/login", "", map[string]any{"email": "grace@example.com", "password": goodPassword}).ok(200, nil)
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", own)).refused(app.CodeConflict)
}

// Who has the invited address already joins with the password of that user, and nobody else does.
func TestInvitationOfAnExistingUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash, err := HashPassword(app.NewSecret(goodPassword))
	w.must(err)
	w.addUser("grace", hash, nil, map[app.StoreID]app.Role{w.stores["foreign"].id: app.RoleStaff})
	token := w.invited(grace("ADMIN"))
	w.do("POST", "/auth/accept-invite", "", accept(token, "a stranger's password")).refused(app.CodeInvalidCredentials)
	var out loginOut
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, &out)
	if out.User.ID != w.users["grace"].ID || len(out.Stores) != 2 {
		t.Errorf("accepted as %+v", out)
	}
}

// Where there is a mail server, an invitation is mailed too, a new website's as well.
func TestInvitationIsMailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	db, err := persistence.Open(persistence.Config{URL: w.db.URL, MaxConns: 4, Sealer: persistencetest.Keyring().Sealer(), Mails: true})
	w.must(err)
	defer db.Close()
	mailing := w.serverOn(db, func(*Config) {})
	for _, test := range []struct {
		server *Server
		mailed bool
	}{{w.server, false}, {mailing, true}} {
		var invited invitationOut
		w.doOn(test.server, "POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &invited)
		var opened openWebsiteOut
		w.doOn(test.server, "POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody(fmt.Sprintf("mailed-%v.test", test.mailed))).ok(201, &opened)
		for _, got := range []invitationOut{invited, opened.Invitation} {
			var mails int
			w.must(w.db.System().DB.QueryRowContext(t.Context(), `SELECT count(*) FROM mails m JOIN jobs j ON j.subject = m.id AND j.store_id = m.store_id
				WHERE m.subject = $1 AND j.kind = 'mail'`, got.ID).Scan(&mails))
			if got.Mailed != test.mailed || mails == 1 != test.mailed || !strings.HasPrefix(got.Link, issuer+"/dashboard/accept-invite#") || got.Token == "" {
				t.Errorf("mailed %v: %+v, %d mails", test.mailed, got, mails)
			}
		}
	}
}

// A repeated request neither replaces the invitation nor shows its token once more.
func TestInvitationIsRepeatedWithoutItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	var first, again invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF"), key).ok(201, &first)
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF"), key).ok(201, &again)
	token := first.Token
	if first.Token, first.Link = "", ""; token == "" || cmp.Diff(first, again) != "" {
		t.Errorf("token %q, then %s", token, cmp.Diff(first, again))
	}
	w.do("POST", "/users", w.tokens["OWNER"], grace("ADMIN"), key).refused(app.CodeIdempotencyKeyReused)
	w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, nil)
}

// Platform administrators work in no store: as its only OWNER, one would leave it to nobody.
func TestPlatformAdministratorsJoinNoStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash, err := HashPassword(app.NewSecret(goodPassword))
	w.must(err)
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
			t.Errorf("%+v is a member", member)
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
	for name, stores := range map[string][]app.StoreID{"foreign": {foreign}, "one of them": {own, foreign}, "unknown": {"sto_unknown"}} {
		a := w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", stores...))
		a.what += " " + name
		a.refused(app.CodeStoreMismatch)
	}
	w.do("POST", "/users", w.tokens["LONER"], grace("STAFF", sibling)).refused(app.CodeStoreMismatch) // no OWNER there
	w.do("POST", "/users", w.tokens["OWNER"], grace("CHEF")).refused(app.CodeValidationFailed, "role")
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF", own, own)).refused(app.CodeValidationFailed, "storeIds")
	w.do("POST", "/users", w.tokens["OWNER"], map[string]any{"email": "no address", "name": " ", "role": "STAFF"}).
		refused(app.CodeValidationFailed, "email", "name")
}

// One token accepted by ten at once makes one user and lets one in.
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
	in := 0
	for _, code := range codes {
		switch code {
		case "":
			in++
		case app.CodeTokenInvalid, app.CodeConflict:
		default:
			t.Errorf("refused with %s", code)
		}
	}
	if in != 1 {
		t.Errorf("%d got in", in)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, rest []app.Member
	next, _ := w.do("GET", "/users?limit=2", w.tokens["OWNER"], nil).ok(200, &first).body.Meta["nextCursor"].(string)
	end := w.do("GET", "/users?cursor="+next, w.tokens["OWNER"], nil).ok(200, &rest).body.Meta["nextCursor"]
	roles := map[app.Role]int{}
	for _, m := range append(first, rest...) {
		roles[m.Role]++
	}
	if diff := cmp.Diff(map[app.Role]int{app.RoleOwner: 2, app.RoleAdmin: 1, app.RoleManager: 1, app.RoleStaff: 1}, roles); diff != "" || len(first) != 2 || end != nil {
		t.Error(diff, len(first), end)
	}
}

// Role changes and removals bite on the next request.
func TestRoleChangesBite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := func(name string) string { return "/users/" + string(w.users[name].ID) }
	var member app.Member
	w.do("PATCH", path("ADMIN"), w.tokens["OWNER"], map[string]any{"role": "STAFF"}).ok(200, &member)
	if member.Role != app.RoleStaff || member.ID != w.users["ADMIN"].ID {
		t.Errorf("changed %+v", member)
	}
	w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).refused(app.CodeInsufficientRole)
	w.do("DELETE", path("ADMIN"), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("GET", "/products", w.tokens["ADMIN"], nil).refused(app.CodeTokenRevoked)
	w.do("DELETE", path("ADMIN"), w.tokens["OWNER"], nil).refused(app.CodeStoreMismatch) // still in the sibling
}

// Two owners who remove or demote each other at once: one of them stays.
func TestAStoreKeepsAnOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"PATCH", "DELETE"} {
		for range 10 {
			_, err := w.db.System().DB.ExecContext(t.Context(), `INSERT INTO memberships (user_id, store_id, role, created_at)
				VALUES ($1, $3, 'OWNER', now()), ($2, $3, 'OWNER', now()) ON CONFLICT (user_id, store_id) DO UPDATE SET role = 'OWNER'`,
				w.users["OWNER"].ID, w.users["LONER"].ID, w.stores["own"].id)
			w.must(err)
			codes := make([]app.Code, 2)
			var wait sync.WaitGroup
			for i, pair := range [][2]string{{"OWNER", "LONER"}, {"LONER", "OWNER"}} {
				wait.Go(func() {
					var body any
					if method == "PATCH" {
						body = map[string]any{"role": "STAFF"}
					}
					codes[i] = w.do(method, "/users/"+string(w.users[pair[1]].ID), w.tokens[pair[0]], body).body.Error.Code
				})
			}
			wait.Wait()
			var owners int
			w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM memberships WHERE store_id = $1 AND role = 'OWNER'", w.stores["own"].id).Scan(&owners))
			if owners != 1 {
				t.Fatalf("%s: %d owners are left, answers %q", method, owners, codes)
			}
		}
	}
	var last string
	for _, name := range []string{"OWNER", "LONER"} {
		if w.do("GET", "/users", w.tokens[name], nil).Code == 200 {
			last = name
		}
	}
	w.do("DELETE", "/users/"+string(w.users[last].ID), w.tokens[last], nil).refused(app.CodeLastOwner)
	w.do("PATCH", "/users/"+string(w.users[last].ID), w.tokens[last], map[string]any{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("PATCH", "/users/"+string(w.users[last].ID), w.tokens[last], map[string]any{"role": "OWNER"}).ok(200, nil)
}
