package persistence_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var refreshRules = app.RefreshRules{TTL: time.Hour}

func TestRefreshKeepsWhatItDecides(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, r.Owner, r.Stores[1], time.Hour)
	must(t, err)
	other, err := db.StartSession(t.Context(), noon, app.Actor{}, r.Owner, r.Stores[0], time.Hour)
	must(t, err)

	later := noon.Add(50 * time.Minute)
	got, err := db.Refresh(t.Context(), later, app.Actor{}, session.ID, 0, refreshRules)
	must(t, err)
	if got.Decision != app.RefreshRotate || got.RefreshCounter != 1 || got.StoreID != r.Stores[1] || got.Role != app.RoleOwner || got.User.Email != r.Owner.Email {
		t.Errorf("the first token: %+v", got)
	}
	if n := count(t, db, "SELECT count(*) FROM sessions WHERE refresh_counter = 1 AND rotated_at = '2026-03-14 12:50Z' AND expires_at = '2026-03-14 13:50Z'"); n != 1 {
		t.Errorf("%d sessions have been rotated", n)
	}
	got, err = db.Refresh(t.Context(), later, app.Actor{}, "ses_unknown", 0, refreshRules)
	if err != nil || got.Decision != app.RefreshRevoked || got.User.ID != "" {
		t.Errorf("a session that is not there: %+v, %v", got, err)
	}

	must(t, db.EndSession(t.Context(), later, app.Actor{}, app.Principal{UserID: r.Owner.ID, SessionID: other.ID}))
	got, err = db.Refresh(t.Context(), later, app.Actor{}, session.ID, 0, refreshRules)
	if err != nil || got.Decision != app.RefreshReused || got.User.ID != r.Owner.ID {
		t.Errorf("a superseded token: %+v, %v", got, err)
	}
	for reason, want := range map[app.EndReason]app.SessionID{app.EndedByReuse: session.ID, app.EndedByLogout: other.ID} {
		if n := count(t, db, "SELECT count(*) FROM sessions WHERE end_reason = '"+string(reason)+"' AND id = '"+string(want)+"'"); n != 1 {
			t.Errorf("%d sessions ended by %s", n, reason)
		}
	}
}

// A session can be changed by its user alone, and only while it lives.
func TestSessionsBelongToTheirUser(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	session, err := db.StartSession(t.Context(), noon, app.Actor{}, r.Owner, r.Stores[0], time.Hour)
	must(t, err)
	mine := app.Principal{UserID: r.Owner.ID, SessionID: session.ID, WebsiteID: r.Website}
	for name, who := range map[string]app.Principal{
		"another user":    {UserID: foreign.Owner.ID, SessionID: session.ID, WebsiteID: foreign.Website},
		"no such session": {UserID: r.Owner.ID, SessionID: "ses_unknown", WebsiteID: r.Website},
	} {
		if err := db.EndSession(t.Context(), noon, app.Actor{}, who); app.CodeOf(err) != app.CodeTokenRevoked {
			t.Errorf("%s ends it: %v", name, err)
		}
		if _, err := db.SwitchStore(t.Context(), who, r.Stores[1], ""); app.CodeOf(err) != app.CodeTokenRevoked {
			t.Errorf("%s switches it: %v", name, err)
		}
	}
	if _, err := db.SwitchStore(t.Context(), mine, foreign.Stores[0], ""); app.CodeOf(err) != app.CodeStoreMismatch {
		t.Errorf("to another website: %v", err)
	}
	active, err := db.SwitchStore(t.Context(), mine, r.Stores[1], "")
	if err != nil || active.StoreID != r.Stores[1] || active.Role != app.RoleOwner || active.Email != r.Owner.Email {
		t.Errorf("to its own store: %+v, %v", active, err)
	}
	must(t, db.EndSession(t.Context(), noon, app.Actor{}, mine))
	if err := db.EndSession(t.Context(), noon, app.Actor{}, mine); app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("ended twice: %v", err)
	}
	if _, err := db.SwitchStore(t.Context(), mine, r.Stores[0], ""); app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("switched after its end: %v", err)
	}
}
