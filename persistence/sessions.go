package persistence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Whoever changes a session locks its user's row first and its own second: the end of all
// of a user's sessions then meets no lock in the opposite order.

// Refreshed is a session whose refresh token was presented. Unless Decision is
// RefreshRotate or RefreshRepeat, only the decision and the user say anything.
type Refreshed struct {
	Decision       app.RefreshDecision
	User           app.User    // its zero value for a session that is not there
	RefreshCounter int64       // of the token to give out
	StoreID        app.StoreID // the active one; "" for platform administrators
	Role           app.Role
	CreatedAt      time.Time // of the session
}

// Refresh takes a refresh token with that counter and does what app.DecideRefresh decides:
// what it returns is committed, the end of all the user's sessions above all, with its
// line in the audit trails.
func (db *DB) Refresh(ctx context.Context, now time.Time, by app.Actor, session app.SessionID, counter int64, rules app.RefreshRules) (Refreshed, error) {
	var r Refreshed
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		state, err := r.lock(ctx, tx, session)
		if errors.Is(err, sql.ErrNoRows) {
			r = Refreshed{Decision: app.RefreshRevoked}
			return nil
		}
		if err != nil {
			return err
		}
		r.CreatedAt = state.CreatedAt
		r.Decision = app.DecideRefresh(state, counter, now, rules)
		r.RefreshCounter, err = userSessions.carryOut(ctx, tx, r.Decision, session, string(r.User.ID), state.Counter, now, rules)
		if err == nil && r.Decision == app.RefreshReused {
			err = pg.AuditUser(ctx, tx, now, r.User.ID, by.Unknown(r.User.Realm()), app.AuditSessionReused, string(r.User.ID),
				map[string]any{"sessionId": session})
		}
		return err
	})
	return r, err
}

// sessionTable is a table of sessions and its column that says whose a session is.
type sessionTable struct{ name, owner string }

var (
	userSessions     = sessionTable{"sessions", "user_id"}
	customerSessions = sessionTable{"customer_sessions", "customer_id"}
)

// carryOut does what was decided about a session that is locked, and returns the counter of
// the token to give out.
func (t sessionTable) carryOut(ctx context.Context, tx bun.Tx, decision app.RefreshDecision, session app.SessionID, owner string, counter int64, now time.Time, rules app.RefreshRules) (int64, error) {
	var err error
	switch decision {
	case app.RefreshRotate:
		counter++
		_, err = tx.NewRaw(`UPDATE ? SET refresh_counter = ?, rotated_at = ?, expires_at = ? WHERE id = ?`,
			bun.Ident(t.name), counter, now, now.Add(rules.TTL), session).Exec(ctx)
	case app.RefreshReused:
		_, err = tx.NewRaw(`UPDATE ? SET ended_at = ?, end_reason = ? WHERE ? = ? AND ended_at IS NULL`,
			bun.Ident(t.name), now, app.EndedByReuse, bun.Ident(t.owner), owner).Exec(ctx)
	}
	return counter, err
}

// lock locks a session with its user and reads both. Whose store is of a suspended website
// is barred.
func (r *Refreshed) lock(ctx context.Context, tx bun.Tx, session app.SessionID) (app.SessionState, error) {
	var state app.SessionState
	var disabled, suspended bool
	err := tx.NewRaw(`SELECT id, email, name, platform_role, disabled_at IS NOT NULL
		FROM users WHERE id = (SELECT user_id FROM sessions WHERE id = ?) FOR UPDATE`, session).
		Scan(ctx, &r.User.ID, &r.User.Email, &r.User.Name, &r.User.PlatformRole, &disabled)
	if err != nil {
		return state, err
	}
	var rotated sql.NullTime
	err = tx.NewRaw(`SELECT s.refresh_counter, s.rotated_at, s.created_at, s.expires_at, s.ended_at IS NOT NULL,
			coalesce(s.active_store_id, ''), coalesce(m.role, ''), w.suspended_at IS NOT NULL
		FROM sessions s LEFT JOIN memberships m ON m.user_id = s.user_id AND m.store_id = s.active_store_id
			LEFT JOIN stores st ON st.id = s.active_store_id LEFT JOIN websites w ON w.id = st.website_id
		WHERE s.id = ? FOR UPDATE OF s`, session).
		Scan(ctx, &state.Counter, &rotated, &state.CreatedAt, &state.ExpiresAt, &state.Ended, &r.StoreID, &r.Role, &suspended)
	state.RotatedAt = rotated.Time
	member, administrator := r.Role != "", r.User.PlatformRole != nil
	state.Barred = disabled || suspended || r.StoreID != "" && !member || r.StoreID == "" && !administrator
	return state, err
}

// lockLiving locks a session of a user for a change, after the user; TOKEN_REVOKED when it
// has ended meanwhile.
func lockLiving(ctx context.Context, tx bun.Tx, p app.Principal) error {
	var id string
	err := tx.NewRaw(`SELECT id FROM users WHERE id = ? AND disabled_at IS NULL FOR UPDATE`, p.UserID).Scan(ctx, &id)
	if err == nil {
		err = tx.NewRaw(`SELECT id FROM sessions WHERE id = ? AND user_id = ? AND ended_at IS NULL FOR UPDATE`, p.SessionID, p.UserID).Scan(ctx, &id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	return err
}

func sessionEnded() error {
	return app.Errorf(app.CodeTokenRevoked, "the session has ended; log in again")
}

// ActiveStore is the store that a session works in after a switch.
type ActiveStore struct {
	StoreID   app.StoreID
	StoreName string
	Role      app.Role
	Email     string // of the user
}

// SwitchStore makes another store of the same website the session's active one, in the view
// or, for "", in the default view; the next login begins there, too. STORE_MISMATCH for a
// store of another website, one that the user does not belong to, and one that there is
// not; VALIDATION_FAILED for a view that the store does not have.
func (db *DB) SwitchStore(ctx context.Context, p app.Principal, store app.StoreID, view app.StoreViewID) (ActiveStore, error) {
	var active ActiveStore
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		if err := lockLiving(ctx, tx, p); err != nil {
			return err
		}
		err := tx.NewRaw(`SELECT s.id, s.name, m.role, u.email
			FROM memberships m JOIN stores s ON s.id = m.store_id JOIN users u ON u.id = m.user_id
			WHERE m.user_id = ? AND m.store_id = ? AND s.website_id = ?`, p.UserID, store, p.WebsiteID).
			Scan(ctx, &active.StoreID, &active.StoreName, &active.Role, &active.Email)
		if errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.CodeStoreMismatch, "you cannot switch to this store from here")
		}
		if err != nil {
			return err
		}
		var chosen app.StoreViewID
		err = tx.NewRaw(`SELECT id FROM store_views WHERE store_id = ? AND CASE WHEN ? = '' THEN is_default ELSE id = ? END`,
			store, view, view).Scan(ctx, &chosen)
		if errors.Is(err, sql.ErrNoRows) {
			return app.Invalid("storeViewId", "is not a view of this store")
		}
		if err != nil {
			return err
		}
		_, err = tx.NewRaw(`WITH used AS (UPDATE users SET last_store_id = ? WHERE id = ?)
			UPDATE sessions SET active_store_id = ?, active_view_id = ? WHERE id = ?`,
			store, p.UserID, store, chosen, p.SessionID).Exec(ctx)
		return err
	})
	return active, err
}

// EndSession ends a session; its tokens are dead from then on. TOKEN_REVOKED when it has
// ended already.
func (db *DB) EndSession(ctx context.Context, now time.Time, by app.Actor, p app.Principal) error {
	return pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		if err := lockLiving(ctx, tx, p); err != nil {
			return err
		}
		_, err := tx.NewRaw(`UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?`, now, app.EndedByLogout, p.SessionID).Exec(ctx)
		if err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditLogout, string(p.SessionID), nil)
	})
}
