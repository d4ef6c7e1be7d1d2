package persistence

import (
	"context"
	"net/url"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
)

// audit adds a line to a store's audit trail, in the transaction of what it tells of.
// Details never hold a secret, nor anything that somebody tried as one.
func audit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, action app.AuditAction, target string, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		app.NewID[app.AuditID](now), store, action, by.Realm, by.ID, target, details, by.Address, by.RequestID, app.At(now).Time).Exec(ctx)
	return err
}

// auditUser is audit for what concerns a user and no store more than another: each store
// that the user belongs to has the line. tx must be one of the role that sees them all.
func auditUser(ctx context.Context, tx bun.Tx, now time.Time, user app.UserID, by app.Actor, action app.AuditAction, target string, details map[string]any) error {
	return auditEach(ctx, tx, now, bun.SafeQuery(`FROM memberships m JOIN stores s ON s.id = m.store_id
		JOIN websites w ON w.id = s.website_id AND w.suspended_at IS NULL WHERE m.user_id = ?`, user), by, action, target, details)
}

// auditWebsite is audit for each store of a website, whose id is the target.
func auditWebsite(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor, action app.AuditAction, details map[string]any) error {
	return auditEach(ctx, tx, now, bun.SafeQuery(`FROM stores s WHERE s.website_id = ?`, website), by, action, string(website), details)
}

// auditEach adds the same line for each of the stores s, save for sandboxes: whoever is
// concerned reads it in the store beside.
func auditEach(ctx context.Context, tx bun.Tx, now time.Time, stores schema.QueryWithArgs, by app.Actor, action app.AuditAction, target string, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
		SELECT 'aud_' || uuidv7_hex(), s.id, ?, ?, ?, ?, ?, ?, ?, ? ? AND s.sandbox_of IS NULL`,
		action, by.Realm, by.ID, target, details, by.Address, by.RequestID, app.At(now).Time, stores).Exec(ctx)
	return err
}

// hostOf is what the audit trail tells of a webhook's URL: its path or query may well be
// what lets in.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil { // which app.CheckWebhookURL lets nobody give
		return ""
	}
	return parsed.Host
}

// AuditFilter narrows an audit trail; zero values narrow nothing.
type AuditFilter struct {
	Action   app.AuditAction
	ActorID  string
	Target   string
	From, To *app.Time // From included, To not
}

// auditRow is a line of the trail as its table holds it.
type auditRow struct {
	bun.BaseModel `bun:"table:audit,alias:a"`

	ID         app.AuditID
	Action     app.AuditAction
	ActorRealm app.Realm
	ActorID    string
	ActorName  string `bun:",scanonly"`
	Target     string
	Details    map[string]any `bun:"type:jsonb"`
	Address    string
	RequestID  app.RequestID
	At         time.Time
}

func (r auditRow) entry() app.AuditEntry {
	return app.AuditEntry{
		ID: r.ID, Action: r.Action, Actor: app.AuditActor{Realm: r.ActorRealm, ID: r.ActorID, Name: r.ActorName},
		Target: r.Target, Details: r.Details, Address: r.Address, RequestID: r.RequestID, At: app.At(r.At),
	}
}

// AuditTrail lists a store's audit trail, the newest first, at most limit lines, from after
// the one named (its zero value = from the start). Actors have the names that they have now.
func (db *DB) AuditTrail(ctx context.Context, store app.StoreID, filter AuditFilter, after Cursor, limit int) ([]app.AuditEntry, error) {
	var rows []auditRow
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return auditQuery(tx, store, filter, after, limit).Scan(ctx, &rows)
	})
	if err != nil {
		return nil, err
	}
	return db.withUserNames(ctx, rows)
}

func auditQuery(tx bun.Tx, store app.StoreID, filter AuditFilter, after Cursor, limit int) *bun.SelectQuery {
	q := tx.NewSelect().Model((*auditRow)(nil)).
		ColumnExpr("a.id, a.action, a.actor_realm, a.actor_id, a.target, a.details, a.address, a.request_id, a.at, coalesce(k.name, '') AS actor_name").
		Join("LEFT JOIN api_keys k ON k.store_id = a.store_id AND k.id = a.actor_id AND a.actor_realm = ?", app.RealmAPIKey).
		Where("a.store_id = ?", store).OrderExpr("a.at DESC, a.id DESC").Limit(int64(limit))
	if after.ID != "" {
		q.Where("(a.at, a.id) < (?, ?)", after.At, after.ID)
	}
	if filter.Action != "" {
		q.Where("a.action = ?", filter.Action)
	}
	if filter.ActorID != "" {
		q.Where("a.actor_id = ?", filter.ActorID)
	}
	if filter.Target != "" {
		q.Where("a.target = ?", filter.Target)
	}
	if filter.From != nil {
		q.Where("a.at >= ?", filter.From.Time)
	}
	if filter.To != nil {
		q.Where("a.at < ?", filter.To.Time)
	}
	return q
}

// withUserNames fills in the e-mail addresses of the users among the actors. Those of
// platform administrators are no restaurant's business.
func (db *DB) withUserNames(ctx context.Context, rows []auditRow) ([]app.AuditEntry, error) {
	names, ids := map[string]string{}, []string{}
	for _, row := range rows {
		if row.ActorRealm == app.RealmTenant && row.ActorID != "" {
			ids = append(ids, row.ActorID)
		}
	}
	if len(ids) > 0 {
		var users []struct{ ID, Email string }
		if err := db.System().NewRaw(`SELECT id, email FROM users WHERE id IN (?)`, bun.List(ids)).Scan(ctx, &users); err != nil {
			return nil, classify(err)
		}
		for _, user := range users {
			names[user.ID] = user.Email
		}
	}
	entries := make([]app.AuditEntry, len(rows))
	for i, row := range rows {
		if row.ActorRealm == app.RealmTenant {
			row.ActorName = names[row.ActorID]
		}
		entries[i] = row.entry()
	}
	return entries, nil
}
