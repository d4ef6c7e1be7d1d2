package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

// TestDeadlinesBesideTeardowns deletes a hundred webhooks with many retrying deliveries before the deadlines of two
// orders of another website pass. One of the orders is cancelled, and the store is reminded of the other one, while
// most deliveries of the neighbour are not cancelled yet.
func TestDeadlinesBesideTeardowns(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"COMANDA_RETRY_SCHEDULE": "1h"}
	first := worker(t, settings)
	neighbour, other := newRestaurant(t), newRestaurant(t)
	webhooks, deliveries := neighbour.failMany(6)
	first.Kill()
	for _, s := range webhooks {
		must(t, neighbour.DeleteWebhook(t.Context(), s.ID))
	}
	_, err := other.UpdateSettings(t.Context(), comanda.ChangeSettingsRequest{Acceptance: &comanda.AcceptanceRequest{
		RemindAfterMinutes: new(5), CancelAfterMinutes: new(10),
	}})
	must(t, err)
	shop := other.byKey()
	cancelled, reminded := shop.order(), shop.order()
	other.moveDeadline(cancelled, 10)
	other.moveDeadline(reminded, 5)

	// A distant Temporal makes the teardowns slow: they cancel one workflow after the other.
	temporal := delayed(t, worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"], 100*time.Millisecond)
	settings["TEMPORAL_ADDRESS"] = temporal.Address
	worker(t, settings)
	awaitAcceptance(t, cancelled.ID, app.AcceptanceCancelled)
	awaitAcceptance(t, reminded.ID, app.AcceptanceReminded)
	const open = "SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = 'retrying'"
	left := count(t, open, neighbour.store)
	if t.Logf("%d of %d deliveries of the neighbour are not cancelled yet", left, deliveries); left < deliveries*3/4 {
		t.Errorf("deliveries of the neighbour that are not cancelled yet: got %d of %d, want most", left, deliveries)
	}
	shown, err := other.GetOrder(t.Context(), cancelled.ID)
	must(t, err)
	if shown.Status != comanda.OrderStatusCancelled || shown.CancellationReason != app.ReasonNotAccepted {
		t.Errorf("order after its deadline: got %+v, want it cancelled", shown)
	}
	eventually(t, "the teardowns go on", func() error {
		if n := count(t, open, neighbour.store); n >= left {
			return fmt.Errorf("%d are open", n)
		}
		return nil
	})
}

// failMany creates as many webhooks as a store can have and some events, and waits until all deliveries are retrying.
func (r *restaurant) failMany(events int) (webhooks []*comanda.Webhook, deliveries int) {
	r.t.Helper()
	h := newHook(r.t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(refused(true)) })
	deliveries = events * app.MaxSubscriptions
	h.arrived = make(chan int, 2*deliveries)
	for range app.MaxSubscriptions {
		webhooks = append(webhooks, r.subscribe(h))
	}
	r.emit(events)
	eventually(r.t, "all deliveries are retrying", func() error { return r.countIs(deliveries, "status = 'retrying'") })
	return webhooks, deliveries
}

// moveDeadline makes an order wait for acceptance since some minutes.
func (r *restaurant) moveDeadline(order *comanda.Order, minutes int) {
	r.t.Helper()
	_, err := worldOf(r.t).db.System().DB.ExecContext(r.t.Context(), `UPDATE acceptances
		SET since = since - $2 * interval '1 minute', next_at = next_at - $2 * interval '1 minute' WHERE order_id = $1`,
		order.ID, minutes)
	must(r.t, err)
}
