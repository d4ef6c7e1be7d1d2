package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

// TestChangesBeforeAnAttempt kills a worker during first attempts, in bursts and in separate workflows, and changes
// their webhooks before another worker repeats the attempts. Each attempt uses the current state of its webhook.
func TestChangesBeforeAnAttempt(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			settings := map[string]string{"COMANDA_BURST": bursts}
			c := newChanging(t, "stays", "deleted", "deactivated", "rotated", "unreadable")
			first := worker(t, settings)
			c.awaitRequests(1)
			first.Kill()
			c.letGo(http.StatusNoContent)

			must(t, c.restaurants["deleted"].DeleteWebhook(t.Context(), c.webhooks["deleted"].ID))
			c.deactivate("deactivated")
			const rotated = "whsec_after_the_rotation_0123456789abcdef"
			c.hooks["rotated"].secret.Store(new(rotated))
			_, err := c.restaurants["rotated"].RotateWebhookSecret(t.Context(), c.webhooks["rotated"].ID,
				comanda.RotateSecretRequest{Secret: rotated})
			must(t, err)
			repair := c.spoilSecret("unreadable")
			worker(t, settings)

			c.ends("stays", comanda.DeliveryStatusDelivered, "", 1, 2)
			c.ends("rotated", comanda.DeliveryStatusDelivered, "", 1, 2)
			c.ends("deleted", comanda.DeliveryStatusCancelled, app.ReasonDeleted, 0, 1)
			c.ends("deactivated", comanda.DeliveryStatusDeadLetter, app.ReasonInactive, 0, 1)
			c.ends("unreadable", comanda.DeliveryStatusPending, "", 0, 1)
			repair()
			c.ends("unreadable", comanda.DeliveryStatusDelivered, "", 1, 2)
			c.checkBursts(bursts == "always")
		})
	}
}

// TestChangesDuringAnAttempt deletes and deactivates webhooks while first attempts are in flight. These attempts finish
// and are recorded, and no further attempt follows.
func TestChangesDuringAnAttempt(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			c := newChanging(t, "deleted", "deactivated")
			worker(t, map[string]string{
				"COMANDA_BURST": bursts, "COMANDA_RETRY_SCHEDULE": "1s", "COMANDA_DELIVERY_TIMEOUT": holding,
			})
			c.awaitRequests(1)
			must(t, c.restaurants["deleted"].DeleteWebhook(t.Context(), c.webhooks["deleted"].ID))
			c.deactivate("deactivated")
			c.letGo(http.StatusServiceUnavailable)

			c.ends("deleted", comanda.DeliveryStatusCancelled, app.ReasonDeleted, 1, 1)
			c.ends("deactivated", comanda.DeliveryStatusDeadLetter, app.ReasonInactive, 1, 1)
			for name, r := range c.restaurants {
				eventually(t, name+": no attempt waits for a retry", func() error {
					return r.attemptsAre(1, "status_code = 503 AND status = 'dead_letter' AND next_retry_at IS NULL")
				})
			}
			c.checkBursts(bursts == "always")
		})
	}
}

// changing is a set of restaurants with one delivery each, whose receivers hang until they are released.
type changing struct {
	t           *testing.T
	restaurants map[string]*restaurant
	hooks       map[string]*hook
	webhooks    map[string]*comanda.Webhook
	letGo       func(status int)
}

func newChanging(t *testing.T, names ...string) *changing {
	t.Helper()
	held, release := context.WithCancel(t.Context())
	status := http.StatusNoContent
	c := &changing{
		t: t, restaurants: map[string]*restaurant{}, hooks: map[string]*hook{}, webhooks: map[string]*comanda.Webhook{},
		letGo: func(with int) { status = with; release() },
	}
	for _, name := range names {
		r, h := newRestaurant(t), newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			<-held.Done()
			w.WriteHeader(status)
		})
		c.restaurants[name], c.hooks[name], c.webhooks[name] = r, h, r.subscribe(h)
		r.order()
	}
	return c
}

func (c *changing) awaitRequests(each int) {
	c.t.Helper()
	for name, h := range c.hooks {
		eventually(c.t, name+" receives a request", func() error { return atLeast(each, len(h.all(c.t))) })
	}
}

// deactivate deactivates the webhook of a restaurant.
func (c *changing) deactivate(name string) {
	c.t.Helper()
	c.restaurants[name].changeWebhook(c.webhooks[name], comanda.ChangeWebhookRequest{IsActive: new(false)})
}

// spoilSecret makes the stored secret of a webhook undecryptable, and returns a function that restores it.
func (c *changing) spoilSecret(name string) (repair func()) {
	c.t.Helper()
	db, id := worldOf(c.t).db.System().DB, c.webhooks[name].ID
	var secret []byte
	must(c.t, db.QueryRowContext(c.t.Context(), "SELECT secret FROM subscriptions WHERE id = $1", id).Scan(&secret))
	set := func(secret []byte) {
		c.t.Helper()
		_, err := db.ExecContext(c.t.Context(), "UPDATE subscriptions SET secret = $2 WHERE id = $1", id, secret)
		must(c.t, err)
	}
	set([]byte("spoilt"))
	return func() { set(secret) }
}

// ends waits until the delivery of a restaurant has a status, and checks its requests and reason.
func (c *changing) ends(name string, status comanda.DeliveryStatus, reason string, attempts, requests int) {
	c.t.Helper()
	d := c.restaurants[name].delivery(name, func(d comanda.Delivery) bool {
		return d.Status == status && d.Attempts == attempts
	})
	if n := len(c.hooks[name].all(c.t)); n != requests || d.Reason != reason {
		c.t.Errorf("%s: got %d requests and %+v, want %d and the reason %q", name, n, d, requests, reason)
	}
}

// checkBursts checks that all deliveries were part of a burst, or none.
func (c *changing) checkBursts(want bool) {
	c.t.Helper()
	for name, r := range c.restaurants {
		if got := r.countIs(1, "burst_id IS NOT NULL") == nil; got != want {
			c.t.Errorf("%s was part of a burst: got %t, want %t", name, got, want)
		}
	}
}

// attemptsAre returns an error unless the store has the given number of attempts and all satisfy a condition.
func (r *restaurant) attemptsAre(want int, condition string) error {
	r.t.Helper()
	const of = "SELECT count(*) FROM attempts WHERE store_id = $1"
	all, satisfying := count(r.t, of, r.store), count(r.t, of+" AND "+condition, r.store)
	if all != want || satisfying != want {
		return fmt.Errorf("%d of %d attempts satisfy the condition, want %d", satisfying, all, want)
	}
	return nil
}
