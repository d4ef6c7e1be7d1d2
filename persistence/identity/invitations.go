package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// An invitation names live stores only. It ends by acceptance, expiry, withdrawal, too many wrong
// credentials, or, by triggers, when its inviter is no longer an enabled OWNER of each of its stores. An
// invitation that ended otherwise than by acceptance or expiry is deleted. The operations that end it record that; the
// triggers enforce the rule for every other change.

// Reasons in the audit trail why an invitation ended without a request to withdraw it.
const (
	endedByFailures    = "failures" // too many wrong credentials
	endedByInviter     = "inviter"  // the inviter is no longer an enabled OWNER of each of the stores
	endedByReplacement = "replaced" // by a new invitation of the same email
)

// Invite invites a user to stores. It replaces a pending invitation of the same email and website. A repeated
// request returns the invitation of the first request; token does not belong to it. It returns TOKEN_REVOKED if the
// inviter's session has ended, STORE_MISMATCH unless the inviter is OWNER of each of the stores and they belong to the
// inviter's website, OTP_SETUP_REQUIRED if one of the stores is closed to the inviter, RATE_LIMITED, CONFLICT if the
// email belongs to a member of all stores, and the errors of [pg.RunOnce].
func (db *DB) Invite(
	ctx context.Context, now time.Time, inviter app.Principal, by app.Actor, in app.Invitation, token app.Secret,
	ttl time.Duration, once *pg.Once,
) (app.Invitation, error) {
	invite := func(ctx context.Context, tx bun.Tx) (app.Invitation, error) {
		in := in // the transaction may run again
		var err error
		if in.StoreIDs, err = liveStores(ctx, tx, inviter.WebsiteID, in.StoreIDs); err != nil {
			return in, err
		}
		if err := requireOwner(ctx, tx, inviter, in.StoreIDs); err != nil {
			return in, err
		}
		if err := countInvitations(ctx, tx, inviter.WebsiteID, in.StoreIDs); err != nil {
			return in, err
		}
		var joined int
		err = tx.NewRaw(`SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE m.store_id IN (?) AND lower(u.email) = ?`, bun.List(in.StoreIDs), app.NormalEmail(in.Email)).
			Scan(ctx, &joined)
		if err != nil {
			return in, err
		}
		if joined == len(in.StoreIDs) {
			return in, app.Errorf(app.CodeConflict, "%s is already a member of these stores", in.Email)
		}
		return db.insertInvitation(ctx, tx, now, inviter.WebsiteID, by, in, token, ttl)
	}
	var invitation app.Invitation
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		invitation, err = pg.RunOnce(ctx, tx, inviter.StoreID, once, now,
			func() (app.Invitation, error) { return invite(ctx, tx) })
		return err
	})
	return invitation, err
}

// liveStores returns the live stores of stores of a website, sorted and without duplicates. It returns
// STORE_MISMATCH if one of them is unknown or belongs to another website.
func liveStores(
	ctx context.Context, tx bun.Tx, website app.WebsiteID, stores []app.StoreID,
) (live []app.StoreID, err error) {
	var rows []struct{ ID, Live app.StoreID }
	err = tx.NewRaw(`SELECT id, coalesce(sandbox_of, id) AS live FROM stores WHERE website_id = ? AND id IN (?)`,
		website, bun.List(stores)).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		live = append(live, row.Live)
	}
	if len(rows) < len(stores) {
		return nil, errOwnerOnly()
	}
	slices.Sort(live)
	return slices.Compact(live), nil
}

// requireOwner returns TOKEN_REVOKED if the user is disabled or the session has ended, STORE_MISMATCH unless the user
// is an OWNER of each of the stores, and OTP_SETUP_REQUIRED if one of them requires one-time passwords, which the user
// has not switched on. It locks the user, the session and the memberships, in this order, so that the user stays one
// until the transaction ends.
func requireOwner(ctx context.Context, tx bun.Tx, user app.Principal, stores []app.StoreID) error {
	if err := shareSession(ctx, tx, user); err != nil {
		return err
	}
	var owned []app.StoreID
	err := tx.NewRaw(`SELECT store_id FROM memberships WHERE user_id = ? AND role = 'OWNER' AND store_id IN (?)
		ORDER BY store_id FOR SHARE`, user.UserID, bun.List(stores)).Scan(ctx, &owned)
	if err != nil {
		return err
	}
	if len(owned) < len(stores) {
		return errOwnerOnly()
	}
	// Every request checks this for the active store only.
	var closed bool
	err = tx.NewRaw(`SELECT otp_enabled_at IS NULL AND EXISTS (SELECT FROM stores WHERE id IN (?) AND require_otp)
		FROM users WHERE id = ?`, bun.List(stores), user.UserID).Scan(ctx, &closed)
	if err == nil && closed {
		err = app.OTPSetupRequired()
	}
	return err
}

func errOwnerOnly() error {
	return app.Errorf(app.CodeStoreMismatch, "you must be OWNER of each of these stores to invite users to them")
}

// countInvitations counts an invitation against the budget of each of the stores and of their website. The count is
// rolled back with the invitation.
func countInvitations(ctx context.Context, tx bun.Tx, website app.WebsiteID, stores []app.StoreID) error {
	var budgets []Budget
	count := func(owner string, most int) {
		key := sha256.Sum256([]byte("invitations\x00" + owner))
		budgets = append(budgets, Budget{Key: key[:], Most: most})
	}
	for _, store := range stores {
		count(string(store), app.InvitationsPerHour)
	}
	count(string(website), app.WebsiteInvitationsPerHour)
	return pg.TakeRateLimits(ctx, tx.Tx, time.Hour, budgets...)
}

// insertInvitation writes an invitation to live stores and enqueues its mail. It replaces a pending
// invitation of the same email and website.
func (db *DB) insertInvitation(
	ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor, in app.Invitation,
	token app.Secret, ttl time.Duration,
) (app.Invitation, error) {
	in.ID, in.CreatedAt, in.ExpiresAt = app.NewID[app.InvitationID](now), app.At(now), app.At(now.Add(ttl))
	in.Mailed = db.queue.Mails()
	for inserted := false; !inserted; { // a concurrent request may insert another invitation in between
		if err := replaceInvitation(ctx, tx, now, website, by, in.Email); err != nil {
			return in, err
		}
		err := tx.NewRaw(`INSERT INTO invitations
				(id, website_id, email, name, role, store_ids, token_hash, invited_by, created_at, expires_at, mailed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (website_id, lower(email)) WHERE accepted_at IS NULL DO NOTHING
			RETURNING invited_by, (SELECT name FROM users WHERE users.id = invited_by)`,
			in.ID, website, in.Email, in.Name, in.Role, pgdialect.Array(in.StoreIDs), hashOf(token), by.ID,
			in.CreatedAt.Time, in.ExpiresAt.Time, in.Mailed).Scan(ctx, &in.InvitedBy.ID, &in.InvitedBy.Name)
		if inserted = err == nil; err != nil && !errors.Is(err, sql.ErrNoRows) {
			return in, err
		}
	}
	if err := auditInvitation(ctx, tx, now, by, app.AuditUserInvited, in, ""); err != nil {
		return in, err
	}
	return in, db.queue.EnqueueInvitationMail(ctx, tx, now, in, token)
}

// replaceInvitation ends the pending invitation of an email, and records that unless it has expired.
func replaceInvitation(
	ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor, email string,
) error {
	return withdraw(ctx, tx, now, by, endedByReplacement,
		bun.SafeQuery(`i.website_id = ? AND lower(i.email) = ?`, website, app.NormalEmail(email)))
}

// endInvitationsOf ends the pending invitations of a locked user who is about to lose the role OWNER in a store or, for
// "", is about to be disabled.
func endInvitationsOf(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, inviter app.UserID, store app.StoreID,
) error {
	return withdraw(ctx, tx, now, by, endedByInviter,
		bun.SafeQuery(`i.invited_by = ?0 AND (?1 = '' OR ?1 = ANY (i.store_ids))
			AND (SELECT u.platform_role IS NULL FROM users u WHERE u.id = ?0)`, inviter, store))
}

// withdraw deletes the pending invitations i that match a condition, and records the end of those that have not
// expired.
func withdraw(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, reason string, condition schema.QueryWithArgs,
) error {
	var rows []invitationRow
	err := tx.NewRaw(`DELETE FROM invitations i WHERE i.accepted_at IS NULL AND ? RETURNING `+invitationColumns,
		condition).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !row.ExpiresAt.After(now) {
			continue
		}
		err := auditInvitation(ctx, tx, now, by, app.AuditInvitationWithdrawn, row.invitation(), reason)
		if err != nil {
			return err
		}
	}
	return nil
}

// hashOf returns the hash by which an invitation is found.
func hashOf(token app.Secret) []byte {
	hash := sha256.Sum256([]byte(token.Reveal()))
	return hash[:]
}

// auditInvitation records an action in the trail of each store of an invitation. reason may be "".
func auditInvitation(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, action app.AuditAction, in app.Invitation,
	reason string,
) error {
	details := map[string]any{"email": in.Email, "role": in.Role}
	if reason != "" {
		details["reason"] = reason
	}
	for _, store := range in.StoreIDs {
		if err := pg.Audit(ctx, tx, now, store, by, action, string(in.ID), details); err != nil {
			return err
		}
	}
	if by.Realm == app.RealmPlatform {
		return pg.AuditPlatform(ctx, tx, now, by, action, string(in.ID), details)
	}
	return nil
}

// invitationRow is a row of the table invitations with the name of the inviter.
type invitationRow struct {
	ID          app.InvitationID
	Email       string
	Name        string
	Role        app.Role
	StoreIDs    []app.StoreID `bun:"store_ids,array"`
	InvitedBy   app.UserID
	InviterName string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	Mailed      bool
}

func (r invitationRow) invitation() app.Invitation {
	return app.Invitation{
		ID: r.ID, Email: r.Email, Name: r.Name, Role: r.Role, StoreIDs: r.StoreIDs,
		InvitedBy: app.Inviter{ID: r.InvitedBy, Name: r.InviterName},
		CreatedAt: app.At(r.CreatedAt), ExpiresAt: app.At(r.ExpiresAt), Mailed: r.Mailed,
	}
}

const invitationColumns = `i.id, i.email, i.name, i.role, i.store_ids, i.invited_by,
	(SELECT u.name FROM users u WHERE u.id = i.invited_by) AS inviter_name, i.created_at, i.expires_at, i.mailed`

// pendingIn restricts invitations i to those of the store ?0, which may be a sandbox, that are pending at ?1.
const pendingIn = `i.website_id = (SELECT website_id FROM stores WHERE id = ?0)
	AND (SELECT coalesce(sandbox_of, id) FROM stores WHERE id = ?0) = ANY (i.store_ids)
	AND i.accepted_at IS NULL AND i.expires_at > ?1`

// Invitations lists the pending invitations of a store, newest first.
func (db *DB) Invitations(
	ctx context.Context, now time.Time, store app.StoreID, after pg.Cursor, limit int,
) ([]app.Invitation, error) {
	var rows []invitationRow
	err := db.pg.System().NewRaw(`SELECT `+invitationColumns+` FROM invitations i WHERE `+pendingIn+`
			AND (?2 = '' OR (i.created_at, i.id) < (?3, ?2))
		ORDER BY i.created_at DESC, i.id DESC LIMIT ?4`, store, now, after.ID, after.At, limit).Scan(ctx, &rows)
	invitations := make([]app.Invitation, len(rows))
	for i, row := range rows {
		invitations[i] = row.invitation()
	}
	return invitations, pg.Classify(err)
}

// ResendInvitation gives a pending invitation of the active store a new token and a new expiry, and enqueues
// its mail again. The caller becomes its inviter. It returns NOT_FOUND if there is no such invitation, and
// TOKEN_REVOKED, STORE_MISMATCH, OTP_SETUP_REQUIRED and RATE_LIMITED like [DB.Invite].
func (db *DB) ResendInvitation(
	ctx context.Context, now time.Time, inviter app.Principal, by app.Actor, id app.InvitationID, token app.Secret,
	ttl time.Duration,
) (app.Invitation, error) {
	var invitation app.Invitation
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var stores []app.StoreID
		// Without a lock: members are locked before invitations.
		err := tx.NewRaw(`SELECT i.store_ids FROM invitations i WHERE i.id = ?2 AND `+pendingIn,
			inviter.StoreID, now, id).Scan(ctx, pgdialect.Array(&stores))
		if err != nil {
			return err
		}
		if err := requireOwner(ctx, tx, inviter, stores); err != nil {
			return err
		}
		if err := countInvitations(ctx, tx, inviter.WebsiteID, stores); err != nil {
			return err
		}
		var row invitationRow
		err = tx.NewRaw(`UPDATE invitations i SET token_hash = ?3, invited_by = ?4, expires_at = ?5, mailed = ?6,
				failures = 0
			WHERE i.id = ?2 AND `+pendingIn+` RETURNING `+invitationColumns,
			inviter.StoreID, now, id, hashOf(token), inviter.UserID, app.At(now.Add(ttl)).Time, db.queue.Mails()).
			Scan(ctx, &row)
		if err != nil {
			return err
		}
		invitation = row.invitation()
		if err := auditInvitation(ctx, tx, now, by, app.AuditInvitationResent, invitation, ""); err != nil {
			return err
		}
		return db.queue.EnqueueInvitationMail(ctx, tx, now, invitation, token)
	})
	return invitation, err
}

// WithdrawInvitation ends a pending invitation of the caller's active store. It returns TOKEN_REVOKED and
// INSUFFICIENT_ROLE if the caller is no longer an OWNER of the store, and NOT_FOUND if there is no such invitation.
func (db *DB) WithdrawInvitation(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, id app.InvitationID,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := lockOwner(ctx, tx, caller); err != nil {
			return err
		}
		var row invitationRow
		err := tx.NewRaw(`DELETE FROM invitations i WHERE i.id = ?2 AND `+pendingIn+` RETURNING `+invitationColumns,
			caller.StoreID, now, id).Scan(ctx, &row)
		if err != nil {
			return err
		}
		return auditInvitation(ctx, tx, now, by, app.AuditInvitationWithdrawn, row.invitation(), "")
	})
}

// acceptable restricts invitations i to the one with the token hash ?0 that can be accepted at ?1.
const acceptable = `i.token_hash = ?0 AND i.accepted_at IS NULL AND i.expires_at > ?1`

// toSuspended is the condition that the website of an invitation i is suspended.
const toSuspended = `EXISTS (SELECT FROM websites w WHERE w.id = i.website_id AND w.suspended_at IS NOT NULL)`

// invitationEnded returns the error for a token that is unknown, used, expired or withdrawn.
func invitationEnded() error {
	return app.Errorf(app.CodeTokenInvalid, "the invitation is no longer valid; ask for a new one")
}
