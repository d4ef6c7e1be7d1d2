package main

import (
	"math/rand/v2"
	"slices"
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

// TestPause checks that a long run has calm times between its faults, and that a short one begins with one.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		run  time.Duration
		want [5]time.Duration // before the first faults
	}{
		{8 * time.Second, [5]time.Duration{2666666666, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}},
		{time.Minute, [5]time.Duration{calmBegin, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}},
		{8 * time.Minute, [5]time.Duration{12e9, 12e9, 12e9, calmTime, 12e9}},
	} {
		for n, want := range test.want {
			if got := pause(test.run, n); got != want {
				t.Errorf("fault %d of a run of %s: got a pause of %s, want %s", n, test.run, got, want)
			}
		}
	}
}

// TestCalmTimes checks which time of a run is calm, and that a run without any fails unless it is a part.
func TestCalmTimes(t *testing.T) {
	t.Parallel()
	h := &history{Lasts: 5 * time.Minute, Begin: noon, End: noon.Add(5 * time.Minute)}
	fault := func(begin, end time.Duration) {
		h.addDisturbance(disturbance{Fault: "kill-worker", Begin: noon.Add(begin), End: noon.Add(end)})
	}
	fault(10*time.Second, time.Minute)
	fault(time.Minute+calmTime, 3*time.Minute)
	fault(3*time.Minute+10*time.Second, 5*time.Minute-aftermath-time.Second)
	if got := h.calmTimes(); got != calmTime-aftermath {
		t.Errorf("got %s, want %s", got, calmTime-aftermath)
	}
	if found := checkCalm(options{operations: all}, h); len(found) != 0 {
		t.Errorf("got %+v, want none", found)
	}
	h.Disturbances = slices.Delete(h.Disturbances, 1, 2)
	fault(time.Minute+10*time.Second, 3*time.Minute)
	slices.SortFunc(h.Disturbances, func(a, b disturbance) int { return a.Begin.Compare(b.Begin) })
	if found := checkCalm(options{operations: all}, h); len(found) != 1 {
		t.Errorf("faults close together: got %+v, want a violation", found)
	}
	if found := checkCalm(options{operations: span{1, 9}}, h); len(found) != 0 {
		t.Errorf("part of a run: got %+v, want none", found)
	}
}
