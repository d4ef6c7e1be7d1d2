package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// A change of a session locks the user's row first and the session's row second. The end of all
// sessions of a user uses the same order, so that the two cannot deadlock.

// Refreshed is the result of [DB.Refresh]. Unless Decision is RefreshRotate or RefreshRepeat, only
// Decision and User have a meaning.
type Refreshed struct {
	Decision       app.RefreshDecision
	User           app.User    // zero if there is no such session
	RefreshCounter int64       // of the token to issue
	StoreID        app.StoreID // active store; "" for platform administrators
	Role           app.Role
	CreatedAt      time.Time // of the session
}

// Refresh presents a refresh token with a counter and applies the decision of app.DecideRefresh.
// It commits the decision even if the caller then refuses the request: reuse of a token ends all of
// the user's sessions and is recorded in the audit trails.
func (db *DB) Refresh(
	ctx context.Context, now time.Time, by app.Actor, session app.SessionID, counter int64, rules app.RefreshRules,
) (Refreshed, error) {
	var r Refreshed
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
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
		r.RefreshCounter, err = userSessions.applyDecision(ctx, tx, r.Decision, session, string(r.User.ID),
			state.Counter, now, rules)
		if err == nil && r.Decision == app.RefreshReused {
			err = pg.AuditUser(ctx, tx, now, r.User.ID, by.Unknown(r.User.Realm()), app.AuditSessionReused,
				string(r.User.ID),
				map[string]any{"sessionId": session})
		}
		return err
	})
	return r, err
}

// sessionTable is a table of sessions with the name of its owner column and, for customers, their store.
type sessionTable struct {
	name, owner string
	store       app.StoreID
}

// userSessions are the sessions of users, who belong to no store.
var userSessions = sessionTable{name: "sessions", owner: "user_id"}

// customerSessions are the sessions of a store's customers.
func customerSessions(store app.StoreID) sessionTable {
	return sessionTable{"customer_sessions", "customer_id", store}
}

// of restricts sessions to those of an owner.
func (t sessionTable) of(owner string) schema.QueryWithArgs {
	if t.store == "" {
		return bun.SafeQuery("? = ?", bun.Ident(t.owner), owner)
	}
	return bun.SafeQuery("store_id = ? AND ? = ?", t.store, bun.Ident(t.owner), owner)
}

// shareLock locks a session of an owner, whose row is locked, so that it lasts until the transaction ends. It returns
// TOKEN_REVOKED if the session has ended. The transaction must not change the session.
func (t sessionTable) shareLock(ctx context.Context, tx bun.Tx, owner string, session app.SessionID) error {
	var id string
	err := tx.NewRaw(`SELECT id FROM ? WHERE ? AND id = ? AND ended_at IS NULL FOR SHARE`, bun.Ident(t.name),
		t.of(owner), session).Scan(ctx, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	return err
}

// applyDecision applies a decision about a locked session and returns the counter of the token to issue.
func (t sessionTable) applyDecision(
	ctx context.Context, tx bun.Tx, decision app.RefreshDecision, session app.SessionID, owner string, counter int64,
	now time.Time, rules app.RefreshRules,
) (int64, error) {
	var err error
	switch decision {
	case app.RefreshRotate:
		counter++
		_, err = tx.NewRaw(`UPDATE ? SET refresh_counter = ?, rotated_at = ?, expires_at = ? WHERE ? AND id = ?`,
			bun.Ident(t.name), counter, now, now.Add(rules.TTL), t.of(owner), session).Exec(ctx)
	case app.RefreshReused:
		_, err = tx.NewRaw(`UPDATE ? SET ended_at = ?, end_reason = ? WHERE ? AND ended_at IS NULL`,
			bun.Ident(t.name), now, app.EndedByReuse, t.of(owner)).Exec(ctx)
	}
	return counter, err
}

// lock locks a user and one of the user's sessions and reads both. The state is barred if the user is
// disabled or no longer a member of the active store.
func (r *Refreshed) lock(ctx context.Context, tx bun.Tx, session app.SessionID) (app.SessionState, error) {
	var state app.SessionState
	var disabled bool
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
		Scan(ctx, &state.Counter, &rotated, &state.CreatedAt, &state.ExpiresAt, &state.Ended, &r.StoreID, &r.Role,
			&state.Suspended)
	state.RotatedAt = rotated.Time
	member, administrator := r.Role != "", r.User.PlatformRole != nil
	state.Barred = disabled || r.StoreID != "" && !member || r.StoreID == "" && !administrator
	return state, err
}

// lockSession locks a user and a session. It returns TOKEN_REVOKED if the session has ended.
func lockSession(ctx context.Context, tx bun.Tx, p app.Principal) error {
	var id string
	err := tx.NewRaw(`SELECT id FROM users WHERE id = ? AND disabled_at IS NULL FOR UPDATE`, p.UserID).Scan(ctx, &id)
	if err == nil {
		err = tx.NewRaw(`SELECT id FROM sessions WHERE id = ? AND user_id = ? AND ended_at IS NULL FOR UPDATE`,
			p.SessionID, p.UserID).Scan(ctx, &id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	return err
}

// lockCustomerSession is lockSession for a customer.
func lockCustomerSession(ctx context.Context, tx bun.Tx, p app.Principal) error {
	var id string
	err := tx.NewRaw(`SELECT id FROM customers WHERE store_id = ? AND id = ? AND disabled_at IS NULL FOR UPDATE`,
		p.StoreID, p.CustomerID).Scan(ctx, &id)
	if err == nil {
		err = tx.NewRaw(`SELECT id FROM customer_sessions
			WHERE store_id = ? AND id = ? AND customer_id = ? AND ended_at IS NULL FOR UPDATE`,
			p.StoreID, p.SessionID, p.CustomerID).Scan(ctx, &id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	return err
}

// end ends all sessions of an owner, whose row is locked, except one ("" = none). It returns the number
// of ended sessions.
func (t sessionTable) end(
	ctx context.Context, tx bun.Tx, now time.Time, owner string, except app.SessionID, reason app.EndReason,
) (int64, error) {
	result, err := tx.NewRaw(`UPDATE ? SET ended_at = ?, end_reason = ? WHERE ? AND id <> ? AND ended_at IS NULL`,
		bun.Ident(t.name), now, reason, t.of(owner), except).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func sessionEnded() error {
	return app.Errorf(app.CodeTokenRevoked, "the session has ended; log in again")
}

// ActiveStore is the active store of a session after a switch.
type ActiveStore struct {
	StoreID   app.StoreID
	StoreName string
	Role      app.Role
	Email     string // of the user
}

// SwitchStore makes another store of the same website the active store of the session, with the given
// view or, for "", the default view. The user's next login starts in that store. It returns
// STORE_MISMATCH if the store is unknown, belongs to another website, or the user is not a member, and
// VALIDATION_FAILED if the store has no such view.
func (db *DB) SwitchStore(
	ctx context.Context, p app.Principal, store app.StoreID, view app.StoreViewID,
) (ActiveStore, error) {
	var active ActiveStore
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		err := tx.NewRaw(`SELECT s.id, s.name, m.role, u.email
			FROM memberships m JOIN stores s ON s.id = m.store_id JOIN users u ON u.id = m.user_id
			WHERE m.user_id = ? AND m.store_id = ? AND s.website_id = ?`, p.UserID, store, p.WebsiteID).
			Scan(ctx, &active.StoreID, &active.StoreName, &active.Role, &active.Email)
		if errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.CodeStoreMismatch, "this session cannot switch to that store")
		}
		if err != nil {
			return err
		}
		var chosen app.StoreViewID
		err = tx.NewRaw(`SELECT id FROM store_views
			WHERE store_id = ? AND CASE WHEN ? = '' THEN is_default ELSE id = ? END`,
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

// ProveIdentity records a proof of the user of a session. It returns TOKEN_REVOKED if the session has ended, and
// otherwise the errors of [DB.StartSession] about the proof.
func (db *DB) ProveIdentity(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, user app.User, proof Proof,
) error {
	return db.inProven(ctx, now, by, user, proof, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		_, err := tx.NewRaw(`UPDATE sessions SET proven_at = ? WHERE id = ?`, now, p.SessionID).Exec(ctx)
		return err
	})
}

// EndSession ends a session and thereby its tokens. It returns TOKEN_REVOKED if the session has already ended.
func (db *DB) EndSession(ctx context.Context, now time.Time, by app.Actor, p app.Principal) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		_, err := tx.NewRaw(`UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?`, now, app.EndedByLogout,
			p.SessionID).Exec(ctx)
		if err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditLogout, string(p.SessionID), nil)
	})
}

// Sessions lists the sessions of a logged-in user that have not ended, newest first.
func (db *DB) Sessions(
	ctx context.Context, now time.Time, p app.Principal, rules app.RefreshRules, after pg.Cursor, limit int,
) ([]app.LoginSession, error) {
	found, err := userSessions.list(ctx, db.pg.System(), now, string(p.UserID), p.SessionID, rules, after, limit)
	return found, pg.Classify(err)
}

// CustomerSessions is [DB.Sessions] for a customer.
func (db *DB) CustomerSessions(
	ctx context.Context, now time.Time, p app.Principal, rules app.RefreshRules, after pg.Cursor, limit int,
) ([]app.LoginSession, error) {
	var found []app.LoginSession
	err := db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) (err error) {
		found, err = customerSessions(p.StoreID).
			list(ctx, tx, now, string(p.CustomerID), p.SessionID, rules, after, limit)
		return err
	})
	return found, err
}

// list lists the sessions of an owner that have neither ended nor expired.
func (t sessionTable) list(
	ctx context.Context, tx bun.IDB, now time.Time, owner string, current app.SessionID, rules app.RefreshRules,
	after pg.Cursor, limit int,
) ([]app.LoginSession, error) {
	since := time.Unix(0, 0)
	if rules.MaxAge > 0 {
		since = now.Add(-rules.MaxAge)
	}
	var rows []struct {
		ID                    app.SessionID
		CreatedAt, LastUsedAt time.Time
		Address, UserAgent    string
	}
	err := tx.NewRaw(`SELECT id, created_at, coalesce(rotated_at, created_at) AS last_used_at, address, user_agent
		FROM ?0 WHERE ?1 AND ended_at IS NULL AND expires_at > ?2 AND created_at > ?3
			AND (?4 = '' OR (created_at, id) < (?5, ?4))
		ORDER BY created_at DESC, id DESC LIMIT ?6`,
		bun.Ident(t.name), t.of(owner), now, since, after.ID, after.At, limit).Scan(ctx, &rows)
	sessions := make([]app.LoginSession, len(rows))
	for i, row := range rows {
		sessions[i] = app.LoginSession{
			ID: row.ID, CreatedAt: app.At(row.CreatedAt), LastUsedAt: app.At(row.LastUsedAt), Address: row.Address,
			UserAgent: row.UserAgent, Current: row.ID == current,
		}
	}
	return sessions, err
}

// EndOneSession ends a session of a logged-in user. It returns NOT_FOUND if the user has no such session or it has
// ended.
func (db *DB) EndOneSession(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, session app.SessionID,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		if err := userSessions.endOne(ctx, tx, now, string(p.UserID), session); err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditSessionEnded, string(session), nil)
	})
}

// EndOneCustomerSession is [DB.EndOneSession] for a customer.
func (db *DB) EndOneCustomerSession(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, session app.SessionID,
) error {
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCustomerSession(ctx, tx, p); err != nil {
			return err
		}
		if err := customerSessions(p.StoreID).endOne(ctx, tx, now, string(p.CustomerID), session); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditSessionEnded, string(session), nil)
	})
}

// endOne ends a session of an owner, whose row is locked. It returns NOT_FOUND if the owner
// has no such session or it has ended.
func (t sessionTable) endOne(
	ctx context.Context, tx bun.Tx, now time.Time, owner string, session app.SessionID,
) error {
	result, err := tx.NewRaw(`UPDATE ? SET ended_at = ?, end_reason = ? WHERE ? AND id = ? AND ended_at IS NULL`,
		bun.Ident(t.name), now, app.EndedByUser, t.of(owner), session).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, app.NotFound())
	}
	return nil
}

// EndOtherSessions ends all sessions of a logged-in user except the current one.
func (db *DB) EndOtherSessions(ctx context.Context, now time.Time, p app.Principal, by app.Actor) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		n, err := userSessions.end(ctx, tx, now, string(p.UserID), p.SessionID, app.EndedByUser)
		if err != nil || n == 0 {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditSessionEnded, string(p.UserID),
			map[string]any{"sessions": n})
	})
}

// EndOtherCustomerSessions is [DB.EndOtherSessions] for a customer.
func (db *DB) EndOtherCustomerSessions(ctx context.Context, now time.Time, p app.Principal, by app.Actor) error {
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCustomerSession(ctx, tx, p); err != nil {
			return err
		}
		n, err := customerSessions(p.StoreID).end(ctx, tx, now, string(p.CustomerID), p.SessionID, app.EndedByUser)
		if err != nil || n == 0 {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditSessionEnded, string(p.CustomerID),
			map[string]any{"sessions": n})
	})
}
