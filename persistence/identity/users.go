package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Memberships belong to the live store and apply to its sandbox: a trigger copies every change. Every operation in a
// sandbox acts on the live store (docs/behaviour.md#sandboxes).

// liveStore is the id of the live store of the store $1, which may be a sandbox.
const liveStore = `(SELECT coalesce(sandbox_of, id) FROM stores WHERE id = $1)`

// live returns the live store of a store, which may be a sandbox. It returns NOT_FOUND if there is no such
// store.
func live(ctx context.Context, tx bun.Tx, store app.StoreID) (app.StoreID, error) {
	var found app.StoreID
	err := tx.NewRaw(`SELECT coalesce(sandbox_of, id) FROM stores WHERE id = ?`, store).Scan(ctx, &found)
	return found, err
}

// Members lists the users of a store, the newest member first.
func (db *DB) Members(ctx context.Context, store app.StoreID, after pg.Cursor, limit int) ([]app.Member, error) {
	rows, err := db.pg.System().DB.QueryContext(ctx, `SELECT u.id, u.email, u.name, m.role, m.created_at
		FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.store_id = `+liveStore+` AND ($2 = '' OR (m.created_at, u.id) < ($3, $2))
		ORDER BY m.created_at DESC, u.id DESC LIMIT $4`, store, after.ID, after.At, limit)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	members := []app.Member{}
	for rows.Next() {
		var m app.Member
		if err := rows.Scan(&m.ID, &m.Email, &m.Name, &m.Role, &m.JoinedAt.Time); err != nil {
			return nil, err
		}
		m.JoinedAt = app.At(m.JoinedAt.Time)
		members = append(members, m)
	}
	return members, pg.Classify(rows.Err())
}

// ChangeRole changes the role of a member of the caller's active store, effective from the member's next request. It
// returns TOKEN_REVOKED and INSUFFICIENT_ROLE if the caller is no longer an OWNER, NOT_FOUND if the user is not a
// member, and LAST_OWNER if the store would have no OWNER.
func (db *DB) ChangeRole(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, user app.UserID, role app.Role,
) (app.Member, error) {
	var m app.Member
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		store, was, err := requireAnotherOwner(ctx, tx, caller, user, role)
		if err != nil {
			return err
		}
		if was == app.RoleOwner && role != app.RoleOwner {
			if err := endInvitationsOf(ctx, tx, now, by, user, store); err != nil {
				return err
			}
		}
		if was != role {
			if err := pg.Audit(ctx, tx, now, store, by, app.AuditRoleChanged, string(user),
				map[string]any{"from": was, "to": role}); err != nil {
				return err
			}
		}
		return tx.NewRaw(`UPDATE memberships m SET role = ?0 FROM users u
			WHERE u.id = m.user_id AND m.store_id = ?1 AND m.user_id = ?2
			RETURNING u.id, u.email, u.name, m.role, m.created_at`, role, store, user).
			Scan(ctx, &m.ID, &m.Email, &m.Name, &m.Role, &m.JoinedAt.Time)
	})
	m.JoinedAt = app.At(m.JoinedAt.Time)
	return m, err
}

// RemoveMember removes a user from the caller's active store. Its errors are those of [DB.ChangeRole].
func (db *DB) RemoveMember(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, user app.UserID,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		store, was, err := requireAnotherOwner(ctx, tx, caller, user, "")
		if err != nil {
			return err
		}
		if was == app.RoleOwner {
			if err := endInvitationsOf(ctx, tx, now, by, user, store); err != nil {
				return err
			}
		}
		if _, err := tx.NewRaw(`DELETE FROM memberships WHERE store_id = ? AND user_id = ?`, store, user).
			Exec(ctx); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditUserRemoved, string(user), map[string]any{"role": was})
	})
}

// shareSession locks a user and a session that has not ended, so that both last until the transaction ends. It returns
// TOKEN_REVOKED if the user is disabled or the session has ended. The transaction must not change either.
func shareSession(ctx context.Context, tx bun.Tx, p app.Principal) error {
	var id string
	err := tx.NewRaw(`SELECT id FROM users WHERE id = ? AND disabled_at IS NULL FOR SHARE`, p.UserID).Scan(ctx, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return sessionEnded()
	}
	if err != nil {
		return err
	}
	return userSessions.shareLock(ctx, tx, string(p.UserID), p.SessionID)
}

// checkCaller returns TOKEN_REVOKED for a caller without a role in the store ("" = removed since the request began),
// and INSUFFICIENT_ROLE for another role than OWNER.
func checkCaller(role app.Role) error {
	if role == "" {
		return sessionEnded()
	}
	return app.Principal{Realm: app.RealmTenant, Role: role}.Can(app.ManageUsers)
}

// requireAnotherOwner returns the live store of the caller and the user's role in it, or LAST_OWNER if the store would
// have no enabled OWNER after the user got the new role ("" = removed). It locks all members in the order of their ids,
// the caller among them. If two OWNERs remove each other concurrently, the second request therefore finds that its
// caller is no longer a member, and fails.
func requireAnotherOwner(
	ctx context.Context, tx bun.Tx, caller app.Principal, user app.UserID, role app.Role,
) (app.StoreID, app.Role, error) {
	if err := shareSession(ctx, tx, caller); err != nil {
		return "", "", err
	}
	store, err := live(ctx, tx, caller.StoreID)
	if err != nil {
		return "", "", err
	}
	var members []struct {
		UserID  app.UserID
		Role    app.Role
		Enabled bool
	}
	err = tx.NewRaw(`SELECT m.user_id, m.role, u.disabled_at IS NULL AS enabled
		FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.store_id = ? ORDER BY m.user_id FOR UPDATE OF m`,
		store).Scan(ctx, &members)
	if err != nil {
		return "", "", err
	}
	was, callers, owners := app.Role(""), app.Role(""), 0
	for _, m := range members {
		if m.UserID == caller.UserID {
			callers = m.Role
		}
		if m.UserID == user {
			was = m.Role
		} else if m.Role == app.RoleOwner && m.Enabled {
			owners++
		}
	}
	if err := checkCaller(callers); err != nil {
		return "", "", err
	}
	switch {
	case was == "":
		return "", "", app.NotFound()
	case owners == 0 && role != app.RoleOwner:
		return "", "", app.Errorf(app.CodeLastOwner, "a store needs at least one OWNER; make another user OWNER first")
	}
	return store, was, nil
}
