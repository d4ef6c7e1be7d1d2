package api

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

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
	if diff := cmp.Diff(map[app.Role]int{app.RoleOwner: 2, app.RoleAdmin: 1, app.RoleManager: 1, app.RoleStaff: 1},
		roles); diff != "" || len(first) != 2 || end != nil {
		t.Errorf("roles of the members, got %d in the first of two pages, want 2 (-want +got):\n%s", len(first), diff)
	}
}

// Role changes and removals take effect on the next request.
func TestRoleChangesBite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := func(name string) string { return "/users/" + string(w.users[name].ID) }
	var member app.Member
	w.do("PATCH", path("ADMIN"), w.tokens["OWNER"], map[string]any{"role": "STAFF"}).ok(200, &member)
	if member.Role != app.RoleStaff || member.ID != w.users["ADMIN"].ID {
		t.Errorf("changed member: got %+v, want %s as STAFF", member, w.users["ADMIN"].ID)
	}
	w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).refused(app.CodeInsufficientRole)
	w.do("DELETE", path("ADMIN"), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("GET", "/products", w.tokens["ADMIN"], nil).refused(app.CodeTokenRevoked)
	w.do("DELETE", path("ADMIN"), w.tokens["OWNER"], nil).refused(app.CodeStoreMismatch) // still in the sibling
}

// Of two OWNERs who concurrently remove or demote each other, one remains.
func TestAStoreKeepsAnOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"PATCH", "DELETE"} {
		for range 10 {
			_, err := w.db.System().DB.ExecContext(t.Context(), `
				INSERT INTO memberships (user_id, store_id, role, created_at)
				VALUES ($1, $3, 'OWNER', now()), ($2, $3, 'OWNER', now())
				ON CONFLICT (user_id, store_id) DO UPDATE SET role = 'OWNER'`,
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
					codes[i] = w.do(method, "/users/"+string(w.users[pair[1]].ID), w.tokens[pair[0]],
						body).body.Error.Code
				})
			}
			wait.Wait()
			var owners int
			w.must(w.db.System().DB.QueryRowContext(t.Context(),
				"SELECT count(*) FROM memberships WHERE store_id = $1 AND role = 'OWNER'",
				w.stores["own"].id).Scan(&owners))
			if owners != 1 {
				t.Fatalf("%s: got %d OWNERs and codes %q, want 1", method, owners, codes)
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
	w.do("PATCH", "/users/"+string(w.users[last].ID), w.tokens[last], map[string]any{"role": "ADMIN"}).
		refused(app.CodeLastOwner)
	w.do("PATCH", "/users/"+string(w.users[last].ID), w.tokens[last], map[string]any{"role": "OWNER"}).ok(200, nil)
}

// TestDisabledOwnerIsNoOwner checks that the last enabled OWNER of a store can be neither demoted nor removed.
func TestDisabledOwnerIsNoOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("UPDATE users SET disabled_at = $1 WHERE id = $2", w.now, w.users["LONER"].ID)
	owner := "/users/" + string(w.users["OWNER"].ID)
	w.do("PATCH", owner, w.tokens["OWNER"], object{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("DELETE", owner, w.tokens["OWNER"], nil).refused(app.CodeLastOwner)
}

// A caller who is demoted, removed, disabled or logged out while the request waits changes nothing.
func TestCallersThatLoseTheirRoleConcurrently(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		statement string // about the user $1, the store $2 and the session $3
		code      app.Code
	}{
		"demoted": {`UPDATE memberships SET role = 'ADMIN' WHERE user_id = $1 AND store_id = $2 AND $3 <> ''`,
			app.CodeInsufficientRole},
		"removed":  {`DELETE FROM memberships WHERE user_id = $1 AND store_id = $2 AND $3 <> ''`, app.CodeTokenRevoked},
		"disabled": {`UPDATE users SET disabled_at = now() WHERE id = $1 AND $2 || $3 <> ''`, app.CodeTokenRevoked},
		"logged out": {`UPDATE sessions SET ended_at = now(), end_reason = 'logout'
			WHERE user_id = $1 AND $2 <> '' AND id = $3`, app.CodeTokenRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.T = t
			own := w.stores["own"].id
			staff := "/users/" + string(w.users["STAFF"].ID)
			key, invitation := string(w.stores["own"].key.ID), string(w.addInvitation(own))
			newKey := func(mode string) func(string) *response {
				return func(token string) *response {
					return w.do("POST", "/api-keys", token, altered(apiKeyBody(), object{"mode": mode}))
				}
			}
			const state = `SELECT (SELECT count(*) FROM stores) || ' stores, ' || (SELECT count(*) FROM api_keys)
				|| ' keys, ' || (SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL) || ' revoked, '
				|| (SELECT count(*) FROM invitations) || ' invitations, '
				|| (SELECT count(*) FROM audit WHERE action ~ '^(api_key|invitation|store)[.]') || ' entries'`
			before := w.text(state)
			for what, request := range map[string]func(token string) *response{
				"role":    func(token string) *response { return w.do("PATCH", staff, token, object{"role": "OWNER"}) },
				"removal": func(token string) *response { return w.do("DELETE", staff, token, nil) },
				"store":   func(token string) *response { return w.do("POST", "/stores", token, storeBody()) },
				"key":     newKey("live"), "test key": newKey("test"),
				"revocation": func(token string) *response { return w.do("POST", "/api-keys/"+key+"/revoke", token, nil) },
				"withdrawal": func(token string) *response { return w.do("DELETE", "/invitations/"+invitation, token, nil) },
			} {
				caller := what + " " + name
				w.addUser(caller, "-", nil, map[app.StoreID]app.Role{own: app.RoleOwner})
				token := w.token(caller, own)
				session := claimsOf(t, token)["sid"]
				a := w.duringTransaction(func() *response { return request(token) }, end.statement, w.users[caller].ID, own,
					session)
				if a.body.Error.Code != end.code {
					t.Errorf("%s: got %d %s, want %s", what, a.Code, a.Body, end.code)
				}
			}
			role := w.text("SELECT role FROM memberships WHERE user_id = $1 AND store_id = $2", w.users["STAFF"].ID, own)
			if after := w.text(state); role != "STAFF" || after != before {
				t.Errorf("got the role %s and %s, want STAFF and %s", role, after, before)
			}
		})
	}
}
