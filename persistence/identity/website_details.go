package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// WebsiteDetails returns a website with its stores, OWNERs, pending invitations of OWNERs and plan usage. It
// returns NOT_FOUND if there is no such website.
func (db *DB) WebsiteDetails(ctx context.Context, now time.Time, id app.WebsiteID) (app.WebsiteDetails, error) {
	var details app.WebsiteDetails
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var row websiteRow
		err := tx.NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE id = ?`, id).Scan(ctx, &row)
		if err != nil {
			return err
		}
		details.Website = row.website()
		if details.Stores, err = storesWhere(ctx, tx, now, "s.website_id", string(id)); err != nil {
			return err
		}
		if details.Owners, err = ownersOf(ctx, tx, id); err != nil {
			return err
		}
		details.Invitations, err = ownerInvitations(ctx, tx, now, id)
		return err
	})
	if err != nil {
		return details, err
	}
	first := slices.IndexFunc(details.Stores, func(s app.Store) bool { return s.SandboxOf == nil })
	if first < 0 {
		return details, errors.New("website without a live store")
	}
	details.PlanUsage, err = db.queue.PlanUsage(ctx, now, details.Stores[first].StoreID)
	return details, err
}

// ownersOf returns the OWNERs of the live stores of a website, the longest-standing user first.
func ownersOf(ctx context.Context, tx bun.Tx, website app.WebsiteID) ([]app.WebsiteOwner, error) {
	rows, err := tx.QueryContext(ctx, `SELECT u.id, u.email, u.name, u.disabled_at IS NOT NULL,
			array_agg(s.id ORDER BY s.created_at, s.id)
		FROM memberships m JOIN users u ON u.id = m.user_id JOIN stores s ON s.id = m.store_id
		WHERE s.website_id = ? AND s.sandbox_of IS NULL AND m.role = 'OWNER'
		GROUP BY u.id ORDER BY u.id`, website)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	owners := []app.WebsiteOwner{}
	for rows.Next() {
		var owner app.WebsiteOwner
		err := rows.Scan(&owner.ID, &owner.Email, &owner.Name, &owner.Disabled, pgdialect.Array(&owner.StoreIDs))
		if err != nil {
			return nil, err
		}
		owners = append(owners, owner)
	}
	return owners, rows.Err()
}

// pendingOwner restricts invitations i to those of OWNERs to the website ?0 that are pending at ?1.
const pendingOwner = `i.website_id = ?0 AND i.role = 'OWNER' AND i.accepted_at IS NULL AND i.expires_at > ?1`

// ownerInvitations returns the pending invitations of OWNERs to a website, newest first.
func ownerInvitations(
	ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID,
) ([]app.Invitation, error) {
	var rows []invitationRow
	err := tx.NewRaw(`SELECT `+invitationColumns+` FROM invitations i WHERE `+pendingOwner+`
		ORDER BY i.created_at DESC, i.id DESC`, website, now).Scan(ctx, &rows)
	invitations := make([]app.Invitation, len(rows))
	for i, row := range rows {
		invitations[i] = row.invitation()
	}
	return invitations, err
}

// OpenStore adds a store without members to a website. It returns NOT_FOUND if there is no such website,
// LIMIT_REACHED if it has app.MaxStores, and the errors of [pg.RunOnce].
func (db *DB) OpenStore(
	ctx context.Context, now time.Time, by app.Actor, website app.WebsiteID, in NewStore, once *pg.Once,
) (app.Store, error) {
	open := func(ctx context.Context, tx bun.Tx) (app.Store, error) {
		id, err := addStore(ctx, tx, now, website, by, in)
		if err != nil {
			return app.Store{}, err
		}
		err = pg.AuditPlatform(ctx, tx, now, by, app.AuditStoreCreated, string(id),
			map[string]any{"storeName": in.Name})
		if err != nil {
			return app.Store{}, err
		}
		return storeOf(ctx, tx, now, id)
	}
	var added app.Store
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		added, err = pg.RunOnce(ctx, tx, "", once, now, func() (app.Store, error) { return open(ctx, tx) })
		return err
	})
	return added, err
}

// InviteOwner invites a user as OWNER of a store of a website, by a platform administrator. It replaces a
// pending invitation of the same email and website. A repeated request returns the invitation of the first request;
// token does not belong to it. It returns NOT_FOUND if there is no such website, VALIDATION_FAILED if the store belongs
// to another website or the email to a platform administrator, RATE_LIMITED, CONFLICT if the user is an OWNER of the
// store, and the errors of [pg.RunOnce].
func (db *DB) InviteOwner(
	ctx context.Context, now time.Time, by app.Actor, website app.WebsiteID, store app.StoreID, in app.Invitation,
	token app.Secret, ttl time.Duration, once *pg.Once,
) (app.Invitation, error) {
	invite := func(ctx context.Context, tx bun.Tx) (app.Invitation, error) {
		in := in // the transaction may run again
		stores, err := lockLiveStore(ctx, tx, website, store)
		if err != nil {
			return in, err
		}
		in.Role, in.StoreIDs = app.RoleOwner, stores
		if err := rejectAdministrator(ctx, tx, "email", in.Email); err != nil {
			return in, err
		}
		if err := countInvitations(ctx, tx, website, stores); err != nil {
			return in, err
		}
		owns, err := tx.NewSelect().TableExpr("memberships m JOIN users u ON u.id = m.user_id").
			Where("m.store_id = ? AND m.role = 'OWNER' AND lower(u.email) = ?", stores[0], app.NormalEmail(in.Email)).
			Exists(ctx)
		if err != nil {
			return in, err
		}
		if owns {
			return in, app.Errorf(app.CodeConflict, "%s is already an OWNER of this store", in.Email)
		}
		return db.insertInvitation(ctx, tx, now, website, by, in, token, ttl)
	}
	var invitation app.Invitation
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		invitation, err = pg.RunOnce(ctx, tx, "", once, now, func() (app.Invitation, error) { return invite(ctx, tx) })
		return err
	})
	return invitation, err
}

// lockLiveStore locks a website and returns the live store of one of its stores, which may be the sandbox. It returns
// NOT_FOUND if there is no such website, and VALIDATION_FAILED if the store belongs to another website.
func lockLiveStore(
	ctx context.Context, tx bun.Tx, website app.WebsiteID, store app.StoreID,
) ([]app.StoreID, error) {
	var row websiteRow
	if err := lockWebsite(ctx, tx, website, &row); err != nil {
		return nil, err
	}
	stores, err := liveStores(ctx, tx, website, []app.StoreID{store})
	if app.CodeOf(err) == app.CodeStoreMismatch {
		err = app.Invalid("storeId", "is not the id of a store of this website")
	}
	return stores, err
}

// WithdrawOwnerInvitation ends a pending invitation of an OWNER to a website, by a platform administrator. It returns
// NOT_FOUND if there is no such invitation.
func (db *DB) WithdrawOwnerInvitation(
	ctx context.Context, now time.Time, by app.Actor, website app.WebsiteID, id app.InvitationID,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var row invitationRow
		err := tx.NewRaw(`DELETE FROM invitations i WHERE i.id = ?2 AND `+pendingOwner+` RETURNING `+invitationColumns,
			website, now, id).Scan(ctx, &row)
		if err != nil {
			return err
		}
		return auditInvitation(ctx, tx, now, by, app.AuditInvitationWithdrawn, row.invitation(), "")
	})
}

// rejectAdministrator returns VALIDATION_FAILED about a member of the request if an email belongs to a platform
// administrator, who cannot join a store.
func rejectAdministrator(ctx context.Context, tx bun.Tx, member, email string) error {
	administers, err := tx.NewSelect().TableExpr("users").
		Where("lower(email) = ? AND platform_role IS NOT NULL", app.NormalEmail(email)).Exists(ctx)
	if err == nil && administers {
		err = app.Invalid(member, "belongs to a platform administrator, who cannot join a store")
	}
	return err
}
