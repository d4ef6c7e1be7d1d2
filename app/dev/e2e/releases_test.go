package e2e

import (
	"flag"
	"os/exec"
	"path/filepath"
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
	c := newChaos(t, "always")
	c.settings["COMANDA_RETRY_SCHEDULE"], c.settings["COMANDA_PLAN_WINDOW"] = "3s,3s,3s", releaseWindow.String()
	startOld := func() *harness.Process {
		process, err := old.StartComanda(t.Context(), worldOf(t).infra, "worker", c.settings)
		must(t, err)
		t.Cleanup(process.Kill)
		return process
	}
	const events = 150
	c.worker.Kill()
	c.revive()
	beside := startOld()
	c.during(events,
		func() { beside.Kill(); beside = startOld() },
		func() { c.kill("worker"); c.revive() },
		func() { beside.Kill(); beside = startOld() },
	)
	eventually(t, "every delivery has ended", func() error { return allEnded(t, events) })
	c.checkReleases(events, 3)

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
	c.checkReleases(2*events, 3)
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

// checkReleases is check for workers of two releases, after the given number of kills.
func (c *chaos) checkReleases(events, kills int) {
	c.t.Helper()
	each := events / chaosRestaurants
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
	c.t.Logf("%d requests for %d deliveries, %d of them of bursts: %d duplicates",
		c.requests(), events*chaosHooks, bursts, duplicates)
}
