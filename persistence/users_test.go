package persistence_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	login, err := db.LoginByEmail(t.Context(), "OWNER@one.example")
	must(t, err)
	if login.User.ID != r.Owner.ID || login.Disabled || login.User.PlatformRole != nil {
		t.Errorf("login %+v", login)
	}
	if _, err := db.LoginByEmail(t.Context(), "nobody@one.example"); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}

	first, err := db.StartSession(t.Context(), noon, app.Actor{}, login.User, "", time.Hour)
	must(t, err)
	if first.StoreID != first.Stores[0].StoreID || first.Role != app.RoleOwner || len(first.Stores) != 2 || len(first.Stores[0].StoreViews) != 2 || !first.Stores[0].StoreViews[0].IsDefault {
		t.Errorf("session %+v", first)
	}
	other := first.Stores[1].StoreID
	second, err := db.StartSession(t.Context(), noon, app.Actor{}, login.User, other, time.Hour)
	must(t, err)
	third, err := db.StartSession(t.Context(), noon, app.Actor{}, login.User, "", time.Hour)
	must(t, err)
	if second.StoreID != other || third.StoreID != other {
		t.Errorf("asked for %s, got %s, and then %s", other, second.StoreID, third.StoreID)
	}
	if _, err := db.StartSession(t.Context(), noon, app.Actor{}, login.User, foreign.Stores[0], time.Hour); app.CodeOf(err) != app.CodeStoreMismatch {
		t.Errorf("into a foreign store: %v", err)
	}

	who, err := db.Authenticate(t.Context(), first.ID, r.Owner.ID, r.Stores[0])
	must(t, err)
	if who.Role != app.RoleOwner || who.WebsiteID != r.Website || who.View.Currency != "EUR" || who.Realm != app.RealmTenant {
		t.Errorf("principal %+v", who)
	}
	user, store, err := db.Me(t.Context(), who)
	must(t, err)
	if user.Email != r.Owner.Email || store == nil || store.Timezone != "Europe/Berlin" || store.Currency != "EUR" {
		t.Errorf("me %+v %+v", user, store)
	}
}

func TestEndedSessionsAreRevoked(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, r.Owner, "", time.Hour)
	must(t, err)
	refused := func(what string, id app.SessionID, user app.UserID, store app.StoreID) {
		t.Helper()
		if _, err := db.Authenticate(t.Context(), id, user, store); app.CodeOf(err) != app.CodeTokenRevoked {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a store without membership", session.ID, r.Owner.ID, foreign.Stores[0])
	refused("another's session", session.ID, foreign.Owner.ID, r.Stores[0])
	refused("an unknown session", "ses_unknown", r.Owner.ID, r.Stores[0])
	refused("a platform token of no platform user", session.ID, r.Owner.ID, "")
	for what, statement := range map[string]string{
		"an ended session":    "UPDATE sessions SET ended_at = now() WHERE id = $1",
		"a disabled user":     "UPDATE users SET disabled_at = now() WHERE id = (SELECT user_id FROM sessions WHERE id = $1)",
		"a membership's loss": "DELETE FROM memberships WHERE user_id = (SELECT user_id FROM sessions WHERE id = $1)",
	} {
		tx, err := db.System().DB.BeginTx(t.Context(), nil)
		must(t, err)
		_, err = tx.ExecContext(t.Context(), statement, session.ID)
		must(t, err)
		must(t, tx.Commit())
		refused(what, session.ID, r.Owner.ID, r.Stores[0])
		_, err = db.System().DB.ExecContext(t.Context(), "UPDATE sessions SET ended_at = NULL")
		must(t, err)
		_, err = db.System().DB.ExecContext(t.Context(), "UPDATE users SET disabled_at = NULL")
		must(t, err)
	}
}

func TestPlatformAdministratorsHaveNoStore(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	role := app.PlatformAdmin
	id, err := db.CreateUser(t.Context(), noon, persistence.NewUser{Email: "root@example.com", Name: "Root", PasswordHash: "-", PlatformRole: &role})
	must(t, err)
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, app.User{ID: id, PlatformRole: &role}, "", time.Hour)
	must(t, err)
	who, err := db.Authenticate(t.Context(), session.ID, id, "")
	must(t, err)
	if who.Realm != app.RealmPlatform || who.StoreID != "" || who.Role != "" {
		t.Errorf("principal %+v", who)
	}
	if _, store, err := db.Me(t.Context(), who); err != nil || store != nil {
		t.Errorf("me: %+v, %v", store, err)
	}
	if _, err := db.CreateUser(t.Context(), noon, persistence.NewUser{Email: "ROOT@example.com"}); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("the same address: %v", err)
	}
	id, err = db.CreateUser(t.Context(), noon, persistence.NewUser{Email: "nobody@example.com", PasswordHash: "-"})
	must(t, err)
	if _, err := db.StartSession(t.Context(), noon, app.Actor{}, app.User{ID: id}, "", time.Hour); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("a user without any store: %v", err)
	}
}
