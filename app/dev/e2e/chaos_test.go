package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// TestChaos places many orders while a worker, the API, Temporal and PostgreSQL are killed in turn, at random points. A
// tenth of the receivers reject every attempt, another tenth the first attempts. Afterwards each event has reached its
// receivers. Only attempts that were in flight when a worker was killed have been made twice.
func TestChaos(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			t.Parallel()
			events, rounds := 150, 1
			if *long {
				events, rounds = 1000, 3
			}
			c := newChaos(t, bursts)
			c.during(events, c.kills(rounds)...)
			eventually(t, "every delivery has ended", func() error { return allEnded(t, events) })
			c.check(events)
		})
	}
}

const (
	chaosRestaurants = 10
	chaosHooks       = 2 // of each restaurant
)

// chaos is a world in which parts are killed, with its receivers.
type chaos struct {
	*fragileWorld
	random      *rand.Rand
	restaurants []*restaurant
	hooks       map[string]*hook
	refusing    map[string]bool
	workerKills int
	// inFlight is the largest number of requests of a delivery beyond its recorded attempts, when a worker was killed.
	inFlight map[posted]int
}

// posted identifies a delivery by its webhook and its event.
type posted struct {
	subscription string
	event        string
}

// newChaos starts a world with receivers. environment is that of PostgreSQL.
func newChaos(t *testing.T, bursts string, environment ...string) *chaos {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{
		fragileWorld: newFragileWorld(t), random: rand.New(rand.NewPCG(seed, 0)),
		hooks: map[string]*hook{}, refusing: map[string]bool{}, inFlight: map[posted]int{},
	}
	c.settings["COMANDA_RETRY_SCHEDULE"] = "1s,1s"
	c.settings["COMANDA_BURST"], c.environment = bursts, environment
	c.revive()
	for i := range chaosRestaurants {
		r := newRestaurant(t)
		for range chaosHooks {
			var h *hook
			h = newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				time.Sleep(20 * time.Millisecond) // so that attempts are in flight
				w.WriteHeader(refused(i == 0 || i == 1 && h.requestsOf(r.Header.Get("X-Webhook-Id")) == 1))
			})
			h.arrived = make(chan int, 10_000)
			s := r.subscribe(h)
			c.hooks[s.ID], c.refusing[s.ID] = h, i == 0
		}
		c.restaurants = append(c.restaurants, r)
	}
	return c
}

// during places orders and calls the disturbances at random points while the orders are delivered.
func (c *chaos) during(events int, disturbances ...func()) {
	c.t.Helper()
	before := c.arrived()
	var placing sync.WaitGroup
	defer placing.Wait()
	for _, r := range c.restaurants {
		placing.Go(func() {
			for i := range events / chaosRestaurants {
				r.orderSurely(fmt.Sprintf("order %d after %d", i, before))
			}
		})
	}
	all := events * chaosHooks
	for i, disturb := range disturbances {
		// A random point within the part of the deliveries that belongs to this disturbance.
		at := before + (i*all+c.random.IntN(all))*9/10/len(disturbances)
		eventually(c.t, fmt.Sprintf("%d events have arrived", at), func() error { return atLeast(at, c.arrived()) })
		disturb()
	}
}

// kills returns functions that kill each part the given number of times, in random order.
func (c *chaos) kills(rounds int) (kills []func()) {
	for _, victim := range slices.Repeat([]string{"worker", "API", "Temporal", "PostgreSQL"}, rounds) {
		kills = append(kills, func() {
			c.kill(victim)
			if victim == "worker" {
				c.countInFlight()
			}
			c.t.Logf("killed the %s after %d deliveries", victim, c.arrived())
			c.revive()
		})
	}
	c.random.Shuffle(len(kills), func(i, j int) { kills[i], kills[j] = kills[j], kills[i] })
	return kills
}

// arrived returns the number of deliveries that have reached their receivers.
func (c *chaos) arrived() (n int) {
	for _, h := range c.hooks {
		n += h.events(0)
	}
	return n
}

// surplus returns the number of requests beyond the recorded attempts, by delivery. hooks are the receivers by webhook.
func surplus(t *testing.T, hooks map[string]*hook) map[posted]int {
	t.Helper()
	n := map[posted]int{}
	for id, h := range hooks {
		for _, one := range h.all(t) {
			n[posted{id, one.id}]++
		}
	}
	rows, err := worldOf(t).db.System().DB.QueryContext(t.Context(), `SELECT subscription_id, event_id, count(*)
		FROM attempts WHERE subscription_id = ANY ($1) GROUP BY 1, 2`, slices.Collect(maps.Keys(hooks)))
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var of posted
		var attempts int
		must(t, rows.Scan(&of.subscription, &of.event, &attempts))
		n[of] -= attempts
	}
	must(t, rows.Err())
	return n
}

// countInFlight counts the attempts that a killed worker has made without recording them. It waits until the receivers
// have read all requests from buffers of the kernel.
func (c *chaos) countInFlight() {
	c.t.Helper()
	c.workerKills++
	arrived := -1
	eventually(c.t, "the last requests have arrived", func() error {
		before, open := arrived, c.connections()
		if arrived = c.requests(); arrived != before || open > 0 {
			return fmt.Errorf("%d after %d, %d open connections", arrived, before, open)
		}
		return nil
	})
	for of, n := range surplus(c.t, c.hooks) {
		c.inFlight[of] = max(c.inFlight[of], n)
	}
}

// connections returns the number of open connections of all receivers.
func (c *chaos) connections() (n int) {
	for _, h := range c.hooks {
		n += int(h.open.Load())
	}
	return n
}

func (c *chaos) requests() (n int) {
	c.t.Helper()
	for _, h := range c.hooks {
		n += len(h.all(c.t))
	}
	return n
}

// check compares the receivers with the database.
func (c *chaos) check(events int) {
	c.t.Helper()
	each := events / chaosRestaurants
	for id, h := range c.hooks {
		status := comanda.DeliveryStatusDelivered
		if c.refusing[id] {
			status = comanda.DeliveryStatusDeadLetter
		}
		n := count(c.t, "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = $2", id, status)
		if arrived := h.events(0); arrived != each || n != each {
			c.t.Errorf("%s: got %d events and %d deliveries that are %s, want %d of each", id, arrived, n, status, each)
		}
	}
	duplicates, inFlight := 0, 0
	for of, n := range surplus(c.t, c.hooks) {
		duplicates, inFlight = duplicates+n, inFlight+c.inFlight[of]
		if n < 0 || n > c.inFlight[of] || n > c.workerKills {
			c.t.Errorf("got %d duplicates of %v, want at most the %d attempts in flight at %d kills",
				n, of, c.inFlight[of], c.workerKills)
		}
	}
	bursts := count(c.t, "SELECT count(burst_id) FROM deliveries")
	if on := c.settings["COMANDA_BURST"] == "always"; on != (bursts > 0) {
		c.t.Errorf("deliveries of bursts: got %d, want some: %t", bursts, on)
	}
	c.t.Logf("%d requests for %d deliveries, %d of them of bursts: %d duplicates of %d attempts in flight",
		c.requests(), events*chaosHooks, bursts, duplicates, inFlight)
}

// allEnded returns an error unless all deliveries of the given number of events are delivered or dead letters.
func allEnded(t *testing.T, events int) error {
	var undispatched, ended, open int
	err := worldOf(t).db.System().DB.QueryRowContext(t.Context(), `
		SELECT (SELECT count(*) FROM undispatched),
			count(DISTINCT event_id) FILTER (WHERE status IN ('delivered', 'dead_letter')),
			count(*) FILTER (WHERE status NOT IN ('delivered', 'dead_letter'))
		FROM deliveries`).Scan(&undispatched, &ended, &open)
	if err == nil && (undispatched > 0 || open > 0 || ended != events) {
		err = fmt.Errorf("%d of %d events have ended; %d wait for a relay, %d deliveries are open",
			ended, events, undispatched, open)
	}
	return err
}

// orderSurely places an order and repeats the request with the same idempotency key until it succeeds.
func (r *restaurant) orderSurely(key string) {
	eventually(r.t, "placing an order", func() error {
		_, err := r.PlaceOrder(r.t.Context(), r.newOrder(), comanda.IdempotencyKey(strings.ReplaceAll(key, " ", "-")))
		return err
	})
}

// events returns the number of distinct events, without the first requests.
func (h *hook) events(but int) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	ids := map[string]bool{}
	for _, one := range h.received[but:] {
		ids[one.id] = true
	}
	return len(ids)
}
