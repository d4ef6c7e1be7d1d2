package identity_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var refreshRules = app.RefreshRules{TTL: time.Hour}

func TestRefreshCommitsDecisions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	session := persistencetest.Session(t, db.DB, noon, r.Owner, r.Stores[1], time.Hour)
	other := persistencetest.Session(t, db.DB, noon, r.Owner, r.Stores[0], time.Hour)

	later := noon.Add(50 * time.Minute)
	got, err := db.Refresh(t.Context(), later, app.Actor{}, session.ID, 0, refreshRules)
	must(t, err)
	if got.Decision != app.RefreshRotate || got.RefreshCounter != 1 || got.StoreID != r.Stores[1] ||
		got.Role != app.RoleOwner || got.User.Email != r.Owner.Email {
		t.Errorf("first token: got %+v, want a rotation to counter 1 in store %s", got, r.Stores[1])
	}
	if n := count(t, db, `SELECT count(*) FROM sessions WHERE refresh_counter = 1 AND rotated_at = '2026-03-14 12:50Z'
		AND expires_at = '2026-03-14 13:50Z'`); n != 1 {
		t.Errorf("rotated sessions: got %d, want 1", n)
	}
	got, err = db.Refresh(t.Context(), later, app.Actor{}, "ses_unknown", 0, refreshRules)
	if err != nil || got.Decision != app.RefreshRevoked || got.User.ID != "" {
		t.Errorf("unknown session: got %+v and error %v, want %v", got, err, app.RefreshRevoked)
	}

	must(t, db.EndSession(t.Context(), later, app.Actor{}, app.Principal{UserID: r.Owner.ID, SessionID: other.ID}))
	got, err = db.Refresh(t.Context(), later, app.Actor{}, session.ID, 0, refreshRules)
	if err != nil || got.Decision != app.RefreshReused || got.User.ID != r.Owner.ID {
		t.Errorf("superseded token: got %+v and error %v, want %v", got, err, app.RefreshReused)
	}
	for reason, want := range map[app.EndReason]app.SessionID{app.EndedByReuse: session.ID,
		app.EndedByLogout: other.ID} {
		if n := count(t, db, `SELECT count(*) FROM sessions
			WHERE end_reason = '`+string(reason)+"' AND id = '"+string(want)+"'"); n != 1 {
			t.Errorf("session %s with end reason %s: got %d, want 1", want, reason, n)
		}
	}
}

// Only its user can change a session, and only until its end.
func TestSessionsBelongToTheirUser(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	session := persistencetest.Session(t, db.DB, noon, r.Owner, r.Stores[0], time.Hour)
	mine := app.Principal{UserID: r.Owner.ID, SessionID: session.ID, WebsiteID: r.Website}
	for name, principal := range map[string]app.Principal{
		"another user":    {UserID: foreign.Owner.ID, SessionID: session.ID, WebsiteID: foreign.Website},
		"no such session": {UserID: r.Owner.ID, SessionID: "ses_unknown", WebsiteID: r.Website},
	} {
		t.Run(name, func(t *testing.T) {
			if err := db.EndSession(t.Context(), noon, app.Actor{}, principal); app.CodeOf(err) != app.CodeTokenRevoked {
				t.Errorf("EndSession by %s: got error %v, want %s", name, err, app.CodeTokenRevoked)
			}
			if _, err := db.SwitchStore(t.Context(), principal, r.Stores[1], ""); app.CodeOf(err) != app.CodeTokenRevoked {
				t.Errorf("SwitchStore by %s: got error %v, want %s", name, err, app.CodeTokenRevoked)
			}
		})
	}
	if _, err := db.SwitchStore(t.Context(), mine, foreign.Stores[0], ""); app.CodeOf(err) != app.CodeStoreMismatch {
		t.Errorf("switch to another website: got error %v, want %s", err, app.CodeStoreMismatch)
	}
	active, err := db.SwitchStore(t.Context(), mine, r.Stores[1], "")
	if err != nil || active.StoreID != r.Stores[1] || active.Role != app.RoleOwner || active.Email != r.Owner.Email {
		t.Errorf("switch to a store of the user: got %+v and error %v, want store %s", active, err, r.Stores[1])
	}
	must(t, db.EndSession(t.Context(), noon, app.Actor{}, mine))
	if err := db.EndSession(t.Context(), noon, app.Actor{}, mine); app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("second EndSession: got error %v, want %s", err, app.CodeTokenRevoked)
	}
	if _, err := db.SwitchStore(t.Context(), mine, r.Stores[0], ""); app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("SwitchStore of an ended session: got error %v, want %s", err, app.CodeTokenRevoked)
	}
}
