package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
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

// TestPasswordResetBesideMails requests a thousand password resets of a website's customers before one of another
// website's owner. The owner's mail arrives among the first ones.
func TestPasswordResetBesideMails(t *testing.T) {
	t.Parallel()
	const mails = 1_000
	server := smtptest.New(t, smtptest.Config{Certificate: &worldOf(t).tls})
	settings := map[string]string{"COMANDA_SMTP_URL": server.URL()}
	serve, url, err := worldOf(t).serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	neighbour, other := newRestaurant(t), newRestaurant(t)
	neighbour.resetCustomers(mails)
	_, err = newClient(t, url, "").RequestPasswordReset(t.Context(), comanda.RequestResetRequest{Email: other.email})
	must(t, err)
	const queued = "SELECT count(*) FROM mails WHERE store_id = $1 AND status = 'queued'"
	if n := count(t, queued, neighbour.store); n != mails {
		t.Fatalf("queued mails of the neighbour: got %d, want %d", n, mails)
	}
	t.Cleanup(func() { // the next test of this world needs none of the other mails
		_, err := worldOf(t).db.System().DB.ExecContext(context.Background(), "DELETE FROM jobs WHERE store_id = $1",
			neighbour.store)
		must(t, err)
	})

	worker(t, settings)
	before := -1
	eventually(t, "the owner's mail has arrived", func() error {
		before = slices.IndexFunc(server.Messages(), func(m smtptest.Message) bool {
			return slices.Contains(m.To, other.email)
		})
		if before < 0 {
			return errNotYet
		}
		return nil
	})
	if t.Logf("%d mails of the neighbour arrived before", before); before > mails/10 {
		t.Errorf("mails of the neighbour before the owner's: got %d of %d, want few", before, mails)
	}
}

// resetCustomers registers customers and requests their password resets.
func (r *restaurant) resetCustomers(n int) {
	r.t.Helper()
	db, err := worldOf(r.t).open(true)
	must(r.t, err)
	defer db.Close()
	for i := range n {
		now := time.Now()
		session, err := db.RegisterCustomer(r.t.Context(), now, r.store, app.Actor{}, identity.NewCustomer{
			Email: fmt.Sprintf("guest%d@guests.example", i), FirstName: "Ada", LastName: "Lovelace", PasswordHash: "-",
		}, time.Hour)
		must(r.t, err)
		must(r.t, db.MailCustomerReset(r.t.Context(), now, r.store, session.Customer.ID, app.NewSecret(rand.Text())))
	}
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
