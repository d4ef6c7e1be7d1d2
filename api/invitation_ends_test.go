package api

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

const swordfish = "swordfish and chips"

// listed returns the emails of the pending invitations that a token lists.
func (w *world) listed(token string) []string {
	w.Helper()
	var found []app.Invitation
	w.do("GET", "/invitations", token, nil).ok(200, &found)
	emails := []string{}
	for _, invitation := range found {
		emails = append(emails, invitation.Email)
	}
	return emails
}

// An invitation ends when its inviter is no longer an enabled OWNER of each of its stores, and does not come back
// with the role.
func TestInvitationEndsWithItsInviter(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, path string){
		"demoted": func(w *world, path string) {
			w.do("PATCH", path, w.tokens["OWNER"], object{"role": "ADMIN"}).ok(200, nil)
			w.do("PATCH", path, w.tokens["OWNER"], object{"role": "OWNER"}).ok(200, nil)
		},
		"removed": func(w *world, path string) { w.do("DELETE", path, w.tokens["OWNER"], nil).ok(204, nil) },
		"removed from the other store": func(w *world, path string) {
			w.do("DELETE", path, w.token("OWNER", w.stores["sibling"].id), nil).ok(204, nil)
		},
		"disabled": func(w *world, _ string) {
			w.must(w.db.DisableUser(w.Context(), w.now, app.Actor{}, "leaving@example.com"))
			w.must(w.db.EnableUser(w.Context(), w.now, app.Actor{}, "leaving@example.com"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			own, sibling := w.stores["own"].id, w.stores["sibling"].id
			w.addUser("LEAVING", "-", nil, map[app.StoreID]app.Role{own: app.RoleOwner, sibling: app.RoleOwner})
			w.tokens["LEAVING"] = w.token("LEAVING", own)
			var ended, kept invitationOut
			w.do("POST", "/users", w.tokens["LEAVING"], grace("OWNER", own, sibling)).ok(201, &ended)
			w.do("POST", "/users", w.tokens["OWNER"], altered(grace("STAFF"), object{"email": "kept@example.com"})).
				ok(201, &kept)
			end(w, "/users/"+string(w.users["LEAVING"].ID))
			w.do("POST", "/auth/accept-invite", "", accept(ended.Token, goodPassword)).refused(app.CodeTokenInvalid)
			if diff := cmp.Diff([]string{"kept@example.com"}, w.listed(w.tokens["OWNER"])); diff != "" {
				t.Errorf("remaining invitations (-want +got):\n%s", diff)
			}
			w.do("POST", "/auth/accept-invite", "", accept(kept.Token, goodPassword)).ok(200, nil)
			want := "inviter in own, inviter in sibling"
			if got := w.withdrawals(ended.ID); got != want {
				t.Errorf("entries invitation.withdrawn: got %q, want %q", got, want)
			}
			if got := w.withdrawals(kept.ID); got != "" {
				t.Errorf("entries about the other invitation: got %q, want none", got)
			}
		})
	}
}

// withdrawals returns the reasons of the entries about the end of an invitation, with the names of their stores.
func (w *world) withdrawals(id app.InvitationID) string {
	w.Helper()
	return w.text(`SELECT coalesce(string_agg(a.details ->> 'reason' || ' in ' || s.name, ', ' ORDER BY s.name), '')
		FROM audit a JOIN stores s ON s.id = a.store_id WHERE a.action = 'invitation.withdrawn' AND a.target = $1`, id)
}

// A new invitation of the same email ends the pending one, which the trails of its stores show.
func TestReplacedInvitationsAreRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"].id, w.stores["sibling"].id
	invite := func(stores ...app.StoreID) (out invitationOut) {
		w.do("POST", "/users", w.token("OWNER", own), grace("STAFF", stores...)).ok(201, &out)
		return out
	}
	first, second := invite(own, sibling), invite(own)
	w.do("POST", "/auth/accept-invite", "", accept(first.Token, goodPassword)).refused(app.CodeTokenInvalid)
	w.now = w.now.Add(invitationTTL)
	third := invite(sibling)
	for _, c := range []struct {
		what, want string
		id         app.InvitationID
	}{
		{"replaced", "replaced in own, replaced in sibling", first.ID}, {"expired", "", second.ID},
		{"pending", "", third.ID},
	} {
		if got := w.withdrawals(c.id); got != c.want {
			t.Errorf("entries about the %s invitation: got %q, want %q", c.what, got, c.want)
		}
	}
	token := w.token("LONER", own)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			w.do("POST", "/users", token, altered(grace("STAFF"), object{"email": "new@example.com"})).
				ok(201, nil)
		})
	}
	wait.Wait()
	withdrawn := w.text(`SELECT count(DISTINCT target) FROM audit
		WHERE action = 'invitation.withdrawn' AND details ->> 'email' = 'new@example.com'`)
	if withdrawn != "7" {
		t.Errorf("replaced of 8 concurrent invitations: got %s, want 7", withdrawn)
	}
}

// No invitation remains if its inviter is removed from the store while inviting.
func TestInvitingWhileRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	for i := range 10 {
		name := fmt.Sprintf("LEAVING%d", i)
		w.addUser(name, "-", nil, map[app.StoreID]app.Role{own: app.RoleOwner})
		token := w.token(name, own)
		var wait sync.WaitGroup
		wait.Go(func() {
			w.do("POST", "/users", token, altered(grace("OWNER"), object{"email": name + "@invited.example"}))
		})
		wait.Go(func() { w.do("DELETE", "/users/"+string(w.users[name].ID), w.tokens["OWNER"], nil).ok(204, nil) })
		wait.Wait()
	}
	if left := w.listed(w.tokens["OWNER"]); len(left) > 0 {
		t.Errorf("invitations of removed OWNERs: got %q, want none", left)
	}
}

// An OWNER lists, sends again and withdraws the invitations of the active store.
func TestManageInvitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, own, sibling := w.tokens["OWNER"], w.stores["own"].id, w.stores["sibling"].id
	inviter := app.Inviter{ID: w.users["OWNER"].ID, Name: "OWNER"}
	first := w.invited(grace("STAFF", own, sibling))
	var found, siblings []app.Invitation
	w.do("GET", "/invitations", owner, nil).ok(200, &found)
	w.do("GET", "/invitations", w.token("OWNER", sibling), nil).ok(200, &siblings)
	want := []app.Invitation{{
		ID: found[0].ID, Email: "grace@example.com", Name: "Grace", Role: app.RoleStaff,
		StoreIDs: []app.StoreID{min(own, sibling), max(own, sibling)}, InvitedBy: inviter, CreatedAt: app.At(w.now),
		ExpiresAt: app.At(w.now.Add(invitationTTL)),
	}}
	if diff := cmp.Diff(want, found) + cmp.Diff(want, siblings); diff != "" {
		t.Errorf("invitation in both stores (-want +got):\n%s", diff)
	}
	path := "/invitations/" + string(found[0].ID)
	w.do("POST", path+"/resend", w.tokens["LONER"], nil).refused(app.CodeStoreMismatch) // no OWNER of the sibling
	w.do("POST", path+"/resend", w.tokens["FOREIGN"], nil).refused(app.CodeNotFound)
	w.do("DELETE", path, w.tokens["FOREIGN"], nil).refused(app.CodeNotFound)

	w.now = w.now.Add(invitationTTL - 1)
	owner = w.token("OWNER", own)
	var again invitationOut
	w.do("POST", path+"/resend", owner, nil).ok(200, &again)
	want[0].ExpiresAt = app.At(w.now.Add(invitationTTL))
	if diff := cmp.Diff(want[0], again.Invitation); diff != "" || again.Token == "" || again.Token == first {
		t.Errorf("sent again: got token %q, want another one than %q (-want +got):\n%s", again.Token, first, diff)
	}
	w.now = w.now.Add(1)
	owner = w.token("OWNER", own)
	w.do("POST", "/auth/accept-invite", "", accept(first, goodPassword)).refused(app.CodeTokenInvalid)

	w.do("DELETE", path, owner, nil).ok(204, nil)
	w.do("DELETE", path, owner, nil).refused(app.CodeNotFound)
	w.do("POST", path+"/resend", owner, nil).refused(app.CodeNotFound)
	a := w.do("POST", "/auth/accept-invite", "", accept(again.Token, goodPassword)).refused(app.CodeTokenInvalid)
	b := w.do("POST", "/auth/accept-invite", "", accept("unknown", goodPassword)).refused(app.CodeTokenInvalid)
	if want := "the invitation is no longer valid; ask for a new one"; a.body.Error.Message != want ||
		a.same() != b.same() {
		t.Errorf("message: got %s and %s, want %q", a.Body, b.Body, want)
	}
	if left := w.listed(owner); len(left) > 0 {
		t.Errorf("invitations: got %q, want none", left)
	}
}

// Accepted and expired invitations are neither listed nor can they be withdrawn.
func TestEndedInvitationsAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accepted := w.invited(grace("STAFF", w.stores["own"].id, w.stores["sibling"].id))
	w.do("POST", "/auth/accept-invite", "", accept(accepted, goodPassword)).ok(200, nil)
	w.addInvitation(w.stores["own"].id) // expires after an hour
	ids := []string{}
	for _, email := range []string{"grace@example.com", "%"} {
		ids = append(ids, w.text("SELECT id FROM invitations WHERE email LIKE $1 ORDER BY id LIMIT 1", email))
	}
	w.now = w.now.Add(invitationTTL)
	owner := w.token("OWNER", w.stores["own"].id)
	if left := w.listed(owner); len(left) > 0 {
		t.Errorf("invitations: got %q, want none", left)
	}
	for _, id := range ids {
		w.do("DELETE", "/invitations/"+id, owner, nil).refused(app.CodeNotFound)
	}
}

// The list of invitations has pages.
func TestInvitationsHavePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for i := range 3 {
		email := fmt.Sprintf("%d@example.com", i)
		w.invited(altered(grace("STAFF"), object{"email": email}))
		want = append([]string{email}, want...)
	}
	var got []string
	for path := "/invitations?limit=1"; ; {
		var page []app.Invitation
		next, more := w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &page).body.Meta["nextCursor"].(string)
		for _, invitation := range page {
			got = append(got, invitation.Email)
		}
		if !more {
			break
		}
		path = "/invitations?limit=1&cursor=" + next
	}
	slices.Sort(want) // the clock stands still, so that the order is that of the ids
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("emails in pages (-want +got):\n%s", diff)
	}
}

// Accepting raises the role of a member, and never lowers it.
func TestAcceptingRaisesTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling := w.stores["own"].id, w.stores["sibling"].id
	hash := quickHash(w.T, goodPassword)
	for name, c := range map[string]struct{ has, invited, want app.Role }{
		"raised": {app.RoleStaff, app.RoleAdmin, app.RoleAdmin}, "kept": {app.RoleAdmin, app.RoleStaff, app.RoleAdmin},
	} {
		w.run(name, func(t *testing.T) {
			w.addUser(name, hash, nil, map[app.StoreID]app.Role{own: c.has})
			token := w.invited(altered(grace(string(c.invited), own, sibling), object{"email": name + "@example.com"}))
			w.do("POST", "/auth/accept-invite", "", accept(token, goodPassword)).ok(200, nil)
			got := w.text("SELECT role FROM memberships WHERE store_id = $1 AND user_id = $2", own, w.users[name].ID)
			if got != string(c.want) {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
		})
	}
}

// A mail that still carries an earlier token of an invitation is not sent.
func TestResendMakesEarlierMailsObsolete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	db := persistencetest.WithMails(t, w.db)
	server := w.serverOn(db, func(*Config) {})
	var invited, again invitationOut
	w.doOn(server, "POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, &invited)
	first := app.MailID(w.text("SELECT id FROM mails"))
	w.doOn(server, "POST", "/invitations/"+string(invited.ID)+"/resend", w.tokens["OWNER"], nil).ok(200, &again)
	if !again.Mailed || again.Token+again.Link != "" {
		t.Errorf("sent again by mail: got %+v, want no token", again)
	}
	second := app.MailID(w.text("SELECT id FROM mails WHERE id <> $1", first))
	for id, want := range map[app.MailID]app.MailStatus{first: app.MailObsolete, second: app.MailQueued} {
		mail, err := db.ClaimMail(t.Context(), w.now, invitationTTL, w.stores["own"].id, id)
		if err != nil || mail.Status != want {
			t.Errorf("mail: got %s and error %v, want %s", mail.Status, err, want)
		}
	}
}
