package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestClockStepsOfTheDatabase steps the clock of PostgreSQL forward and back by a minute while many orders are
// delivered. Each attempt is made once. Without libfaketime, the test is skipped, but in CI it fails.
func TestClockStepsOfTheDatabase(t *testing.T) {
	t.Parallel()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	must(t, err)
	if len(libraries) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("libfaketime is not installed")
		}
		t.Skip("libfaketime is not installed")
	}
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			t.Parallel()
			clock := newClock(t)
			c := newChaos(t, bursts, "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+clock.file,
				"FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
			const events = 300
			var steps []func()
			for _, offset := range []time.Duration{time.Minute, 0, -time.Minute, 0, -time.Minute, time.Minute} {
				steps = append(steps, func() { clock.set(t, offset) })
			}
			c.during(events, steps...)
			eventually(t, "every delivery has ended", func() error { return allEnded(t, events) })
			c.check(events)
		})
	}
}

// clock is the clock of PostgreSQL.
type clock struct{ file string }

func newClock(t *testing.T) clock {
	t.Helper()
	dir, err := os.MkdirTemp("", "comanda-clock-*")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	c := clock{filepath.Join(dir, "offset")}
	c.write(t, 0)
	return c
}

func (c clock) write(t *testing.T, offset time.Duration) {
	t.Helper()
	must(t, os.WriteFile(c.file, fmt.Appendf(nil, "%+d\n", int(offset.Seconds())), 0o644))
}

// set steps the clock and waits until PostgreSQL shows the new time.
func (c clock) set(t *testing.T, offset time.Duration) {
	t.Helper()
	c.write(t, offset)
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
