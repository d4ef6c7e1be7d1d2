package identity

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// InvitedEmail returns the email of the invitation with a token, also after its end, "" if the token is
// unknown.
func (db *DB) InvitedEmail(ctx context.Context, token app.Secret) (string, error) {
	var email string
	err := db.lookups.System().NewRaw(`SELECT email FROM invitations WHERE token_hash = ?`, hashOf(token)).
		Scan(ctx, &email)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return email, pg.Classify(err)
}

// Invited is the login with the email of an invitation.
type Invited struct {
	Login
	New bool // there is no such user; Login is zero
}

// Invited returns the login with the email of an invitation. It returns TOKEN_INVALID if the token is unknown or the
// invitation has ended, and WEBSITE_SUSPENDED if the website is suspended.
func (db *DB) Invited(ctx context.Context, now time.Time, token app.Secret) (Invited, error) {
	var email string
	var suspended bool
	err := db.pg.System().NewRaw(`SELECT i.email, `+toSuspended+` FROM invitations i WHERE `+acceptable,
		hashOf(token), now).Scan(ctx, &email, &suspended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Invited{}, invitationEnded()
	case err != nil:
		return Invited{}, pg.Classify(err)
	case suspended:
		return Invited{}, app.WebsiteSuspended()
	}
	login, err := db.LoginByEmail(ctx, email)
	if app.CodeOf(err) == app.CodeNotFound {
		return Invited{New: true}, nil
	}
	return Invited{Login: login}, err
}

// InvitationFailed counts a wrong password or one-time password of an existing user who accepts an
// invitation. The last of app.MaxInvitationFailures ends the invitation. It returns TOKEN_INVALID if the
// invitation has ended, so that concurrent guesses learn nothing.
func (db *DB) InvitationFailed(ctx context.Context, now time.Time, by app.Actor, token app.Secret) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var failures int
		err := tx.NewRaw(`UPDATE invitations i SET failures = i.failures + 1 WHERE `+acceptable+`
			RETURNING i.failures`, hashOf(token), now).Scan(ctx, &failures)
		if errors.Is(err, sql.ErrNoRows) {
			return invitationEnded()
		}
		if err != nil || failures < app.MaxInvitationFailures {
			return err
		}
		var row invitationRow
		err = tx.NewRaw(`DELETE FROM invitations i WHERE `+acceptable+` RETURNING `+invitationColumns,
			hashOf(token), now).Scan(ctx, &row)
		if err != nil {
			return err
		}
		return auditInvitation(ctx, tx, now, by.Unknown(app.RealmTenant), app.AuditInvitationWithdrawn,
			row.invitation(), endedByFailures)
	})
}

// Accept makes the invited user a member of the invitation's stores and returns the user and the first
// of the stores. With a password hash it creates the user; otherwise the user with that email joins, whose credentials
// were right. A mailed invitation proves the email. Accept raises the role of an existing membership, and never lowers
// it. It returns TOKEN_INVALID and WEBSITE_SUSPENDED like [DB.Invited], INVALID_CREDENTIALS if the user is disabled or
// has another email meanwhile, and CONFLICT if the email belongs to a platform administrator, or a user with that email
// was created concurrently.
func (db *DB) Accept(
	ctx context.Context, now time.Time, by app.Actor, token app.Secret, name, passwordHash string,
) (app.User, app.StoreID, error) {
	var user app.User
	var stores []app.StoreID
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var invitation invitationRow
		var suspended bool
		err := tx.NewRaw(`UPDATE invitations i SET accepted_at = ?1 WHERE `+acceptable+`
			RETURNING i.id, i.email, i.name, i.role, i.store_ids, i.mailed, `+toSuspended, hashOf(token), now).
			Scan(ctx, &invitation.ID, &invitation.Email, &invitation.Name, &invitation.Role,
				pgdialect.Array(&invitation.StoreIDs), &invitation.Mailed, &suspended)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return invitationEnded()
		case err != nil:
			return err
		case suspended: // the update is rolled back
			return app.WebsiteSuspended()
		}
		if name != "" {
			invitation.Name = name
		}
		if user, err = invitedUser(ctx, tx, now, invitation, passwordHash); err != nil {
			return err
		}
		stores, err = join(ctx, tx, now, by.As(user), user.ID, invitation)
		return err
	})
	if err != nil {
		return user, "", err
	}
	return user, stores[0], nil
}

// invitedUser returns the user with the email of an invitation. With a password hash it creates the user, see
// [DB.Accept].
func invitedUser(
	ctx context.Context, tx bun.Tx, now time.Time, invitation invitationRow, passwordHash string,
) (user app.User, err error) {
	created := false
	if passwordHash != "" {
		created, err = pg.Inserted(tx.NewRaw(`INSERT INTO users
				(id, email, email_proven, name, password_hash, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, app.NewID[app.UserID](now), invitation.Email,
			invitation.Mailed, invitation.Name, passwordHash, now).Exec(ctx))
		if err != nil {
			return user, err
		}
	}
	err = tx.NewRaw(`SELECT id, email, name, platform_role
		FROM users WHERE lower(email) = ? AND disabled_at IS NULL FOR UPDATE`, app.NormalEmail(invitation.Email)).
		Scan(ctx, &user.ID, &user.Email, &user.Name, &user.PlatformRole)
	switch {
	case errors.Is(err, sql.ErrNoRows): // since the password was checked
		return user, app.Errorf(app.CodeInvalidCredentials, "the user is disabled")
	case err != nil:
		return user, err
	case user.PlatformRole != nil:
		return user, app.Errorf(app.CodeConflict,
			"a platform administrator cannot join a store; ask for an invitation to another email")
	case created:
		return user, nil
	case passwordHash == "": // the password and the one-time password of the user were right
		_, err = tx.NewRaw(`UPDATE users SET email_proven = email_proven OR ? WHERE id = ?`, invitation.Mailed,
			user.ID).Exec(ctx)
		return user, err
	}
	return user, app.Errorf(app.CodeConflict, // created concurrently: the password was not checked
		"the account of this email has just changed; accept again with its password")
}

// join makes a user a member of the stores of an invitation and returns the stores, sorted.
func join(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.UserID, invitation invitationRow,
) (stores []app.StoreID, err error) {
	stores = slices.Sorted(slices.Values(invitation.StoreIDs))
	var joined []app.StoreID
	err = tx.NewRaw(`INSERT INTO memberships AS m (user_id, store_id, role, created_at)
		SELECT ?0, id, ?1, ?2 FROM stores WHERE id IN (?3) ORDER BY id
		ON CONFLICT (user_id, store_id) DO UPDATE SET role = excluded.role
			WHERE array_position(?4, excluded.role) < array_position(?4, m.role)
		RETURNING store_id`,
		user, invitation.Role, now, bun.List(stores), pgdialect.Array(app.Roles[:])).Scan(ctx, &joined)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	for _, store := range joined {
		err := pg.Audit(ctx, tx, now, store, by, app.AuditInvitationAccepted, string(invitation.ID),
			map[string]any{"role": invitation.Role})
		if err != nil {
			return nil, err
		}
	}
	return stores, nil
}
