package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestChangesBeforeAnAttempt kills a worker during first attempts, in bursts and in separate workflows, and changes
// their webhooks before another worker repeats the attempts. Each attempt uses the current state of its webhook.
func TestChangesBeforeAnAttempt(t *testing.T) {
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			settings := map[string]string{"COMANDA_BURST": bursts}
			c := newChanging(t, "stays", "deleted", "deactivated", "rotated", "unreadable")
			first := worker(t, settings)
			c.awaitRequests(1)
			first.Kill()
			c.letGo(http.StatusNoContent)

			c.change("deleted", 204, "DELETE", "", nil)
			c.change("deactivated", 200, "PATCH", "", map[string]any{"isActive": false})
			const rotated = "whsec_after_the_rotation_0123456789abcdef"
			c.hooks["rotated"].secret.Store(new(rotated))
			c.change("rotated", 200, "POST", "/rotate-secret", map[string]any{"secret": rotated})
			repair := c.spoilSecret("unreadable")
			worker(t, settings)

			c.ends("stays", app.DeliveryDelivered, "", 1, 2)
			c.ends("rotated", app.DeliveryDelivered, "", 1, 2)
			c.ends("deleted", app.DeliveryCancelled, app.ReasonDeleted, 0, 1)
			c.ends("deactivated", app.DeliveryDeadLetter, app.ReasonInactive, 0, 1)
			c.ends("unreadable", app.DeliveryPending, "", 0, 1)
			repair()
			c.ends("unreadable", app.DeliveryDelivered, "", 1, 2)
			c.checkBursts(bursts == "always")
		})
	}
}

// TestChangesDuringAnAttempt deletes and deactivates webhooks while first attempts are in flight. These attempts finish
// and are recorded, and no further attempt follows.
func TestChangesDuringAnAttempt(t *testing.T) {
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			c := newChanging(t, "deleted", "deactivated")
			worker(t, map[string]string{"COMANDA_BURST": bursts, "COMANDA_RETRY_SCHEDULE": "1s"})
			c.awaitRequests(1)
			c.change("deleted", 204, "DELETE", "", nil)
			c.change("deactivated", 200, "PATCH", "", map[string]any{"isActive": false})
			c.letGo(http.StatusServiceUnavailable)

			c.ends("deleted", app.DeliveryCancelled, app.ReasonDeleted, 1, 1)
			c.ends("deactivated", app.DeliveryDeadLetter, app.ReasonInactive, 1, 1)
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
	webhooks    map[string]app.Subscription
	letGo       func(status int)
}

func newChanging(t *testing.T, names ...string) *changing {
	t.Helper()
	held, release := context.WithCancel(t.Context())
	status := http.StatusNoContent
	c := &changing{
		t: t, restaurants: map[string]*restaurant{}, hooks: map[string]*hook{}, webhooks: map[string]app.Subscription{},
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

// change makes a request that changes the webhook of a restaurant.
func (c *changing) change(name string, status int, method, path string, body any) {
	c.t.Helper()
	c.restaurants[name].want(status, method, "/webhooks/"+string(c.webhooks[name].ID)+path, body, nil)
}

// spoilSecret makes the stored secret of a webhook undecryptable, and returns a function that restores it.
func (c *changing) spoilSecret(name string) (repair func()) {
	c.t.Helper()
	db, id := the.db.System().DB, c.webhooks[name].ID
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
func (c *changing) ends(name string, status app.DeliveryStatus, reason string, attempts, requests int) {
	c.t.Helper()
	d := c.restaurants[name].delivery(name, func(d app.Delivery) bool {
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
