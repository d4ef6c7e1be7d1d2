package identity_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	login, err := db.LoginByEmail(t.Context(), "OWNER@one.example")
	must(t, err)
	if login.User.ID != r.Owner.ID || login.Disabled || login.User.PlatformRole != nil {
		t.Errorf("got login %+v, want user %s", login, r.Owner.ID)
	}
	if _, err := db.LoginByEmail(t.Context(), "nobody@one.example"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("login of an unknown email: got error %v, want %s", err, app.CodeNotFound)
	}

	first := persistencetest.Session(t, db.DB, noon, login.User, "", time.Hour)
	if first.StoreID != first.Stores[0].StoreID || first.Role != app.RoleOwner || len(first.Stores) != 2 ||
		len(first.Stores[0].StoreViews) != 2 || !first.Stores[0].StoreViews[0].IsDefault {
		t.Errorf("got session %+v, want the first of 2 stores as OWNER", first)
	}
	other := first.Stores[1].StoreID
	second := persistencetest.Session(t, db.DB, noon, login.User, other, time.Hour)
	third := persistencetest.Session(t, db.DB, noon, login.User, "", time.Hour)
	if second.StoreID != other || third.StoreID != other {
		t.Errorf("store: got %s and, in the next session, %s, want %s", second.StoreID, third.StoreID, other)
	}
	proof := identity.Proof{Verified: login.PasswordHash}
	_, err = db.StartSession(t.Context(), noon, app.Actor{}, login.User, proof, foreign.Stores[0], time.Hour)
	if app.CodeOf(err) != app.CodeStoreMismatch {
		t.Errorf("session in another website's store: got error %v, want %s", err, app.CodeStoreMismatch)
	}

	principal, err := db.Authenticate(t.Context(), first.ID, r.Owner.ID, r.Stores[0])
	must(t, err)
	if principal.Role != app.RoleOwner || principal.WebsiteID != r.Website || principal.View.Currency != "EUR" ||
		principal.Realm != app.RealmTenant {
		t.Errorf("principal: got %+v, want the OWNER in the tenant realm with EUR", principal)
	}
	user, store, err := db.Me(t.Context(), principal)
	must(t, err)
	if user.Email != r.Owner.Email || store == nil || store.Timezone != "Europe/Berlin" || store.Currency != "EUR" {
		t.Errorf("Me: got %+v and %+v, want %s in Europe/Berlin with EUR", user, store, r.Owner.Email)
	}
}

func TestAuthenticateRejectsEndedSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	session := persistencetest.Session(t, db.DB, noon, r.Owner, "", time.Hour)
	refused := func(name string, id app.SessionID, user app.UserID, store app.StoreID) {
		t.Helper()
		if _, err := db.Authenticate(t.Context(), id, user, store); app.CodeOf(err) != app.CodeTokenRevoked {
			t.Errorf("%s: got error %v, want %s", name, err, app.CodeTokenRevoked)
		}
	}
	refused("a store without membership", session.ID, r.Owner.ID, foreign.Stores[0])
	refused("a session of another user", session.ID, foreign.Owner.ID, r.Stores[0])
	refused("an unknown session", "ses_unknown", r.Owner.ID, r.Stores[0])
	refused("a platform token of a tenant user", session.ID, r.Owner.ID, "")
	for name, statement := range map[string]string{
		"an ended session": "UPDATE sessions SET ended_at = now() WHERE id = $1",
		"a disabled user": `UPDATE users SET disabled_at = now()
			WHERE id = (SELECT user_id FROM sessions WHERE id = $1)`,
		"a removed member": "DELETE FROM memberships WHERE user_id = (SELECT user_id FROM sessions WHERE id = $1)",
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := db.System().DB.BeginTx(t.Context(), nil)
			must(t, err)
			_, err = tx.ExecContext(t.Context(), statement, session.ID)
			must(t, err)
			must(t, tx.Commit())
			refused(name, session.ID, r.Owner.ID, r.Stores[0])
			_, err = db.System().DB.ExecContext(t.Context(), "UPDATE sessions SET ended_at = NULL")
			must(t, err)
			_, err = db.System().DB.ExecContext(t.Context(), "UPDATE users SET disabled_at = NULL")
			must(t, err)
		})
	}
}

func TestPlatformAdministratorsHaveNoStore(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	role := app.PlatformAdmin
	id, err := db.CreateUser(t.Context(), noon,
		identity.NewUser{Email: "root@example.com", Name: "Root", PasswordHash: "-", PlatformRole: &role})
	must(t, err)
	session := persistencetest.Session(t, db.DB, noon, app.User{ID: id, PlatformRole: &role}, "", time.Hour)
	principal, err := db.Authenticate(t.Context(), session.ID, id, "")
	must(t, err)
	if principal.Realm != app.RealmPlatform || principal.StoreID != "" || principal.Role != "" {
		t.Errorf("principal: got %+v, want the platform realm without a store", principal)
	}
	if _, store, err := db.Me(t.Context(), principal); err != nil || store != nil {
		t.Errorf("Me of a platform administrator: got store %+v and error %v, want no store", store, err)
	}
	_, err = db.CreateUser(t.Context(), noon, identity.NewUser{Email: "ROOT@example.com"})
	if app.CodeOf(err) != app.CodeConflict {
		t.Errorf("user with an existing email: got error %v, want %s", err, app.CodeConflict)
	}
	id, err = db.CreateUser(t.Context(), noon, identity.NewUser{Email: "nobody@example.com", PasswordHash: "-"})
	must(t, err)
	proof := identity.Proof{Verified: "-"}
	_, err = db.StartSession(t.Context(), noon, app.Actor{}, app.User{ID: id}, proof, "", time.Hour)
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("session of a user without a store: got error %v, want %s", err, app.CodeNotFound)
	}
}
