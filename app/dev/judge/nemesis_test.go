package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestLasts checks that a long run has suspensions of a worker that outlast its timeouts, and that other faults keep
// their durations.
func TestLasts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault string
		run   time.Duration
		most  time.Duration
	}{
		{"suspend-worker", 40 * time.Second, 8 * time.Second},
		{"suspend-worker", 3 * time.Minute, 18*time.Second + outlasts},
		{"kill-worker", 3 * time.Minute, 18 * time.Second},
		{"suspend-worker", time.Hour, time.Minute + outlasts},
	} {
		longest := time.Duration(0)
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
			lasts := fault{name: test.fault}.lasts(random, test.run)
			if lasts < unitOf(test.run) {
				t.Errorf("%s in a run of %s: got %s, want at least %s", test.fault, test.run, lasts, unitOf(test.run))
			}
			longest = max(longest, lasts)
		}
		if longest > test.most || longest < test.most*9/10 {
			t.Errorf("%s in a run of %s: got at most %s, want about %s", test.fault, test.run, longest, test.most)
		}
	}
}
