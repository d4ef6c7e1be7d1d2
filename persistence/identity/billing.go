package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// ChangePlan changes the plan of a store's website and returns the store's usage of the new plan. It
// returns NOT_FOUND if there is no such store, and CONFLICT if the platform manages the plan, or for a
// sandbox, which has no plan.
func (db *DB) ChangePlan(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, plan app.Plan,
) (app.PlanUsage, error) {
	var website app.WebsiteID
	var sandbox bool
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw("SELECT website_id, sandbox_of IS NOT NULL FROM stores WHERE id = ?", store).
			Scan(ctx, &website, &sandbox)
	})
	if err == nil && sandbox {
		err = app.Errorf(app.CodeConflict, "a sandbox has no plan; switch to its live store to change the plan")
	}
	if err == nil {
		_, err = db.changeWebsite(ctx, now, by, website, app.WebsiteChange{Plan: &plan}, checkPlanManager)
	}
	if err != nil {
		return app.PlanUsage{}, err
	}
	return db.queue.PlanUsage(ctx, now, store)
}

// checkPlanManager returns CONFLICT if the platform manages the plan of a website.
func checkPlanManager(website websiteRow) error {
	if website.PlanManagedBy == app.PlanManagedByPlatform {
		return app.Errorf(app.CodeConflict,
			"the operator of this service manages the plan of this website; ask the operator to change it")
	}
	return nil
}
