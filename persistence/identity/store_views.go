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

// Exactly one view of a store is the default. Changes of views lock the store's row first.

const viewColumns = "id, code, locale, currency, is_default"

// lockViews locks the views of a store and returns them, NOT_FOUND if there is no such store.
func lockViews(ctx context.Context, tx bun.Tx, store app.StoreID) ([]app.StoreView, error) {
	var id app.StoreID
	if err := tx.NewRaw(`SELECT id FROM stores WHERE id = ? FOR NO KEY UPDATE`, store).Scan(ctx, &id); err != nil {
		return nil, err
	}
	var views []app.StoreView
	err := tx.NewRaw(`SELECT `+viewColumns+` FROM store_views WHERE store_id = ? ORDER BY id`, store).
		Scan(ctx, &views)
	return views, err
}

// StoreView returns a view of a store, VALIDATION_FAILED if the store has no such view.
func (db *DB) StoreView(ctx context.Context, store app.StoreID, id app.StoreViewID) (app.StoreView, error) {
	var view app.StoreView
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`SELECT `+viewColumns+` FROM store_views WHERE store_id = ? AND id = ?`, store, id).
			Scan(ctx, &view)
	})
	if app.CodeOf(err) == app.CodeNotFound {
		err = NotAView()
	}
	return view, err
}

// NotAView returns the error for a storeViewId of another store.
func NotAView() error { return app.Invalid("storeViewId", "is not a view of this store") }

// insertView inserts a view of a store. created is false if the store has a view with its code.
func insertView(ctx context.Context, tx bun.Tx, store app.StoreID, view app.StoreView) (created bool, err error) {
	return pg.Inserted(tx.NewRaw(`INSERT INTO store_views (id, store_id, code, locale, currency, is_default)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (store_id, code) DO NOTHING`,
		view.ID, store, view.Code, view.Locale, view.Currency, view.IsDefault).Exec(ctx))
}

// unsetDefault removes the default from the views of a store, so that another view can become the default.
func unsetDefault(ctx context.Context, tx bun.Tx, store app.StoreID) error {
	_, err := tx.NewRaw(`UPDATE store_views SET is_default = false WHERE store_id = ? AND is_default`, store).Exec(ctx)
	return err
}

func viewTaken(code string) error {
	return app.MemberError(app.CodeConflict, "code", "is the code of another view: "+code)
}

// AddView adds a view to a store. A default view replaces the previous default. It returns LIMIT_REACHED if
// the store has app.MaxStoreViews, CONFLICT if it has a view with the code, and the errors of [pg.RunOnce].
func (db *DB) AddView(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, view app.StoreView, once *pg.Once,
) (app.StoreView, error) {
	return pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.StoreView, error) {
		views, err := lockViews(ctx, tx, store)
		if err != nil {
			return view, err
		}
		if len(views) >= app.MaxStoreViews {
			return view, app.Errorf(app.CodeLimitReached, "a store can have at most %d views", app.MaxStoreViews)
		}
		if view.IsDefault {
			if err := unsetDefault(ctx, tx, store); err != nil {
				return view, err
			}
		}
		view.ID = app.NewID[app.StoreViewID](now)
		created, err := insertView(ctx, tx, store, view)
		if err != nil {
			return view, err
		}
		if !created {
			return view, viewTaken(view.Code)
		}
		return view, pg.Audit(ctx, tx, now, store, by, app.AuditViewCreated, string(view.ID), detailsOf(view))
	})
}

// detailsOf describes a view in the audit trail.
func detailsOf(view app.StoreView) map[string]any {
	return map[string]any{
		"code": view.Code, "locale": view.Locale, "currency": view.Currency, "isDefault": view.IsDefault,
	}
}

// ChangeView changes a view of a store and records its new state. It returns NOT_FOUND if there is no such
// view, and CONFLICT if the store has another view with the code or would have no default.
func (db *DB) ChangeView(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.StoreViewID,
	change app.StoreViewChange,
) (app.StoreView, error) {
	var view app.StoreView
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		views, err := lockViews(ctx, tx, store)
		if err != nil {
			return err
		}
		was, err := viewIn(views, id)
		if err != nil {
			return err
		}
		if view, err = changeView(was, views, change); err != nil || view == was {
			return err
		}
		if view.IsDefault && !was.IsDefault {
			if err := unsetDefault(ctx, tx, store); err != nil {
				return err
			}
		}
		_, err = tx.NewRaw(`UPDATE store_views SET code = ?2, locale = ?3, currency = ?4, is_default = ?5
			WHERE store_id = ?0 AND id = ?1`,
			store, id, view.Code, view.Locale, view.Currency, view.IsDefault).Exec(ctx)
		if err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditViewChanged, string(id), detailsOf(view))
	})
	return view, err
}

func viewIn(views []app.StoreView, id app.StoreViewID) (app.StoreView, error) {
	for _, view := range views {
		if view.ID == id {
			return view, nil
		}
	}
	return app.StoreView{}, app.NotFound()
}

// changeView applies a change to one of the views of a store.
func changeView(view app.StoreView, views []app.StoreView, change app.StoreViewChange) (app.StoreView, error) {
	if change.IsDefault != nil && !*change.IsDefault && view.IsDefault {
		return view, app.MemberError(app.CodeConflict, "isDefault",
			"must stay true, because a store needs a default view; make another view the default instead")
	}
	if change.Code != nil {
		for _, other := range views {
			if other.ID != view.ID && other.Code == *change.Code {
				return view, viewTaken(other.Code)
			}
		}
		view.Code = *change.Code
	}
	if change.Locale != nil {
		view.Locale = *change.Locale
	}
	if change.Currency != nil {
		view.Currency = *change.Currency
	}
	view.IsDefault = view.IsDefault || change.IsDefault != nil && *change.IsDefault
	return view, nil
}

// DeleteView deletes a view of a store. Sessions in that view continue in the default view, and orders keep
// its id. It returns NOT_FOUND if there is no such view, and CONFLICT for the default view.
func (db *DB) DeleteView(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.StoreViewID,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		// Users are locked before their sessions and before stores.
		_, err := tx.NewRaw(`SELECT FROM users WHERE id IN (SELECT user_id FROM sessions
			WHERE active_store_id = ? AND active_view_id = ?) ORDER BY id FOR NO KEY UPDATE`, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		views, err := lockViews(ctx, tx, store)
		if err != nil {
			return err
		}
		view, err := viewIn(views, id)
		if err != nil {
			return err
		}
		if view.IsDefault {
			return app.Errorf(app.CodeConflict,
				"the default view cannot be deleted; make another view the default first")
		}
		// Waits for transactions that move a session to this view, and blocks further ones.
		err = tx.NewRaw(`SELECT id FROM store_views WHERE store_id = ? AND id = ? FOR UPDATE`, store, id).
			Scan(ctx, &view.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return app.NotFound()
		}
		if err != nil {
			return err
		}
		_, err = tx.NewRaw(`UPDATE sessions SET active_view_id = (
				SELECT id FROM store_views WHERE store_id = ?0 AND is_default) WHERE active_view_id = ?1`, store, id).
			Exec(ctx)
		if err != nil {
			return err
		}
		_, err = tx.NewRaw(`DELETE FROM store_views WHERE store_id = ? AND id = ?`, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditViewDeleted, string(id), detailsOf(view))
	})
}
