package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLasts checks that the suspensions of a long run outlast the timeouts of workers, that its restores go back far,
// and that other faults keep their durations.
func TestLasts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault       string
		run         time.Duration
		least, most time.Duration
	}{
		{"suspend-worker", 40 * time.Second, 2 * time.Second, 8 * time.Second},
		{"suspend-worker", 3 * time.Minute, outlasts, 18 * time.Second},
		{"suspend-serve", calmFrom, outlasts, 30 * time.Second},
		{"suspend-postgres", time.Hour, outlasts, time.Minute},
		{"kill-worker", 3 * time.Minute, 4500 * time.Millisecond, 18 * time.Second},
		{"restore-comanda", time.Minute, 2 * time.Second, 8 * time.Second},
		{"restore-temporal", calmFrom, goesBack, goesBack},
	} {
		shortest, longest := time.Hour, time.Duration(0)
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
			lasts := fault{name: test.fault}.lasts(random, test.run)
			shortest, longest = min(shortest, lasts), max(longest, lasts)
		}
		if shortest < test.least || longest > test.most || longest < test.most*9/10 {
			t.Errorf("%s in a run of %s: got %s to %s, want %s to about %s", test.fault, test.run, shortest, longest,
				test.least, test.most)
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
	if found := checkCalm(options{operations: all, sites: everywhere}, h); len(found) != 0 {
		t.Errorf("got %+v, want none", found)
	}
	h.Disturbances = slices.Delete(h.Disturbances, 1, 2)
	fault(time.Minute+10*time.Second, 3*time.Minute)
	slices.SortFunc(h.Disturbances, func(a, b disturbance) int { return a.Begin.Compare(b.Begin) })
	if found := checkCalm(options{operations: all, sites: everywhere}, h); len(found) != 1 {
		t.Errorf("faults close together: got %+v, want a violation", found)
	}
	if found := checkCalm(options{operations: span{1, 9}, sites: everywhere}, h); len(found) != 0 {
		t.Errorf("part of a run: got %+v, want none", found)
	}
}

// TestSelectFaults checks that all faults are selected or left out with a reason.
func TestSelectFaults(t *testing.T) {
	t.Parallel()
	list, omitted, err := selectFaults("")
	if err != nil || len(list)+len(omitted) != len(faults) {
		t.Errorf("got %d faults and %d without a machine for them, error %v, want %d", len(list), len(omitted), err,
			len(faults))
	}
	if list, _, err := selectFaults("none"); len(list) != 0 || err != nil {
		t.Errorf("none: got %v, error %v", list, err)
	}
}

// faultsOf returns the faults of a run without an installation, with their starts and ends, and the rest of the round.
func faultsOf(t *testing.T, o options) (list []disturbance, rest []fault) {
	t.Helper()
	s := newSequence(o.seed, o.first)
	for at := time.Duration(0); ; {
		f, own := s.next(o.faults)
		before, lasts := pause(o.lasts, len(list)), f.lasts(own, o.lasts)
		if at+before+lasts > o.lasts {
			return list, append([]fault{f}, s.left...)
		}
		at += before
		list = append(list, disturbance{Fault: f.name, Begin: noon.Add(at), End: noon.Add(at + lasts)})
		at += lasts
	}
}

// TestSeriesIsEven checks that each fault occurs as often as the others in a series, at most one time more or less.
func TestSeriesIsEven(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		o := options{seed: 10 * seed, lasts: 370 * time.Second, faults: faults}
		n := map[string]int{}
		for range 10 {
			var list []disturbance
			list, o.first = faultsOf(t, o)
			for _, d := range list {
				n[d.Fault]++
			}
			o.seed++
		}
		counts := slices.Sorted(maps.Values(n))
		if len(n) != len(faults) || counts[0] < counts[len(counts)-1]-1 {
			t.Errorf("seed %d: got %v, want each fault equally often", 10*seed, n)
		}
	}
}

// TestSequence checks that the targets and durations of a fault do not depend on the others that are selected.
func TestSequence(t *testing.T) {
	t.Parallel()
	whole, part := newSequence(7, faults[3:5]), newSequence(7, faults[3:5])
	for range 2 * len(faults) {
		f, own := whole.next(faults)
		if f.name != faults[4].name {
			continue
		}
		again, same := part.next(faults[4:5])
		if got, want := same.Uint64(), own.Uint64(); again.name != f.name || got != want {
			t.Errorf("got %s with %d, want %s with %d", again.name, got, f.name, want)
		}
	}
}

// TestRequiredPairs checks that the seeds of a series of ten runs plan almost each required operation several times
// during each fault, since not all of them succeed.
func TestRequiredPairs(t *testing.T) {
	t.Parallel()
	const least, most = 4, 150 // of this number of pairs, one may be planned less often
	pairs, rare := 0, 0
	for series := range uint64(20) {
		o := options{seed: 100 * series, lasts: 370 * time.Second, faults: faults}
		planned := map[[2]string]int{} // by kind and fault
		for range 10 {
			var list []disturbance
			list, o.first = faultsOf(t, o)
			for _, p := range newPlan(o.seed, o.lasts) {
				for _, d := range list {
					if at := noon.Add(p.At); at.After(d.Begin) && at.Before(d.End) {
						planned[[2]string{p.Kind, d.Fault}]++
					}
				}
			}
			o.seed++
		}
		for _, k := range kinds {
			for _, f := range faults {
				if !k.required {
					continue
				}
				pairs++
				if n := planned[[2]string{k.name, f.name}]; n < least {
					rare++
					t.Logf("series %d: %s is planned %d times during %s", series, k.name, n, f.name)
				}
			}
		}
	}
	if rare > pairs/most {
		t.Errorf("%d of %d pairs are planned less than %d times, want at most one of %d", rare, pairs, least, most)
	}
}
