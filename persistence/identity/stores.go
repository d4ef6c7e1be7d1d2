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

// Store returns a store, NOT_FOUND if there is no such store.
func (db *DB) Store(ctx context.Context, now time.Time, store app.StoreID) (app.Store, error) {
	found, err := storeOf(ctx, db.pg.System(), now, store)
	return found, pg.Classify(err)
}

// storeOf returns a store. The website requires the system role.
func storeOf(ctx context.Context, tx bun.IDB, now time.Time, id app.StoreID) (app.Store, error) {
	stores, err := storesWhere(ctx, tx, now, "s.id", string(id))
	if err == nil && len(stores) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return app.Store{}, err
	}
	return stores[0], nil
}

// Country returns the country code of a store, NOT_FOUND if there is no such store.
func (db *DB) Country(ctx context.Context, store app.StoreID) (country string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.Tx.QueryRowContext(ctx, "SELECT country_code FROM stores WHERE id = $1", store).Scan(&country)
	})
	return country, err
}

// storesWhere returns the stores s with a value in a column, oldest first, with their opening states at now. The
// default view comes first.
func storesWhere(ctx context.Context, tx bun.IDB, now time.Time, column, value string) ([]app.Store, error) {
	var rows []struct {
		app.Store
		HoursOf HoursRow      `bun:"embed:hours_of_"`
		View    app.StoreView `bun:"embed:view_"`
	}
	err := tx.NewRaw(`SELECT s.id AS store_id, s.name AS store_name, w.id AS website_id, w.name AS website_name,
			w.domain AS website_domain, s.country_code, s.timezone, s.sandbox_of, s.business_day_cutoff_hour,
			to_jsonb(s.staff_may) AS staff_may,
			jsonb_build_object('minorPerPoint', s.loyalty_minor_per_point, 'minPoints', s.loyalty_min_points)
				AS loyalty,
			CASE WHEN s.sandbox_of IS NULL THEN 'live' ELSE 'test' END AS mode,
			v.id AS view_id, v.code AS view_code, v.locale AS view_locale, v.currency AS view_currency,
			v.is_default AS view_is_default,
			s.timezone AS hours_of_timezone, s.opening_hours AS hours_of_opening_hours,
			s.closures AS hours_of_closures, s.ordering_paused_until AS hours_of_ordering_paused_until
		FROM stores s JOIN websites w ON w.id = s.website_id JOIN store_views v ON v.store_id = s.id
		WHERE ? = ? ORDER BY s.created_at, s.id, v.is_default DESC, v.id`, bun.Ident(column), value).Scan(ctx, &rows)
	stores := []app.Store{}
	for _, row := range rows {
		if len(stores) == 0 || stores[len(stores)-1].StoreID != row.StoreID {
			hours, err := row.HoursOf.Hours()
			if err != nil {
				return nil, err
			}
			stores = append(stores, row.Open(hours, now))
		}
		last := &stores[len(stores)-1]
		last.StoreViews = append(last.StoreViews, row.View)
	}
	return stores, err
}

// AddStore adds a store to the caller's website and makes the caller its OWNER. It returns TOKEN_REVOKED and
// INSUFFICIENT_ROLE if the caller is no longer an OWNER of the active store, LIMIT_REACHED if the website has
// app.MaxStores, and the errors of [pg.RunOnce].
func (db *DB) AddStore(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, in NewStore, once *pg.Once,
) (app.Store, error) {
	var added app.Store
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		added, err = pg.RunOnce(ctx, tx, caller.StoreID, once, now, func() (app.Store, error) {
			active, err := lockOwner(ctx, tx, caller)
			if err != nil {
				return app.Store{}, err
			}
			id, err := addStore(ctx, tx, now, caller.WebsiteID, by, in)
			if err != nil {
				return app.Store{}, err
			}
			_, err = tx.NewRaw(`INSERT INTO memberships (user_id, store_id, role, created_at) VALUES (?, ?, ?, ?)`,
				caller.UserID, id, app.RoleOwner, now).Exec(ctx)
			if err != nil {
				return app.Store{}, err
			}
			err = pg.Audit(ctx, tx, now, active, by, app.AuditStoreCreated, string(id),
				map[string]any{"storeName": in.Name})
			if err != nil {
				return app.Store{}, err
			}
			return storeOf(ctx, tx, now, id)
		})
		return err
	})
	return added, err
}

// lockOwner returns the live store of a caller and locks the caller, who stays an OWNER of it until the transaction
// ends. It returns TOKEN_REVOKED and INSUFFICIENT_ROLE if the caller is no longer an OWNER.
func lockOwner(ctx context.Context, tx bun.Tx, caller app.Principal) (app.StoreID, error) {
	if err := shareSession(ctx, tx, caller); err != nil {
		return "", err
	}
	store, err := live(ctx, tx, caller.StoreID)
	if err != nil {
		return "", err
	}
	var role app.Role
	err = tx.NewRaw(`SELECT role FROM memberships WHERE user_id = ? AND store_id = ? FOR SHARE`, caller.UserID, store).
		Scan(ctx, &role)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	return store, checkCaller(role)
}

// addStore adds a store without members to a website and records it in the store's trail. It returns
// NOT_FOUND if there is no such website, and LIMIT_REACHED.
func addStore(
	ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, by app.Actor, in NewStore,
) (app.StoreID, error) {
	var id app.WebsiteID
	// With this lock, concurrent requests count each other's stores.
	err := tx.NewRaw(`SELECT id FROM websites WHERE id = ? FOR NO KEY UPDATE`, website).Scan(ctx, &id)
	if err != nil {
		return "", err
	}
	var stores int
	err = tx.NewRaw(`SELECT count(*) FROM stores WHERE website_id = ? AND sandbox_of IS NULL`, website).
		Scan(ctx, &stores)
	if err != nil {
		return "", err
	}
	if stores >= app.MaxStores {
		return "", app.Errorf(app.CodeLimitReached, "a website can have at most %d stores", app.MaxStores)
	}
	store, err := createStore(ctx, tx, now, website, in)
	if err != nil {
		return "", err
	}
	return store, pg.Audit(ctx, tx, now, store, by, app.AuditStoreCreated, string(store),
		map[string]any{"storeName": in.Name})
}

func createStore(
	ctx context.Context, tx bun.Tx, now time.Time, website app.WebsiteID, store NewStore,
) (app.StoreID, error) {
	id := app.NewID[app.StoreID](now)
	if store.DeliveryFees == nil {
		store.DeliveryFees = map[app.Currency]int64{}
	}
	_, err := tx.NewRaw(`INSERT INTO stores (id, website_id, name, country_code, timezone,
			tax_rate_ppm, tax_included, tax_delivery_fee, delivery_fees, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, true, ?, ?)`,
		id, website, store.Name, store.CountryCode, store.Timezone, store.TaxRatePPM, store.TaxIncluded,
		store.DeliveryFees, now).Exec(ctx)
	if err != nil {
		return "", err
	}
	for i, view := range store.Views {
		view.ID, view.IsDefault = app.NewID[app.StoreViewID](now), i == 0
		if _, err := insertView(ctx, tx, id, view); err != nil {
			return "", err
		}
	}
	return id, nil
}

// ChangeStore changes the name and the country of a store and records the differences. The name of a sandbox follows
// the name of its live store. It returns NOT_FOUND if there is no such store, and CONFLICT if a sandbox would get
// another name.
func (db *DB) ChangeStore(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, change app.StoreChange,
) (app.Store, error) {
	var changed app.Store
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var was struct{ Name, CountryCode string }
		var sandbox bool
		err := tx.NewRaw(`SELECT name, country_code, sandbox_of IS NOT NULL FROM stores WHERE id = ?
			FOR NO KEY UPDATE`, store).Scan(ctx, &was.Name, &was.CountryCode, &sandbox)
		if err != nil {
			return err
		}
		is, details := was, map[string]any{}
		if change.Name != nil && *change.Name != was.Name && sandbox {
			return app.Errorf(app.CodeConflict,
				"the name of a sandbox follows the name of its live store; rename the live store")
		}
		if change.Name != nil && *change.Name != was.Name {
			is.Name, details["storeName"] = *change.Name, app.SettingsChange{From: was.Name, To: *change.Name}
		}
		if change.CountryCode != nil && *change.CountryCode != was.CountryCode {
			is.CountryCode = *change.CountryCode
			details["countryCode"] = app.SettingsChange{From: was.CountryCode, To: is.CountryCode}
		}
		if len(details) > 0 {
			_, err = tx.NewRaw(`UPDATE stores SET name = ?1, country_code = ?2 WHERE id = ?0`,
				store, is.Name, is.CountryCode).Exec(ctx)
			if err == nil {
				_, err = tx.NewRaw(`UPDATE stores SET name = ?1 WHERE sandbox_of = ?0`, store, sandboxName(is.Name)).
					Exec(ctx)
			}
			if err == nil {
				err = pg.Audit(ctx, tx, now, store, by, app.AuditStoreChanged, string(store), details)
			}
			if err != nil {
				return err
			}
		}
		changed, err = storeOf(ctx, tx, now, store)
		return err
	})
	return changed, err
}

// sandboxName returns the name of the sandbox of a store.
func sandboxName(store string) string { return store + " (sandbox)" }
