package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// While many orders are placed, everything is killed in turn, at random points, as kill -9 does
// it: a worker, the API, Temporal and PostgreSQL. One of ten receivers refuses everything.
// Afterwards each event has reached its receiver, and none is unaccounted for.
func TestChaos(t *testing.T) {
	events, rounds := 200, 1
	if *long {
		events, rounds = 1000, 3
	}
	const receivers = 10
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFragileWorld(t)
	f.settings["COMANDA_RETRY_SCHEDULE"] = "1s,1s"
	f.settings["COMANDA_BURST"] = "always" // first attempts share workflows whenever several are claimed together
	f.revive()

	var restaurants []*restaurant
	var hooks []*hook
	for i := range receivers {
		r, h := newRestaurant(t), newHook(t, nil)
		if i == 0 {
			h.answer = func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
		}
		r.subscribe(h)
		restaurants, hooks = append(restaurants, r), append(hooks, h)
	}
	var placing sync.WaitGroup
	defer placing.Wait()
	for client := range receivers {
		placing.Go(func() {
			for i := range events / receivers {
				restaurants[client].orderSurely(fmt.Sprintf("order %d", i))
			}
		})
	}

	victims := slices.Repeat([]string{"worker", "API", "Temporal", "PostgreSQL"}, rounds)
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	arrived := func() (n int) {
		for _, h := range hooks {
			n += h.events(0)
		}
		return n
	}
	for i, victim := range victims {
		// Somewhere in its own part of the burst.
		at := (i*events + random.IntN(events)) * 9 / 10 / len(victims)
		eventually(t, fmt.Sprintf("%d events have arrived", at), func() error {
			if n := arrived(); n < at {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		f.kill(victim)
		t.Logf("killed the %s after %d of %d events", victim, arrived(), events)
		f.revive()
	}
	placing.Wait()
	eventually(t, fmt.Sprintf("every delivery has ended (seed %d)", seed), func() error { return allEnded(t.Context(), events) })

	requests := 0
	for i, r := range restaurants {
		requests += len(hooks[i].all(t))
		if n := hooks[i].events(0); n != events/receivers {
			t.Errorf("%d events have reached receiver %d", n, i)
		}
		want := "delivered"
		if i == 0 {
			want = "dead_letter"
		}
		var n int
		must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = $2", r.store, want).Scan(&n))
		if n != events/receivers {
			t.Errorf("%d deliveries to receiver %d are %s", n, i, want)
		}
	}
	var attempts, bursts int
	must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM attempts").Scan(&attempts))
	must(t, the.db.System().DB.QueryRowContext(t.Context(), "SELECT count(burst_id) FROM deliveries").Scan(&bursts))
	if bursts == 0 {
		t.Error("there was no burst")
	}
	t.Logf("%d requests for %d events, %d of them recorded as attempts: %d duplicates; %d deliveries of bursts",
		requests, events, attempts, requests-attempts, bursts)
}

// allEnded returns an error as long as an event is not delivered or a dead letter.
func allEnded(ctx context.Context, events int) error {
	var undispatched, ended, open int
	err := the.db.System().DB.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM outbox WHERE dispatched_at IS NULL),
			count(DISTINCT event_id) FILTER (WHERE status IN ('delivered', 'dead_letter')), count(*) FILTER (WHERE status NOT IN ('delivered', 'dead_letter'))
		FROM deliveries`).Scan(&undispatched, &ended, &open)
	if err == nil && (undispatched > 0 || open > 0 || ended != events) {
		err = fmt.Errorf("%d of %d events have ended; %d wait for a relay, %d deliveries are open", ended, events, undispatched, open)
	}
	return err
}

// orderSurely places an order as a careful client does: again, with the same key, until it
// has an answer.
func (r *restaurant) orderSurely(key string) {
	eventually(r.t, "placing an order", func() error {
		body, err := json.Marshal(r.newOrder())
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(r.t.Context(), "POST", r.api+"/orders", bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+r.token)
		request.Header.Set("Idempotency-Key", strings.ReplaceAll(key, " ", "-"))
		response, err := the.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != 201 {
			return errors.New(response.Status)
		}
		return nil
	})
}

// events returns how many different events have come, the first requests left out.
func (h *hook) events(but int) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	ids := map[string]bool{}
	for _, one := range h.received[but:] {
		ids[one.id] = true
	}
	return len(ids)
}
