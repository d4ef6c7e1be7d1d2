package persistence

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Members lists the users of a store, the last to join first, at most limit of them, from
// after the one named (its zero value = from the start).
func (db *DB) Members(ctx context.Context, store app.StoreID, after Cursor, limit int) ([]app.Member, error) {
	rows, err := db.System().DB.QueryContext(ctx, `SELECT u.id, u.email, u.name, m.role, m.created_at
		FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.store_id = $1 AND ($2 = '' OR (m.created_at, u.id) < ($3, $2))
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

// ChangeRole gives a member of a store another role (the sandbox follows by a trigger), which counts from the member's next
// request on. NOT_FOUND for who is no member; LAST_OWNER when no OWNER would be left.
func (db *DB) ChangeRole(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, user app.UserID, role app.Role) (app.Member, error) {
	var m app.Member
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		was, err := keepAnOwner(ctx, tx, store, user, role)
		if err != nil {
			return err
		}
		if was != role {
			if err := pg.Audit(ctx, tx, now, store, by, app.AuditRoleChanged, string(user), map[string]any{"from": was, "to": role}); err != nil {
				return err
			}
		}
		return tx.NewRaw(`UPDATE memberships m SET role = ?0 FROM users u WHERE u.id = m.user_id AND m.store_id = ?1 AND m.user_id = ?2
			RETURNING u.id, u.email, u.name, m.role, m.created_at`, role, store, user).
			Scan(ctx, &m.ID, &m.Email, &m.Name, &m.Role, &m.JoinedAt.Time)
	})
	m.JoinedAt = app.At(m.JoinedAt.Time)
	return m, err
}

// RemoveMember takes a user out of a store (and, by a trigger, of its sandbox). Errors are those of ChangeRole.
func (db *DB) RemoveMember(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, user app.UserID) error {
	return pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		was, err := keepAnOwner(ctx, tx, store, user, "")
		if err != nil {
			return err
		}
		if _, err := tx.NewRaw(`DELETE FROM memberships WHERE store_id = ? AND user_id = ?`, store, user).Exec(ctx); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditUserRemoved, string(user), map[string]any{"role": was})
	})
}

// keepAnOwner refuses to let the last OWNER of a store go, and returns the role that the
// user has. It locks the members in one order, so that of two owners who remove each other
// at once the second finds itself the last.
func keepAnOwner(ctx context.Context, tx bun.Tx, store app.StoreID, user app.UserID, role app.Role) (app.Role, error) {
	var members []struct {
		UserID app.UserID
		Role   app.Role
	}
	err := tx.NewRaw(`SELECT user_id, role FROM memberships WHERE store_id = ? ORDER BY user_id FOR UPDATE`, store).Scan(ctx, &members)
	if err != nil {
		return "", err
	}
	was, owners := app.Role(""), 0
	for _, m := range members {
		if m.UserID == user {
			was = m.Role
		} else if m.Role == app.RoleOwner {
			owners++
		}
	}
	switch {
	case was == "":
		return "", app.NotFound()
	case owners == 0 && role != app.RoleOwner:
		return "", app.Errorf(app.CodeLastOwner, "a store must keep an OWNER")
	}
	return was, nil
}

// Invite asks somebody to join stores and replaces what was pending for the same address
// and website. The inviter must be OWNER of each of the stores, which belong to its
// website: STORE_MISMATCH otherwise. CONFLICT when the address belongs to a member of all
// of them already. render and once are as in PlaceOrder; what is stored for once must not
// hold the token.
func (db *DB) Invite(ctx context.Context, now time.Time, inviter app.Principal, by app.Actor, in app.Invitation, token app.Secret, ttl time.Duration, once *Once, render func(app.Invitation) any) (app.Invitation, error) {
	invite := func(ctx context.Context, tx bun.Tx) (app.Invitation, error) {
		var owned, joined int
		err := tx.NewRaw(`SELECT count(*) FILTER (WHERE m.user_id = ?0 AND m.role = 'OWNER'),
				count(*) FILTER (WHERE lower(u.email) = lower(?1))
			FROM memberships m JOIN stores s ON s.id = m.store_id JOIN users u ON u.id = m.user_id
			WHERE s.website_id = ?2 AND s.id IN (?3)`, inviter.UserID, in.Email, inviter.WebsiteID, bun.List(in.StoreIDs)).Scan(ctx, &owned, &joined)
		switch {
		case err != nil:
			return app.Invitation{}, err
		case owned < len(in.StoreIDs):
			return app.Invitation{}, app.Errorf(app.CodeStoreMismatch, "only an OWNER of each of these stores can invite to them")
		case joined == len(in.StoreIDs):
			return app.Invitation{}, app.Errorf(app.CodeConflict, "%s is a member already", in.Email)
		}
		return db.insertInvitation(ctx, tx, now, inviter.WebsiteID, by, in, token, ttl)
	}
	var invitation app.Invitation
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) (err error) {
		invitation, err = pg.RunOnce(ctx, tx, inviter.StoreID, once, now, func() (app.Invitation, error) { return invite(ctx, tx) }, render)
		return err
	})
	return invitation, err
}

// insertInvitation writes a user's invitation in place of one that is pending for the same
// address and website, and orders the mail of it.
func (db *DB) insertInvitation(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor, in app.Invitation, token app.Secret, ttl time.Duration) (app.Invitation, error) {
	in.ID, in.CreatedAt, in.ExpiresAt = app.NewID[app.InvitationID](now), app.At(now), app.At(now.Add(ttl))
	hash := sha256.Sum256([]byte(token.Reveal()))
	_, err := tx.NewRaw(`INSERT INTO invitations (id, website_id, email, name, role, store_ids, token_hash, invited_by, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (website_id, lower(email)) WHERE accepted_at IS NULL DO UPDATE SET id = excluded.id, email = excluded.email,
			name = excluded.name, role = excluded.role, store_ids = excluded.store_ids, token_hash = excluded.token_hash,
			invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at`,
		in.ID, website, in.Email, in.Name, in.Role, pgdialect.Array(in.StoreIDs), hash[:], by.ID, in.CreatedAt.Time, in.ExpiresAt.Time).Exec(ctx)
	if err != nil {
		return in, err
	}
	for _, store := range in.StoreIDs {
		err := pg.Audit(ctx, tx, now, store, by, app.AuditUserInvited, string(in.ID), map[string]any{"email": in.Email, "role": in.Role})
		if err != nil {
			return in, err
		}
	}
	return in, db.EnqueueInvitationMail(ctx, tx, now, in, token)
}

// toOpenWebsite bounds invitations to those of websites that are not suspended.
const toOpenWebsite = `NOT EXISTS (SELECT FROM websites w WHERE w.id = invitations.website_id AND w.suspended_at IS NOT NULL)`

// Invited returns the login of the address that an invitation is for, nil if it has none
// yet. TOKEN_INVALID for a token that is unknown, used or expired, or whose website is
// suspended.
func (db *DB) Invited(ctx context.Context, now time.Time, token app.Secret) (*Login, error) {
	var email string
	hash := sha256.Sum256([]byte(token.Reveal()))
	err := db.System().DB.QueryRowContext(ctx, `SELECT email FROM invitations
		WHERE token_hash = $1 AND accepted_at IS NULL AND expires_at > $2 AND `+toOpenWebsite, hash[:], now).Scan(&email)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, app.TokenInvalid()
	}
	if err != nil {
		return nil, pg.Classify(err)
	}
	found, err := db.LoginByEmail(ctx, email)
	if app.CodeOf(err) == app.CodeNotFound {
		return nil, nil
	}
	return &found, err
}

// Accept makes who was invited a member of the stores: a new user with a password hash, or
// the one whose address it is. Where somebody is a member already, the role stays. It
// returns the user and the first of the stores. TOKEN_INVALID as Invited; CONFLICT for a
// platform administrator's address, and for one that somebody has just become a user with.
func (db *DB) Accept(ctx context.Context, now time.Time, by app.Actor, token app.Secret, name, passwordHash string) (app.User, app.StoreID, error) {
	var user app.User
	var stores []app.StoreID
	hash := sha256.Sum256([]byte(token.Reveal()))
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		var id app.InvitationID
		var email, invitedAs string
		var role app.Role
		err := tx.NewRaw(`UPDATE invitations SET accepted_at = ?0 WHERE token_hash = ?1 AND accepted_at IS NULL AND expires_at > ?0 AND `+toOpenWebsite+`
			RETURNING id, email, name, role, store_ids`, now, hash[:]).Scan(ctx, &id, &email, &invitedAs, &role, pgdialect.Array(&stores))
		if errors.Is(err, sql.ErrNoRows) {
			return app.TokenInvalid()
		}
		if err != nil {
			return err
		}
		if name == "" {
			name = invitedAs
		}
		if passwordHash != "" {
			_, err = tx.NewRaw(`INSERT INTO users (id, email, name, password_hash, created_at) VALUES (?, ?, ?, ?, ?)`,
				app.NewID[app.UserID](now), email, name, passwordHash, now).Exec(ctx)
			if pg.IsDuplicate(err) { // made a moment ago: its password has not been checked
				return app.Errorf(app.CodeConflict, "a user with this address has just been made; accept once more, with that user's password")
			}
			if err != nil {
				return err
			}
		}
		err = tx.NewRaw(`SELECT id, email, name, platform_role FROM users WHERE lower(email) = lower(?) AND disabled_at IS NULL`, email).
			Scan(ctx, &user.ID, &user.Email, &user.Name, &user.PlatformRole)
		if err != nil {
			return err
		}
		if user.PlatformRole != nil {
			return app.Errorf(app.CodeConflict, "a platform administrator works in no store; ask for an invitation to another address")
		}
		slices.Sort(stores)
		var joined []app.StoreID
		err = tx.NewRaw(`INSERT INTO memberships (user_id, store_id, role, created_at)
			SELECT ?0, id, ?1, ?2 FROM stores WHERE id IN (?3) ON CONFLICT DO NOTHING RETURNING store_id`,
			user.ID, role, now, bun.List(stores)).Scan(ctx, &joined)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		for _, store := range joined {
			if err := pg.Audit(ctx, tx, now, store, by.As(user), app.AuditInvitationAccepted, string(id), map[string]any{"role": role}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return user, "", err
	}
	return user, stores[0], nil
}
