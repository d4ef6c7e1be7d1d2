package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// AuditFilter restricts an audit trail. Zero values do not restrict it.
type AuditFilter struct {
	Realm    app.Realm // of the actor; "" = all except customers in a store's trail, all in the platform's trail
	Action   app.AuditAction
	ActorID  string
	Target   string
	From, To *app.Time // From is inclusive, To is exclusive
}

// auditRow is a row of the table audit.
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

func (r auditRow) id() app.AuditID { return r.ID }

func (r auditRow) entry() app.AuditEntry {
	return app.AuditEntry{
		ID: r.ID, Action: r.Action, Actor: app.AuditActor{Realm: r.ActorRealm, ID: r.ActorID, Name: r.ActorName},
		Target: r.Target, Details: r.Details, Address: r.Address, RequestID: r.RequestID, At: app.At(r.At),
	}
}

// AuditTrail lists a store's audit trail, newest first. It shows the actors' current names. more reports whether
// further entries follow.
func (db *DB) AuditTrail(
	ctx context.Context, store app.StoreID, filter AuditFilter, after pg.Cursor, limit app.PageLimit,
) (entries []app.AuditEntry, more bool, err error) {
	var rows []auditRow
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		rows, more, err = pg.Page(ctx, auditQuery(tx, store, filter, after, limit.Rows+1), limit, auditRow.id)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	entries, err = db.withUserNames(ctx, rows)
	return entries, more, err
}

func auditQuery(tx bun.Tx, store app.StoreID, filter AuditFilter, after pg.Cursor, limit int) *bun.SelectQuery {
	q := tx.NewSelect().Model((*auditRow)(nil)).
		ColumnExpr(`a.id, a.action, a.actor_realm, a.actor_id, a.target, a.details, a.address, a.request_id, a.at,
			coalesce(k.name, '') AS actor_name`).
		Join("LEFT JOIN api_keys k ON k.store_id = a.store_id AND k.id = a.actor_id AND a.actor_realm = ?",
			app.RealmAPIKey).
		Where("a.store_id = ?", store)
	// Literals, so that PostgreSQL can use the partial indexes.
	if filter.Realm == app.RealmCustomer {
		q.Where("a.actor_realm = 'customer'")
	} else {
		q.Where("a.actor_realm <> 'customer'")
	}
	return filter.apply(q, after, limit)
}

// PlatformAuditTrail lists the platform's audit trail, newest first, with the users' current emails.
func (db *DB) PlatformAuditTrail(
	ctx context.Context, filter AuditFilter, after pg.Cursor, limit int,
) ([]app.AuditEntry, error) {
	var rows []auditRow
	q := db.pg.System().NewSelect().Model(&rows).ModelTableExpr("platform_audit AS a").
		ColumnExpr("a.*, coalesce(u.email, '') AS actor_name").
		Join("LEFT JOIN users u ON u.id = a.actor_id AND a.actor_realm IN (?, ?)", app.RealmTenant, app.RealmPlatform)
	if err := filter.apply(q, after, limit).Scan(ctx); err != nil {
		return nil, pg.Classify(err)
	}
	entries := make([]app.AuditEntry, len(rows))
	for i, row := range rows {
		entries[i] = row.entry()
	}
	return entries, nil
}

// apply adds the conditions, the order and the limit of a page to a query of entries a.
func (filter AuditFilter) apply(q *bun.SelectQuery, after pg.Cursor, limit int) *bun.SelectQuery {
	q.OrderExpr("a.at DESC, a.id DESC").Limit(int64(limit))
	if filter.Realm != "" {
		q.Where("a.actor_realm = ?", filter.Realm)
	}
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

// withUserNames adds the emails of the tenant users among the actors. Tenants do not see the emails of
// platform administrators.
func (db *DB) withUserNames(ctx context.Context, rows []auditRow) ([]app.AuditEntry, error) {
	names, ids := map[string]string{}, []string{}
	for _, row := range rows {
		if row.ActorRealm == app.RealmTenant && row.ActorID != "" {
			ids = append(ids, row.ActorID)
		}
	}
	if len(ids) > 0 {
		var users []struct{ ID, Email string }
		if err := db.pg.System().NewRaw(`SELECT id, email FROM users WHERE id IN (?)`, bun.List(ids)).
			Scan(ctx, &users); err != nil {
			return nil, pg.Classify(err)
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
