package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// ChangePlan gives the website of a store another plan, see ChangeWebsite, and returns how
// much of it is used. It returns NOT_FOUND if there is no such store, CONFLICT for a sandbox,
// which has no plan to choose.
func (db *DB) ChangePlan(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, plan app.Plan) (app.PlanUsage, error) {
	var website app.WebsiteID
	var sandbox bool
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw("SELECT website_id, sandbox_of IS NOT NULL FROM stores WHERE id = ?", store).Scan(ctx, &website, &sandbox)
	})
	if err == nil && sandbox {
		err = app.Errorf(app.CodeConflict, "a sandbox has no plan of its own; choose one in its store")
	}
	if err == nil {
		_, err = db.ChangeWebsite(ctx, now, by, website, app.WebsiteChange{Plan: &plan})
	}
	if err != nil {
		return app.PlanUsage{}, err
	}
	return db.PlanUsage(ctx, now, store)
}
