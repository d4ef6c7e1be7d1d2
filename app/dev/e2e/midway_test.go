package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// TestPlanChangesWithQueuedDeliveries upgrades and downgrades the plan of a website while deliveries are queued. Each
// plan starts as many of them as it has starts left in the window, and each delivery starts once. Deliveries that were
// queued when their webhook got a new secret are signed with it.
func TestPlanChangesWithQueuedDeliveries(t *testing.T) {
	t.Parallel()
	waiting, first := 300, 100
	if *long {
		waiting, first = 5000, 1500
	}
	w := worker(t, map[string]string{"COMANDA_PLAN_WINDOW": planWindow.String()})
	r, h, other := newRestaurant(t), newHook(t, nil), newGroup(t, func(int) int { return http.StatusNoContent })
	h.arrived = make(chan int, 2*waiting)
	webhook := r.subscribe(h)
	// STARTER has no starts left in this window, GROW has some.
	grow, _ := app.PlanGrow.PerWindow()
	r.usePlan(app.PlanStarter, grow-first)
	r.emit(waiting)
	eventually(t, "all are queued", func() error { return r.countIs(waiting, "status = 'queued'") })

	r.changePlan(app.PlanGrow)
	eventually(t, "GROW starts some deliveries", func() error { return r.undelivered(first) })
	r.changePlan(app.PlanStarter)
	r.emit(1)
	other.order()
	other.await("the relay goes on", comanda.DeliveryStatusDelivered)
	must(t, r.undelivered(first))
	must(t, r.countIs(waiting+1-first, "status = 'queued'"))
	// The oldest deliveries have started.
	must(t, r.countIs(0, `status = 'delivered' AND position > (
		SELECT min(position) FROM deliveries w WHERE w.store_id = deliveries.store_id AND w.status = 'queued')`))

	const rotated = "whsec_after_the_rotation_0123456789abcdef"
	_, err := r.RotateWebhookSecret(t.Context(), webhook.ID, comanda.RotateSecretRequest{Secret: rotated})
	must(t, err)
	h.secret.Store(new(rotated))
	r.changePlan(app.PlanEnterprise)
	eventually(t, "all are delivered", func() error { return r.undelivered(waiting + 1) })
	if n := len(h.all(t)); n != waiting+1 {
		t.Errorf("requests: got %d, want %d", n, waiting+1)
	}
	must(t, w.Stop(t.Context()))
}

// planWindow is the length of a window that has begun recently, so that no window ends during a test. Windows of a day
// would end at midnight.
var planWindow = func() time.Duration {
	now, best := time.Now(), time.Duration(0)
	left := func(length time.Duration) time.Duration { return app.PlanWindow(now, length).Add(length).Sub(now) }
	for length := 24 * time.Hour; length > 24*time.Hour-time.Minute; length -= time.Second {
		if best == 0 || left(length) > left(best) {
			best = length
		}
	}
	return best
}()

func (r *restaurant) changePlan(plan app.Plan) {
	r.t.Helper()
	env := worldOf(r.t).infra.Ready.Env
	db, err := persistence.Open(persistence.Config{
		URL: env["DATABASE_URL"], SystemURL: env["COMANDA_SYSTEM_DATABASE_URL"], PlanWindow: planWindow,
	})
	must(r.t, err)
	defer db.Close()
	var website app.WebsiteID
	must(r.t, worldOf(r.t).db.System().DB.QueryRowContext(r.t.Context(),
		"SELECT website_id FROM stores WHERE id = $1", r.store).Scan(&website))
	_, err = db.ChangeWebsite(r.t.Context(), time.Now(), app.Actor{}, website, app.WebsiteChange{Plan: &plan})
	must(r.t, err)
}

// usePlan uses up some starts of the window and sets the plan of a website whose plan had no limit.
func (r *restaurant) usePlan(plan app.Plan, starts int) {
	r.t.Helper()
	r.usePlanOf(planWindow, plan, starts)
}

// usePlanOf is usePlan for windows of the given length.
func (r *restaurant) usePlanOf(window time.Duration, plan app.Plan, starts int) {
	r.t.Helper()
	_, err := worldOf(r.t).db.System().DB.ExecContext(r.t.Context(), `
		INSERT INTO plan_windows (queue, starts_at, started, replays_started)
		SELECT website_id, $2, $3, 0 FROM stores WHERE id = $1`,
		r.store, app.PlanWindow(time.Now(), window), starts)
	must(r.t, err)
	r.changePlan(plan) // from now on, the worker counts the starts of deliveries in the same row
}

// plan returns the plan of the website.
func (r *restaurant) plan() (plan app.Plan) {
	r.t.Helper()
	must(r.t, worldOf(r.t).db.System().DB.QueryRowContext(r.t.Context(),
		"SELECT w.plan FROM stores s JOIN websites w ON w.id = s.website_id WHERE s.id = $1", r.store).Scan(&plan))
	return plan
}
