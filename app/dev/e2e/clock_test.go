package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestClockStepsOfTheDatabase steps the clock of PostgreSQL forward and back by a minute while many orders are
// delivered. Each attempt is made once. Without libfaketime, the test is skipped, but in CI it fails.
func TestClockStepsOfTheDatabase(t *testing.T) {
	t.Parallel()
	if harness.ClockLibrary() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("libfaketime is not installed")
		}
		t.Skip("libfaketime is not installed")
	}
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			t.Parallel()
			clock := newClock(t)
			c := newChaos(t, bursts, clock.Environment()...)
			const events = 300
			var steps []func()
			for _, offset := range []time.Duration{time.Minute, 0, -time.Minute, 0, -time.Minute, time.Minute} {
				steps = append(steps, func() { step(t, clock, offset) })
			}
			c.during(events, steps...)
			eventually(t, "every delivery has ended", func() error { return allEnded(t, events) })
			c.check(events)
		})
	}
}

func newClock(t *testing.T) harness.Clock {
	t.Helper()
	dir, err := os.MkdirTemp("", "comanda-clock-*")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	c := harness.Clock{File: filepath.Join(dir, "offset")}
	must(t, c.Set(0))
	return c
}

// step steps the clock and waits until PostgreSQL shows the new time.
func step(t *testing.T, c harness.Clock, offset time.Duration) {
	t.Helper()
	must(t, c.Set(offset))
	eventually(t, "the clock is set", func() error {
		var now time.Time
		must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), "SELECT clock_timestamp()").Scan(&now))
		if off := time.Until(now); math.Abs((off - offset).Seconds()) > 5 {
			return fmt.Errorf("the offset is %s, want %s", off, offset)
		}
		return nil
	})
	t.Logf("the clock of PostgreSQL has an offset of %s", offset)
}
