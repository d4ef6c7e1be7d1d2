package e2e

import (
	"fmt"
	"testing"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// TestInactiveWebhookUsesNoPlan switches a webhook off while its deliveries wait for the next window of the plan,
// beside another webhook of the same website. They become dead letters without a request, the plan counts only the
// first attempts at the other receiver, and a replay after the reactivation delivers one of them.
func TestInactiveWebhookUsesNoPlan(t *testing.T) {
	t.Parallel()
	const events = 20
	worker(t, map[string]string{"COMANDA_PLAN_WINDOW": planWindow.String()})
	r := newRestaurant(t)
	off, on := newHook(t, nil), newHook(t, nil)
	s := r.subscribe(off)
	r.subscribe(on)
	starter, _ := app.PlanStarter.PerWindow()
	r.usePlan(app.PlanStarter, starter)
	r.emit(events)
	r.awaitDispatch()

	active := false
	r.changeWebhook(s, comanda.ChangeWebhookRequest{IsActive: &active})
	const letters = `SELECT count(*) FROM deliveries
		WHERE subscription_id = $1 AND status = 'dead_letter' AND reason = $2 AND attempts = 0`
	eventually(t, "all queued deliveries of the inactive webhook are dead letters", func() error {
		if n := count(t, letters, s.ID, app.ReasonInactive); n != events {
			return fmt.Errorf("%d of %d", n, events)
		}
		return nil
	})
	r.changePlan(app.PlanGrow)
	eventually(t, "the other webhook gets its deliveries", func() error { return atLeast(events, on.events(0)) })
	const counted = "SELECT sum(p.started) FROM plan_windows p JOIN stores s ON s.website_id = p.queue WHERE s.id = $1"
	if n := count(t, counted, r.store); n != starter+len(on.all(t)) {
		t.Errorf("counted starts: got %d, want %d and those at the other receiver, %d", n, starter, len(on.all(t)))
	}

	active = true
	r.changeWebhook(s, comanda.ChangeWebhookRequest{IsActive: &active})
	listed := r.deliveries(comanda.ListDeliveriesParams{Status: comanda.DeliveryStatusDeadLetter, WebhookID: s.ID})
	if len(listed) != events {
		t.Fatalf("dead letters: got %d, want %d", len(listed), events)
	}
	r.replayDelivery(listed[0])
	off.await(t)
	if got := off.all(t); len(got) != 1 || got[0].id != listed[0].EventID {
		t.Errorf("requests to the webhook: got %+v, want the replayed event %s", got, listed[0].EventID)
	}
	replay(t, "deactivation_ended", ended(t, workflows.JobWorkflowID(app.JobDeactivation, s.ID)))
}
