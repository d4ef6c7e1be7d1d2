package e2e

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

var previous = flag.String("previous", "", "test beside the previous release, built from this `revision`")

// TestPreviousRelease runs workers of this and of the previous release side by side, kills each, and then replaces the
// worker of this release by one of the previous release. No event is lost.
func TestPreviousRelease(t *testing.T) {
	t.Parallel()
	if *previous == "" {
		t.Skip("needs the revision of the previous release: -previous")
	}
	old := buildRevision(t, *previous)
	c := newReleases(t)
	startOld := func() *harness.Process {
		process, err := old.StartComanda(t.Context(), worldOf(t).infra, "worker", c.settings)
		must(t, err)
		t.Cleanup(process.Kill)
		return process
	}
	const events = 150
	beside := startOld()
	c.during(events,
		func() { beside.Kill(); beside = startOld() },
		func() { c.kill("worker"); c.revive() },
		func() { beside.Kill(); beside = startOld() },
	)
	eventually(t, "every delivery has ended", func() error { return allEnded(t, events) })
	c.check(events, 3)

	must(t, beside.Stop(t.Context()))
	c.restaurants[9].usePlanOf(releaseWindow, app.PlanStarter, 500)
	const failing = "SELECT count(*) FROM deliveries WHERE status = 'retrying' AND attempts > 1"
	c.during(events, func() {
		eventually(t, "deliveries have failed twice", func() error { return atLeast(5, count(t, failing)) })
		must(t, c.worker.Stop(t.Context()))
	})
	waiting, failed := count(t, "SELECT count(*) FROM deliveries WHERE status = 'queued'"), count(t, failing)
	startOld()
	t.Logf("back to the previous release: %d deliveries are queued, %d have failed twice", waiting, failed)
	eventually(t, "every delivery has ended", func() error { return allEnded(t, 2*events) })
	c.check(2*events, 3)
}

// releaseWindow is the length of a plan's window.
const releaseWindow = 20 * time.Second

// buildRevision builds the program of a revision of this repository.
func buildRevision(t *testing.T, revision string) harness.Programs {
	t.Helper()
	dir := t.TempDir()
	script := `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && go build -o comanda ./app/cmd/comanda`
	build := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", filepath.Join("..", "..", ".."), revision, dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", revision, err, out)
	}
	return harness.Programs{Dev: programs(t).Dev, Comanda: filepath.Join(dir, "comanda")}
}

const (
	releaseRestaurants = 10
	releaseHooks       = 2 // of each restaurant
)

// releases is a world with workers of two releases. The receivers of the first restaurant reject every attempt, those
// of the second one the first attempt for each event.
type releases struct {
	*fragileWorld
	restaurants []*restaurant
	hooks       map[string]*hook // by webhook
}

func newReleases(t *testing.T) *releases {
	t.Helper()
	c := &releases{fragileWorld: newFragileWorld(t), hooks: map[string]*hook{}}
	maps.Copy(c.settings, map[string]string{
		"COMANDA_RETRY_SCHEDULE": "3s,3s,3s", "COMANDA_PLAN_WINDOW": releaseWindow.String(), "COMANDA_BURST": "always",
	})
	c.revive()
	for i := range releaseRestaurants {
		r := newRestaurant(t)
		for range releaseHooks {
			var h *hook
			h = newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				time.Sleep(20 * time.Millisecond) // so that attempts are in flight
				w.WriteHeader(refused(i == 0 || i == 1 && h.requestsOf(r.Header.Get("X-Webhook-Id")) == 1))
			})
			h.arrived = make(chan int, 10_000)
			c.hooks[r.subscribe(h).ID] = h
		}
		c.restaurants = append(c.restaurants, r)
	}
	return c
}

// during places orders and calls the disturbances one after the other while the orders are delivered.
func (c *releases) during(events int, disturbances ...func()) {
	c.t.Helper()
	before := c.arrived()
	var placing sync.WaitGroup
	defer placing.Wait()
	for _, r := range c.restaurants {
		placing.Go(func() {
			for range events / releaseRestaurants {
				if _, err := r.PlaceOrder(c.t.Context(), r.newOrder()); err != nil {
					c.t.Errorf("order: got %v, want it placed", err)
				}
			}
		})
	}
	for i, disturb := range disturbances {
		at := before + (i+1)*events*releaseHooks*9/10/(len(disturbances)+1)
		eventually(c.t, fmt.Sprintf("%d events have arrived", at), func() error { return atLeast(at, c.arrived()) })
		disturb()
	}
}

// arrived returns the number of deliveries that have reached their receivers.
func (c *releases) arrived() (n int) {
	for _, h := range c.hooks {
		n += h.events(0)
	}
	return n
}

// check compares the receivers with the database after the given number of kills.
func (c *releases) check(events, kills int) {
	c.t.Helper()
	each := events / releaseRestaurants
	for id, h := range c.hooks {
		if arrived := h.events(0); arrived != each {
			c.t.Errorf("%s: got %d events, want %d", id, arrived, each)
		}
	}
	duplicates := 0
	for of, n := range surplus(c.t, c.hooks) {
		if duplicates += n; n < 0 || n > kills {
			c.t.Errorf("duplicates of %v: got %d, want 0 to %d", of, n, kills)
		}
	}
	bursts := count(c.t, "SELECT count(burst_id) FROM deliveries")
	c.t.Logf("%d deliveries, %d of them of bursts: %d duplicates", events*releaseHooks, bursts, duplicates)
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
