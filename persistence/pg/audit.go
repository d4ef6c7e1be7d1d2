package pg

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
)

// Audit adds an entry to a store's audit trail, in the transaction of the recorded change.
// Details never contain a secret, or text that was entered as one.
func Audit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO audit
			(id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		app.NewID[app.AuditID](now), store, action, by.Realm, by.ID, target, details,
		by.Address, by.RequestID, app.At(now).Time).Exec(ctx)
	return err
}

// AuditUser is [Audit] for an action that concerns a user and no particular store: each store
// of the user gets the entry. tx must be a transaction of the system role.
func AuditUser(ctx context.Context, tx bun.Tx, now time.Time, user app.UserID, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	return auditEach(ctx, tx, now, bun.SafeQuery(`FROM memberships m JOIN stores s ON s.id = m.store_id
		JOIN websites w ON w.id = s.website_id AND w.suspended_at IS NULL WHERE m.user_id = ?`, user),
		by, action, target, details)
}

// AuditWebsite is [Audit] for each store of a website, whose id is the target.
func AuditWebsite(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor,
	action app.AuditAction, details map[string]any,
) error {
	stores := bun.SafeQuery(`FROM stores s WHERE s.website_id = ?`, website)
	return auditEach(ctx, tx, now, stores, by, action, string(website), details)
}

// auditEach adds the same entry for each of the stores s, except sandboxes: the entry is in
// the trail of the sandbox's store.
func auditEach(ctx context.Context, tx bun.Tx, now time.Time, stores schema.QueryWithArgs, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO audit
			(id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
		SELECT 'aud_' || uuidv7_hex(), s.id, ?, ?, ?, ?, ?, ?, ?, ? ? AND s.sandbox_of IS NULL`,
		action, by.Realm, by.ID, target, details, by.Address, by.RequestID, app.At(now).Time, stores).Exec(ctx)
	return err
}
