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

// AuditLine is the target and the details of one of several entries.
type AuditLine struct {
	Target  string
	Details map[string]any
}

// AuditAll is [Audit] for several targets, in one statement.
func AuditAll(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor,
	action app.AuditAction, lines []AuditLine,
) error {
	if len(lines) == 0 {
		return nil
	}
	rows := make([]auditRow, len(lines))
	for i, line := range lines {
		rows[i] = auditRow{
			ID: app.NewID[app.AuditID](now), StoreID: store, Action: action, ActorRealm: by.Realm, ActorID: by.ID,
			Target: line.Target, Details: line.Details, Address: by.Address, RequestID: by.RequestID,
			At: app.At(now).Time,
		}
	}
	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	return err
}

// auditRow is a row of the table audit.
type auditRow struct {
	bun.BaseModel `bun:"table:audit"`

	ID         app.AuditID
	StoreID    app.StoreID
	Action     app.AuditAction
	ActorRealm app.Realm
	ActorID    string
	Target     string
	Details    map[string]any `bun:"type:jsonb"`
	Address    string
	RequestID  app.RequestID
	At         time.Time
}

// AuditUser is [Audit] for an action that concerns a user: it adds the entry to the trail of each
// store of the user, and for a platform administrator to the platform's trail. tx must be a
// transaction of the system role.
func AuditUser(ctx context.Context, tx bun.Tx, now time.Time, user app.UserID, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	err := auditEach(ctx, tx, now, bun.SafeQuery(`FROM memberships m JOIN stores s ON s.id = m.store_id
		WHERE m.user_id = ?`, user), by, action, target, details)
	if err != nil {
		return err
	}
	return auditPlatform(ctx, tx, now, bun.SafeQuery(`FROM users WHERE id = ? AND platform_role IS NOT NULL`, user),
		by, action, target, details)
}

// AuditOperator is [AuditUser] for an action of the operator, whose target is the user. It always adds the entry to the
// platform's trail, because the user can be without a store.
func AuditOperator(ctx context.Context, tx bun.Tx, now time.Time, user app.UserID, by app.Actor,
	action app.AuditAction, details map[string]any,
) error {
	err := auditEach(ctx, tx, now, bun.SafeQuery(`FROM memberships m JOIN stores s ON s.id = m.store_id
		WHERE m.user_id = ?`, user), by, action, string(user), details)
	if err != nil {
		return err
	}
	return AuditPlatform(ctx, tx, now, by, action, string(user), details)
}

// AuditWebsite is [Audit] for each store of a website, whose id is the target, and for the platform.
func AuditWebsite(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor,
	action app.AuditAction, details map[string]any,
) error {
	stores := bun.SafeQuery(`FROM stores s WHERE s.website_id = ?`, website)
	if err := auditEach(ctx, tx, now, stores, by, action, string(website), details); err != nil {
		return err
	}
	return AuditPlatform(ctx, tx, now, by, action, string(website), details)
}

// AuditPlatform is [Audit] for the platform's trail. tx must be a transaction of the system role.
func AuditPlatform(ctx context.Context, tx bun.Tx, now time.Time, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	return auditPlatform(ctx, tx, now, bun.SafeQuery(""), by, action, target, details)
}

// auditPlatform adds an entry to the platform's trail for each row that from selects.
func auditPlatform(ctx context.Context, tx bun.Tx, now time.Time, from schema.QueryWithArgs, by app.Actor,
	action app.AuditAction, target string, details map[string]any,
) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO platform_audit
			(id, action, actor_realm, actor_id, target, details, address, request_id, at)
		SELECT 'aud_' || uuidv7_hex(), ?, ?, ?, ?, ?::jsonb, ?, ?, ?::timestamptz ?`,
		action, by.Realm, by.ID, target, details, by.Address, by.RequestID, app.At(now).Time, from).Exec(ctx)
	return err
}

// auditEach adds the same entry to the trails of the stores s. It omits sandboxes, because the trail
// of the live store contains the entry.
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
