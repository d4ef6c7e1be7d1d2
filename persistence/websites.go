package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// NewWebsite is what it takes to open a website.
type NewWebsite struct {
	Name   string
	Domain string
	Plan   app.Plan
}

// NewStore is what it takes to open a store. The first view is the default.
type NewStore struct {
	Name         string
	CountryCode  string
	Timezone     string
	TaxRatePPM   int64
	TaxIncluded  bool
	DeliveryFees map[app.Currency]int64
	Views        []app.StoreView // ids are made here
}

// CreateWebsite opens a website with its stores. A domain already taken is CONFLICT.
func (db *DB) CreateWebsite(ctx context.Context, now time.Time, website NewWebsite, stores ...NewStore) (app.WebsiteID, []app.StoreID, error) {
	var id app.WebsiteID
	var storeIDs []app.StoreID
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) (err error) {
		id, storeIDs, err = createWebsite(ctx, tx, now, website, stores)
		return err
	})
	return id, storeIDs, err
}

// OpenWebsite is CreateWebsite with one store, and with an invitation of its first OWNER by
// a platform administrator: whoever holds the token can accept it until ttl has passed.
// VALIDATION_FAILED for an owner who is a platform administrator, and could not work there.
func (db *DB) OpenWebsite(ctx context.Context, now time.Time, by app.Actor, website NewWebsite, store NewStore, owner app.Invitation, token app.Secret, ttl time.Duration) (app.WebsiteID, app.Invitation, error) {
	var id app.WebsiteID
	owner.Role = app.RoleOwner
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		administers, err := tx.NewSelect().TableExpr("users").Where("lower(email) = lower(?) AND platform_role IS NOT NULL", owner.Email).Exists(ctx)
		if err != nil {
			return err
		}
		if administers {
			return app.Invalid("owner.email", "is a platform administrator's, who works in no store")
		}
		if id, owner.StoreIDs, err = createWebsite(ctx, tx, now, website, []NewStore{store}); err != nil {
			return err
		}
		if err := pg.AuditWebsite(ctx, tx, now, id, by, app.AuditWebsiteOpened, map[string]any{"plan": website.Plan}); err != nil {
			return err
		}
		owner, err = db.insertInvitation(ctx, tx, now, id, by, owner, token, ttl)
		return err
	})
	return id, owner, err
}

func createWebsite(ctx context.Context, tx bun.Tx, now time.Time, website NewWebsite, stores []NewStore) (app.WebsiteID, []app.StoreID, error) {
	id := app.NewID[app.WebsiteID](now)
	_, err := tx.NewRaw(`INSERT INTO websites (id, name, domain, plan, created_at) VALUES (?, ?, ?, ?, ?)`,
		id, website.Name, website.Domain, website.Plan, now).Exec(ctx)
	if pg.IsDuplicate(err) {
		return "", nil, app.Errorf(app.CodeConflict, "the domain %s belongs to another website", website.Domain)
	}
	if err != nil {
		return "", nil, err
	}
	var storeIDs []app.StoreID
	for i, store := range stores {
		// A millisecond apart: lists of stores are in the order of their making.
		storeID, err := createStore(ctx, tx, now.Add(time.Duration(i)*time.Millisecond), id, store)
		if err != nil {
			return "", nil, err
		}
		storeIDs = append(storeIDs, storeID)
	}
	return id, storeIDs, nil
}

func createStore(ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, store NewStore) (app.StoreID, error) {
	id := app.NewID[app.StoreID](now)
	if store.DeliveryFees == nil {
		store.DeliveryFees = map[app.Currency]int64{}
	}
	_, err := tx.NewRaw(`INSERT INTO stores (id, website_id, name, country_code, timezone, tax_rate_ppm, tax_included, tax_delivery_fee, delivery_fees, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, true, ?, ?)`,
		id, website, store.Name, store.CountryCode, store.Timezone, store.TaxRatePPM, store.TaxIncluded, store.DeliveryFees, now).Exec(ctx)
	if err != nil {
		return "", err
	}
	for i, view := range store.Views {
		_, err := tx.NewRaw(`INSERT INTO store_views (id, store_id, code, locale, currency, is_default) VALUES (?, ?, ?, ?, ?, ?)`,
			app.NewID[app.StoreViewID](now), id, view.Code, view.Locale, view.Currency, i == 0).Exec(ctx)
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// websiteRow is a website as its table holds it.
type websiteRow struct {
	ID          app.WebsiteID
	Name        string
	Domain      string
	Plan        app.Plan
	SuspendedAt *time.Time
	CreatedAt   time.Time
}

func (r websiteRow) website() app.Website {
	return app.Website{
		ID: r.ID, Name: r.Name, Domain: r.Domain, Plan: r.Plan, SuspendedAt: pg.TimeOrNil(r.SuspendedAt), CreatedAt: app.At(r.CreatedAt),
	}
}

const websiteColumns = "id, name, domain, plan, suspended_at, created_at"

// Websites lists all websites, the newest first, at most limit of them, from after the one
// named ("" = from the start).
func (db *DB) Websites(ctx context.Context, after app.WebsiteID, limit int) ([]app.Website, error) {
	var rows []websiteRow
	err := db.System().NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE ?0 = '' OR id < ?0 ORDER BY id DESC LIMIT ?1`, after, limit).
		Scan(ctx, &rows)
	websites := make([]app.Website, len(rows))
	for i, row := range rows {
		websites[i] = row.website()
	}
	return websites, pg.Classify(err)
}

// ChangeWebsite changes a website, NOT_FOUND if there is none of that id. Suspending one
// that is suspended leaves the time of it as it is.
func (db *DB) ChangeWebsite(ctx context.Context, now time.Time, by app.Actor, id app.WebsiteID, change app.WebsiteChange) (app.Website, error) {
	var row websiteRow
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		was := websiteRow{}
		row = websiteRow{}
		err := tx.NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE id = ? FOR NO KEY UPDATE`, id).Scan(ctx, &was)
		if err != nil {
			return err
		}
		if change.Plan != nil {
			if err := db.SetPlan(ctx, tx, id, *change.Plan); err != nil {
				return err
			}
		}
		err = tx.NewRaw(`UPDATE websites SET
				suspended_at = CASE ?1::boolean WHEN true THEN coalesce(suspended_at, ?2::timestamptz) WHEN false THEN NULL ELSE suspended_at END
			WHERE id = ?0 RETURNING `+websiteColumns, id, change.Suspended, app.At(now).Time).Scan(ctx, &row)
		if err != nil {
			return err
		}
		return auditWebsiteChange(ctx, tx, now, by, was, row)
	})
	return row.website(), err
}

// auditWebsiteChange tells of what differs.
func auditWebsiteChange(ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, was, is websiteRow) error {
	if was.Plan != is.Plan {
		err := pg.AuditWebsite(ctx, tx, now, is.ID, by, app.AuditPlanChanged, map[string]any{"from": was.Plan, "to": is.Plan})
		if err != nil {
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

// WebsiteByDomain returns the website of a domain; NOT_FOUND if there is none, or it is
// suspended.
func (db *DB) WebsiteByDomain(ctx context.Context, domain string) (app.WebsiteID, error) {
	var id app.WebsiteID
	err := db.System().NewRaw(`SELECT id FROM websites WHERE domain = ? AND suspended_at IS NULL`, domain).Scan(ctx, &id)
	return id, pg.Classify(err)
}

// BelongsTo reports whether a store is one of a website's.
func (db *DB) BelongsTo(ctx context.Context, store app.StoreID, website app.WebsiteID) (bool, error) {
	var belongs bool
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`SELECT EXISTS (SELECT FROM stores WHERE id = ? AND website_id = ?)`, store, website).Scan(ctx, &belongs)
	})
	return belongs, err
}
