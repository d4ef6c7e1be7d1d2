package identity

import (
	"cmp"
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

// Acceptance is how an invited user accepts an invitation: a new user with the hash of a password, an existing one with
// a proof.
type Acceptance struct {
	Token   app.Secret
	Name    string   // of a new user; "" = that of the invitation
	NewHash string   // "" = the user exists
	User    app.User // the existing one
	Proof   Proof
}

// Accept makes the invited user a member of the invitation's stores and starts a session in the first of them. A mailed
// invitation proves the email. Accept raises the role of an existing membership, and never lowers it. It returns
// TOKEN_INVALID and WEBSITE_SUSPENDED like [DB.Invited], the errors of [DB.StartSession] about the proof,
// INVALID_CREDENTIALS if the existing user has another email meanwhile, and CONFLICT if the email belongs to a platform
// administrator, or a user with the email of a new one was created concurrently.
func (db *DB) Accept(
	ctx context.Context, now time.Time, by app.Actor, in Acceptance, ttl time.Duration,
) (app.User, Session, error) {
	var user app.User
	var session Session
	accept := func(ctx context.Context, tx bun.Tx) error {
		invitation, err := acceptInvitation(ctx, tx, now, in.Token)
		if err != nil {
			return err
		}
		if in.NewHash != "" {
			invitation.Name = cmp.Or(in.Name, invitation.Name)
			user, err = createInvited(ctx, tx, now, invitation, in.NewHash)
		} else {
			user, err = existingInvited(ctx, tx, in.User.ID, invitation)
		}
		if err != nil {
			return err
		}
		stores, err := join(ctx, tx, now, by.As(user), user.ID, invitation)
		if err != nil {
			return err
		}
		session, err = startSession(ctx, tx, now, by, user, stores[0], ttl)
		return err
	}
	var err error
	if in.NewHash != "" {
		err = db.pg.InSystem(ctx, accept)
	} else {
		err = db.inProven(ctx, now, by, in.User, in.Proof, accept)
	}
	return user, session, err
}

// acceptInvitation marks the invitation with a token as accepted. Its errors are those of [DB.Invited].
func acceptInvitation(
	ctx context.Context, tx bun.Tx, now time.Time, token app.Secret,
) (invitation invitationRow, err error) {
	var suspended bool
	err = tx.NewRaw(`UPDATE invitations i SET accepted_at = ?1 WHERE `+acceptable+`
		RETURNING i.id, i.email, i.name, i.role, i.store_ids, i.mailed, `+toSuspended, hashOf(token), now).
		Scan(ctx, &invitation.ID, &invitation.Email, &invitation.Name, &invitation.Role,
			pgdialect.Array(&invitation.StoreIDs), &invitation.Mailed, &suspended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return invitation, invitationEnded()
	case err == nil && suspended: // the update is rolled back
		return invitation, app.WebsiteSuspended()
	}
	return invitation, err
}

// createInvited creates the user of an invitation, see [DB.Accept].
func createInvited(
	ctx context.Context, tx bun.Tx, now time.Time, invitation invitationRow, hash string,
) (app.User, error) {
	user := app.User{ID: app.NewID[app.UserID](now), Email: invitation.Email, Name: invitation.Name}
	created, err := pg.Inserted(tx.NewRaw(`INSERT INTO users (id, email, email_proven, name, password_hash, created_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, user.ID, user.Email, invitation.Mailed, user.Name, hash,
		now).Exec(ctx))
	if err == nil && !created { // the password was not checked
		err = app.Errorf(app.CodeConflict,
			"the account of this email has just changed; accept again with its password")
	}
	return user, err
}

// existingInvited returns the existing user of an invitation, whose proof was right, see [DB.Accept].
func existingInvited(
	ctx context.Context, tx bun.Tx, id app.UserID, invitation invitationRow,
) (user app.User, err error) {
	err = tx.NewRaw(`UPDATE users SET email_proven = email_proven OR ? WHERE id = ? AND lower(email) = ?
		RETURNING id, email, name, platform_role`, invitation.Mailed, id, app.NormalEmail(invitation.Email)).
		Scan(ctx, &user.ID, &user.Email, &user.Name, &user.PlatformRole)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return user, app.Errorf(app.CodeInvalidCredentials, "the email of the user has changed")
	case err == nil && user.PlatformRole != nil:
		return user, app.Errorf(app.CodeConflict,
			"a platform administrator cannot join a store; ask for an invitation to another email")
	}
	return user, err
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
