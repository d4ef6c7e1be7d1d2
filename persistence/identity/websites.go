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

// NewWebsite is a website to create.
type NewWebsite struct {
	Name   string
	Domain string
	Plan   app.Plan
}

// NewStore is a store to create. The first view is the default.
type NewStore struct {
	Name         string
	CountryCode  string
	Timezone     string
	TaxRatePPM   int64
	TaxIncluded  bool
	DeliveryFees map[app.Currency]int64
	Views        []app.StoreView // without ids
}

// CreateWebsite creates a website with its stores without a caller, for programs that set up a store. It returns
// CONFLICT if another website has the domain.
func (db *DB) CreateWebsite(
	ctx context.Context, now time.Time, website NewWebsite, stores ...NewStore,
) (app.WebsiteID, []app.StoreID, error) {
	var id app.WebsiteID
	var storeIDs []app.StoreID
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		id, storeIDs, err = createWebsite(ctx, tx, now, website, stores)
		return err
	})
	return id, storeIDs, err
}

// OpenedWebsite is a new website with one store and the pending invitation of its first OWNER.
type OpenedWebsite struct {
	ID    app.WebsiteID
	Owner app.Invitation
}

// OpenWebsite creates a website with one store and the invitation of its first OWNER by a platform
// administrator. The token accepts the invitation until ttl has passed; it does not belong to the invitation of a
// repeated request. It returns CONFLICT if another website has the domain, VALIDATION_FAILED if the owner is a platform
// administrator, who cannot join a store, and the errors of [pg.RunOnce].
func (db *DB) OpenWebsite(
	ctx context.Context, now time.Time, by app.Actor, website NewWebsite, store NewStore, owner app.Invitation,
	token app.Secret, ttl time.Duration, once *pg.Once,
) (OpenedWebsite, error) {
	owner.Role = app.RoleOwner
	open := func(ctx context.Context, tx bun.Tx) (opened OpenedWebsite, err error) {
		owner := owner // the transaction may run again
		if err := rejectAdministrator(ctx, tx, "owner.email", owner.Email); err != nil {
			return opened, err
		}
		if opened.ID, owner.StoreIDs, err = createWebsite(ctx, tx, now, website, []NewStore{store}); err != nil {
			return opened, err
		}
		if err := pg.AuditWebsite(ctx, tx, now, opened.ID, by, app.AuditWebsiteOpened,
			map[string]any{"plan": website.Plan}); err != nil {
			return opened, err
		}
		opened.Owner, err = db.insertInvitation(ctx, tx, now, opened.ID, by, owner, token, ttl)
		return opened, err
	}
	var opened OpenedWebsite
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		opened, err = pg.RunOnce(ctx, tx, "", once, now, func() (OpenedWebsite, error) { return open(ctx, tx) })
		return err
	})
	return opened, err
}

func createWebsite(
	ctx context.Context, tx bun.Tx, now time.Time, website NewWebsite, stores []NewStore,
) (app.WebsiteID, []app.StoreID, error) {
	id := app.NewID[app.WebsiteID](now)
	created, err := pg.Inserted(tx.NewRaw(`INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		id, website.Name, website.Domain, website.Plan, now).Exec(ctx))
	if err != nil {
		return "", nil, err
	}
	if !created {
		return "", nil, domainTaken(website.Domain)
	}
	var storeIDs []app.StoreID
	for i, store := range stores {
		// Lists of stores are sorted by creation time.
		storeID, err := createStore(ctx, tx, now.Add(time.Duration(i)*time.Millisecond), id, store)
		if err != nil {
			return "", nil, err
		}
		storeIDs = append(storeIDs, storeID)
	}
	return id, storeIDs, nil
}

// websiteRow is a row of the table websites.
type websiteRow struct {
	ID            app.WebsiteID
	Name          string
	Domain        string
	Plan          app.Plan
	PlanManagedBy app.PlanManager
	SuspendedAt   *time.Time
	Social        app.ClientIDs `bun:"type:jsonb"`
	CreatedAt     time.Time
}

func (r websiteRow) website() app.Website {
	return app.Website{
		ID: r.ID, Name: r.Name, Domain: r.Domain, Plan: r.Plan, PlanManagedBy: r.PlanManagedBy,
		SuspendedAt: pg.TimeOrNil(r.SuspendedAt), Social: r.Social, CreatedAt: app.At(r.CreatedAt),
	}
}

// websiteColumns are the columns of a websiteRow.
const websiteColumns = `id, name, domain, plan, plan_managed_by, suspended_at, created_at,
	(SELECT coalesce(jsonb_object_agg(at.provider, at.ids), '{}') FROM (
		SELECT provider, jsonb_agg(client_id ORDER BY client_id) AS ids FROM website_client_ids
		WHERE website_id = websites.id GROUP BY provider) AS at) AS social`

// Website returns a website, NOT_FOUND if there is no such website.
func (db *DB) Website(ctx context.Context, id app.WebsiteID) (app.Website, error) {
	var row websiteRow
	err := db.pg.System().NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE id = ?`, id).Scan(ctx, &row)
	return row.website(), pg.Classify(err)
}

// lockWebsite locks a website and reads it, NOT_FOUND if there is no such website.
func lockWebsite(ctx context.Context, tx bun.Tx, id app.WebsiteID, row *websiteRow) error {
	return tx.NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE id = ? FOR NO KEY UPDATE`, id).Scan(ctx, row)
}

// Websites lists all websites, newest first. The zero value of after is the start.
func (db *DB) Websites(ctx context.Context, after app.WebsiteID, limit int) ([]app.Website, error) {
	var rows []websiteRow
	err := db.pg.System().NewRaw(`SELECT `+websiteColumns+` FROM websites
		WHERE ?0 = '' OR id < ?0 ORDER BY id DESC LIMIT ?1`, after, limit).Scan(ctx, &rows)
	websites := make([]app.Website, len(rows))
	for i, row := range rows {
		websites[i] = row.website()
	}
	return websites, pg.Classify(err)
}

// ChangeWebsite changes a website. Suspending a suspended website keeps the time of the suspension. Client ids of other
// websites move to this one. It returns NOT_FOUND if there is no such website, and CONFLICT if another website has the
// domain, or another request adds one of the client ids to another website at the same time.
func (db *DB) ChangeWebsite(
	ctx context.Context, now time.Time, by app.Actor, id app.WebsiteID, change app.WebsiteChange,
) (app.Website, error) {
	return db.changeWebsite(ctx, now, by, id, change, func(websiteRow) error { return nil })
}

// changeWebsite is [DB.ChangeWebsite] if allow returns nil for the present state.
func (db *DB) changeWebsite(
	ctx context.Context, now time.Time, by app.Actor, id app.WebsiteID, change app.WebsiteChange,
	allow func(websiteRow) error,
) (app.Website, error) {
	var row websiteRow
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		was := websiteRow{}
		row = websiteRow{}
		if err := lockWebsite(ctx, tx, id, &was); err != nil {
			return err
		}
		if err := allow(was); err != nil {
			return err
		}
		if err := requireFreeDomain(ctx, tx, id, change.Domain); err != nil {
			return err
		}
		if change.Plan != nil {
			if err := db.queue.SetPlan(ctx, tx, id, *change.Plan); err != nil {
				return err
			}
		}
		if err := reassignClientIDs(ctx, tx, now, by, id, change.Social); err != nil {
			return err
		}
		if err := replaceClientIDs(ctx, tx, now, by, id, change.Social); err != nil {
			return err
		}
		err := tx.NewRaw(`UPDATE websites SET
				suspended_at = CASE ?1::boolean WHEN true THEN coalesce(suspended_at, ?2::timestamptz)
					WHEN false THEN NULL ELSE suspended_at END,
				name = coalesce(?3, name), domain = coalesce(?4, domain),
				plan_managed_by = coalesce(?5, plan_managed_by)
			WHERE id = ?0 RETURNING `+websiteColumns,
			id, change.Suspended, app.At(now).Time, change.Name, change.Domain, change.PlanManagedBy).Scan(ctx, &row)
		if pg.IsDuplicate(err) { // a concurrent request
			return domainTaken(*change.Domain)
		}
		if err != nil {
			return err
		}
		return auditWebsiteChange(ctx, tx, now, by, was, row)
	})
	return row.website(), err
}

func domainTaken(domain string) error {
	return app.Errorf(app.CodeConflict, "the domain %s belongs to another website", domain)
}

// requireFreeDomain returns CONFLICT if another website has a domain. Without this check, PostgreSQL would log
// the violation of the index.
func requireFreeDomain(ctx context.Context, tx bun.Tx, website app.WebsiteID, domain *string) error {
	if domain == nil {
		return nil
	}
	taken, err := tx.NewSelect().TableExpr("websites").Where("domain = ? AND id <> ?", *domain, website).Exists(ctx)
	if err == nil && taken {
		err = domainTaken(*domain)
	}
	return err
}

// auditWebsiteChange records the differences between two states of a website.
func auditWebsiteChange(ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, was, is websiteRow) error {
	if was.Plan != is.Plan {
		err := pg.AuditWebsite(ctx, tx, now, is.ID, by, app.AuditPlanChanged,
			map[string]any{"from": was.Plan, "to": is.Plan})
		if err != nil {
			return err
		}
	}
	details := map[string]any{}
	for member, values := range map[string][2]string{
		"name": {was.Name, is.Name}, "domain": {was.Domain, is.Domain},
		"planManagedBy": {string(was.PlanManagedBy), string(is.PlanManagedBy)},
	} {
		if values[0] != values[1] {
			details[member] = app.SettingsChange{From: values[0], To: values[1]}
		}
	}
	if len(details) > 0 {
		if err := pg.AuditWebsite(ctx, tx, now, is.ID, by, app.AuditWebsiteChanged, details); err != nil {
			return err
		}
	}
	switch {
	case was.SuspendedAt == nil && is.SuspendedAt != nil:
		return pg.AuditWebsite(ctx, tx, now, is.ID, by, app.AuditWebsiteSuspended, nil)
	case was.SuspendedAt != nil && is.SuspendedAt == nil:
		return pg.AuditWebsite(ctx, tx, now, is.ID, by, app.AuditWebsiteResumed, nil)
	}
	return nil
}

// WebsiteByDomain returns the website of a domain, also a suspended one. It returns NOT_FOUND if there is
// no such website.
func (db *DB) WebsiteByDomain(ctx context.Context, domain string) (app.WebsiteID, error) {
	var id app.WebsiteID
	err := db.lookups.System().NewRaw(`SELECT id FROM websites WHERE domain = ?`, domain).
		Scan(ctx, &id)
	return id, pg.Classify(err)
}

// WebsiteOf returns the website of a store, "" if there is no such store.
func (db *DB) WebsiteOf(ctx context.Context, store app.StoreID) (website app.WebsiteID, err error) {
	err = db.lookups.System().DB.QueryRowContext(ctx, "SELECT website_id FROM stores WHERE id = $1", store).
		Scan(&website)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return website, pg.Classify(err)
}

// WebsiteOfSession returns the website of a session's store. It returns "" if there is no such session, or if it has no
// store.
func (db *DB) WebsiteOfSession(
	ctx context.Context, realm app.Realm, session app.SessionID,
) (website app.WebsiteID, err error) {
	query := "SELECT website_id FROM stores WHERE id = (SELECT active_store_id FROM sessions WHERE id = $1)"
	if realm == app.RealmCustomer {
		query = "SELECT website_id FROM stores WHERE id = (SELECT store_id FROM customer_sessions WHERE id = $1)"
	}
	err = db.lookups.System().DB.QueryRowContext(ctx, query, session).Scan(&website)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return website, pg.Classify(err)
}

// WebsiteOfLink returns the website to which an invitation or a link with a token belongs, "" if there is none.
func (db *DB) WebsiteOfLink(ctx context.Context, token app.Secret) (website app.WebsiteID, err error) {
	err = db.lookups.System().DB.QueryRowContext(ctx, `SELECT website_id FROM invitations WHERE token_hash = $1
		UNION ALL SELECT `+websiteOfUser+` FROM password_resets r JOIN users u ON u.id = r.user_id
			WHERE r.token_hash = $1
		UNION ALL SELECT s.website_id FROM customer_password_resets r JOIN stores s ON s.id = r.store_id
			WHERE r.token_hash = $1
		UNION ALL SELECT s.website_id FROM customer_email_changes e JOIN stores s ON s.id = e.store_id
			WHERE e.token_hash = $1`, hashOf(token)).Scan(&website)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return website, pg.Classify(err)
}
