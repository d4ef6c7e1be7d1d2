package api

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// sandbox returns the sandbox of the store "own".
func (w *world) sandbox() app.StoreID {
	w.Helper()
	w.createKey(w.tokens["OWNER"], object{"mode": "test"})
	return app.StoreID(w.text("SELECT id FROM stores WHERE sandbox_of = $1", w.stores["own"].id))
}

// roles returns the roles of a store's members by user.
func (w *world) roles(store app.StoreID) map[string]string {
	w.Helper()
	roles := map[string]string{}
	rows, err := w.db.System().DB.QueryContext(w.Context(),
		"SELECT user_id, role FROM memberships WHERE store_id = $1", store)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var user, role string
		w.must(rows.Scan(&user, &role))
		roles[user] = role
	}
	w.must(rows.Err())
	return roles
}

// sameMembers checks that a sandbox has the members and the roles of its live store.
func (w *world) sameMembers(sandbox app.StoreID, when string) {
	w.Helper()
	if diff := cmp.Diff(w.roles(w.stores["own"].id), w.roles(sandbox)); diff != "" {
		w.Errorf("%s: members of the sandbox (-want +got):\n%s", when, diff)
	}
}

// In a sandbox, users are those of the live store, and changes act on the live store.
func TestSandboxHasTheMembersOfItsStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sandbox := w.stores["own"].id, w.sandbox()
	inside := w.token("OWNER", sandbox)
	var here, there []app.Member
	w.do("GET", "/users", inside, nil).ok(200, &here)
	w.do("GET", "/users", w.tokens["OWNER"], nil).ok(200, &there)
	if diff := cmp.Diff(there, here); diff != "" || len(here) != 5 {
		t.Errorf("members of the sandbox, want five (-want +got):\n%s", diff)
	}
	path := func(name string) string { return "/users/" + string(w.users[name].ID) }
	w.do("PATCH", path("STAFF"), inside, object{"role": "MANAGER"}).ok(200, nil)
	w.do("DELETE", path("ADMIN"), inside, nil).ok(204, nil)
	w.do("DELETE", path("ADMIN"), inside, nil).refused(app.CodeStoreMismatch) // still a member of the sibling
	w.do("PATCH", path("FOREIGN"), inside, object{"role": "ADMIN"}).refused(app.CodeNotFound)
	roles := w.roles(own)
	if _, left := roles[string(w.users["ADMIN"].ID)]; left || roles[string(w.users["STAFF"].ID)] != "MANAGER" {
		t.Errorf("roles in the live store: got %v, want the changes made in the sandbox", roles)
	}
	w.sameMembers(sandbox, "after changes in the sandbox")
	w.do("GET", "/products", w.tokens["ADMIN"], nil).refused(app.CodeTokenRevoked)

	w.do("DELETE", path("LONER"), inside, nil).ok(204, nil)
	w.do("PATCH", path("OWNER"), inside, object{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("DELETE", path("OWNER"), inside, nil).refused(app.CodeLastOwner)
	w.sameMembers(sandbox, "after refusals")
}

// Two OWNERs who remove each other, one in the live store and one in the sandbox: one of them stays.
func TestSandboxKeepsAnOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sandbox := w.stores["own"].id, w.sandbox()
	for range 10 {
		w.exec(`INSERT INTO memberships (user_id, store_id, role, created_at)
			VALUES ($1, $3, 'OWNER', now()), ($2, $3, 'OWNER', now())
			ON CONFLICT (user_id, store_id) DO UPDATE SET role = 'OWNER'`,
			w.users["OWNER"].ID, w.users["LONER"].ID, own)
		var wait sync.WaitGroup
		inside, outside := w.token("OWNER", sandbox), w.token("LONER", own)
		wait.Go(func() { w.do("DELETE", "/users/"+string(w.users["LONER"].ID), inside, nil) })
		wait.Go(func() {
			w.do("PATCH", "/users/"+string(w.users["OWNER"].ID), outside, object{"role": "STAFF"})
		})
		wait.Wait()
		owners := w.text("SELECT count(*)::text FROM memberships WHERE store_id = $1 AND role = 'OWNER'", own)
		if owners != "1" {
			t.Fatalf("OWNERs left: got %s, want 1", owners)
		}
		w.sameMembers(sandbox, "after a race")
	}
}

// Invitations belong to the live store, and a sandbox in storeIds means its live store.
func TestSandboxHasTheInvitationsOfItsStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = noon.Add(time.Second) // so that the sandbox is listed after its store
	own, sandbox := w.stores["own"].id, w.sandbox()
	inside := w.token("OWNER", sandbox)
	for name, stores := range map[string][]app.StoreID{
		"default": nil, "sandbox": {sandbox}, "both": {own, sandbox}, "reversed": {sandbox, own},
	} {
		w.run(name, func(t *testing.T) {
			for who, token := range map[string]string{"inside": inside, "outside": w.tokens["OWNER"]} {
				email := name + "-" + who + "@example.com"
				var out invitationOut
				w.do("POST", "/users", token, altered(grace("STAFF", stores...), object{"email": email})).ok(201, &out)
				if !slices.Equal(out.StoreIDs, []app.StoreID{own}) {
					t.Errorf("%s: got the stores %q, want %q", email, out.StoreIDs, own)
				}
				if diff := cmp.Diff([]string{email}, w.listed(inside)) +
					cmp.Diff([]string{email}, w.listed(w.tokens["OWNER"])); diff != "" {
					t.Errorf("%s: invitations of the sandbox and the store (-want +got):\n%s", email, diff)
				}
				var in loginOut
				w.do("POST", "/auth/accept-invite", "", accept(out.Token, goodPassword)).ok(200, &in)
				if len(in.Stores) != 2 || in.Stores[0].StoreID != own || in.Stores[0].SandboxOf != nil ||
					in.Stores[1].SandboxOf == nil || *in.Stores[1].SandboxOf != own {
					t.Errorf("%s: got the stores %+v, want the store and its sandbox", email, in.Stores)
				}
			}
		})
	}
	w.sameMembers(sandbox, "after invitations")

	var out, again invitationOut
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &out)
	w.do("POST", "/invitations/"+string(out.ID)+"/resend", inside, nil).ok(200, &again)
	w.do("DELETE", "/invitations/"+string(out.ID), inside, nil).ok(204, nil)
	w.do("DELETE", "/invitations/"+string(out.ID), inside, nil).refused(app.CodeNotFound)
}
