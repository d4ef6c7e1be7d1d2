package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestBisect checks the range that is left of operations of which some are needed for the failure.
func TestBisect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		n, least, first, last int // first and last needed ones
		begin, end            int
	}{
		"the first":          {100, 1, 0, 0, 0, 1},
		"the last":           {100, 1, 99, 99, 99, 100},
		"one":                {100, 1, 57, 57, 57, 58},
		"a pair at the ends": {100, 1, 0, 99, 0, 100},
		"a pair":             {100, 1, 40, 60, 40, 61},
		"only one":           {1, 1, 0, 0, 0, 1},
		"coarse":             {1000, 100, 500, 510, 500, 625},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			begin, end := bisect(test.n, test.least, func(begin, end int) bool {
				calls++
				return begin <= test.first && test.last < end
			})
			if begin != test.begin || end != test.end || calls > 25 {
				t.Errorf("got %d to %d after %d runs, want %d to %d after at most 25", begin, end, calls, test.begin, test.end)
			}
		})
	}
}

// TestShrink checks that the search finds the operation and the fault of a failure that only each second run shows, and
// that it says what it has tried.
func TestShrink(t *testing.T) {
	t.Parallel()
	first := options{lasts: time.Minute, seed: 7, faults: faults[:8], first: faults[4:6], operations: all}
	runs := map[string]int{}
	var out strings.Builder
	fails := func(_ context.Context, o options) (bool, error) {
		runs[o.command()]++
		needed := false
		for _, f := range o.faults {
			needed = needed || f.name == faults[5].name
		}
		return needed && o.operations.first <= 123 && o.operations.last >= 123 && runs[o.command()] == 2, nil
	}
	shortest := shrink(t.Context(), first, 320, shrinker{fails: fails, out: &out})
	want := "go run ./app/dev/judge --seconds 60 --seed 7 --faults " + faults[5].name +
		" --first " + namesOf(faults[4:6]) + " --operations 121-140"
	if got := shortest.command(); got != want {
		t.Errorf("got %q, want %q, after:\n%s", got, want, &out)
	}
	for command, n := range runs {
		if n > shrinkTries || !strings.Contains(out.String(), command+": has") {
			t.Errorf("%d runs of %s, want at most %d, each of them in:\n%s", n, command, shrinkTries, &out)
		}
	}
}

// TestShrinkCuts checks that the search first removes the operations after the first violation, and keeps them if the
// rest does not fail.
func TestShrinkCuts(t *testing.T) {
	t.Parallel()
	for _, needed := range []int{123, 220} {
		first := options{lasts: time.Minute, seed: 7, faults: faults[:2], operations: all}
		var tried []span
		fails := func(_ context.Context, o options) (bool, error) {
			tried = append(tried, o.operations)
			return o.operations.first <= needed && o.operations.last >= needed, nil
		}
		shortest := shrink(t.Context(), first, 320, shrinker{last: 150, fails: fails, out: t.Output()})
		if got := shortest.operations; tried[0] != (span{1, 150}) || got.first > needed || got.last < needed ||
			got.last-got.first >= 320/shrinkParts || len(shortest.faults) != 0 {
			t.Errorf("operation %d: got %s after %v, want 1-150 first, and few operations", needed, got.String(), tried)
		}
	}
}

// TestShrinkKeepsLateFaults checks that the search finds a fault that only occurs in a run with nearly all operations.
func TestShrinkKeepsLateFaults(t *testing.T) {
	t.Parallel()
	first := options{lasts: time.Minute, seed: 7, faults: faults[:8], operations: all}
	fails := func(_ context.Context, o options) (bool, error) {
		late := len(o.faults) // the time at which the last fault ends grows with the number of faults
		return namesOf(o.faults[max(0, late-1):]) == faults[7].name && min(o.operations.last, 320) >= 30*late, nil
	}
	shortest := shrink(t.Context(), first, 320, shrinker{fails: fails, out: t.Output()})
	if names := namesOf(shortest.faults); names != faults[7].name || shortest.operations.last > 60 {
		t.Errorf("got %s, want one fault and few operations", shortest.command())
	}
}

// TestShrinkEnds checks that the search returns the first run if no shorter one fails, or if there is no time.
func TestShrinkEnds(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	first := options{lasts: time.Minute, seed: 7, faults: faults[:1], operations: all}
	for name, ctx := range map[string]context.Context{"never fails": t.Context(), "no time": ended} {
		var out strings.Builder
		runs := 0
		fails := func(context.Context, options) (bool, error) { runs++; return false, nil }
		got := shrink(ctx, first, 320, shrinker{fails: fails, out: &out}).command()
		if got != first.command() || (runs == 0) != (ctx == ended) || strings.Count(out.String(), "\n") != runs {
			t.Errorf("%s: got %q after %d runs:\n%s", name, got, runs, &out)
		}
	}
}

// TestSpan checks that a part of a plan begins with its first operation.
func TestSpan(t *testing.T) {
	t.Parallel()
	plan := newPlan(7, time.Minute)
	first, last := plan[9], plan[19]
	part, lasts := (&span{10, 20}).of(plan)
	if len(part) != 11 || part[0].At != 0 || part[0].Pick != first.Pick || part[10].Number != 20 ||
		lasts != last.At-first.At {
		t.Errorf("got %d operations in %s: %+v", len(part), lasts, part)
	}
}
