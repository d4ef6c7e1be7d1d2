package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTotals checks the sums of several runs, and that only runs of ten minutes together must have made each required
// operation during each fault.
func TestTotals(t *testing.T) {
	t.Parallel()
	one := func(result string) *history {
		h := &history{Lasts: longRun / 2, Requests: make([]request, 3), Begin: noon, End: noon.Add(longRun / 2)}
		for _, k := range kinds {
			h.Operations = append(h.Operations, operation{
				planned: planned{Kind: k.name}, Begin: noon, End: noon.Add(time.Second), Result: done,
			})
		}
		h.Operations = append(h.Operations, operation{
			planned: planned{Kind: "place order"}, Begin: noon.Add(time.Minute), End: noon.Add(2 * time.Minute),
			Result: result,
		})
		h.addDisturbance(disturbance{Fault: "kill-worker", Begin: noon.Add(time.Minute), End: noon.Add(3 * time.Minute)})
		return h
	}
	var total totals
	total.add(one(refused))
	if list := total.unsuccessful(); len(list) != 0 {
		t.Errorf("half of the time: got %v, want nothing", list)
	}
	total.add(one(unknown))
	if list := total.unsuccessful(); !slices.Contains(list, "place order never succeeded during kill-worker: 0/1/1/0") {
		t.Errorf("got %q, want the order", list)
	}
	total.add(one(done))
	if list := total.unsuccessful(); strings.Contains(strings.Join(list, "\n"), "place order") {
		t.Errorf("the order is done: got %q", list)
	}
	if list := total.unused(faults[:2]); len(list) != 0 {
		t.Errorf("a quarter of an hour: got %q, want nothing", list)
	}
	total.lasts += series
	if list := total.unused(faults[:2]); !slices.Equal(list, []string{"kill-serve never occurred"}) {
		t.Errorf("more than an hour: got %q, want the API", list)
	}
	total.lasts -= series
	total.repeated = 2
	var out strings.Builder
	if err := total.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Runs: 3, 15m0s, of which 8m15s calm, ", " 3 faults of 1 kinds, 9 requests of webhooks, 2 of them repeated",
		"| no fault", "| 1/1/1/0",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", &out, want)
		}
	}
}

// TestVain checks that each kind of operations must have its purpose once: it succeeds, or it is refused although it
// has a target.
func TestVain(t *testing.T) {
	t.Parallel()
	var total totals
	h := &history{}
	for _, k := range kinds {
		o := operation{planned: planned{Kind: k.name}, Result: done}
		if k.refused {
			o.Result = refused
		}
		h.Operations = append(h.Operations, o)
	}
	for i, o := range h.Operations {
		for result, want := range map[string]int{o.Result: 0, unknown: 1, untargeted: 1} {
			h.Operations[i].Result = result
			total = totals{}
			if total.add(h); len(total.ineffective()) != want {
				t.Errorf("%s is %s: got %v, want %d violations", o.Kind, result, total.ineffective(), want)
			}
		}
		h.Operations[i].Result = o.Result
	}
}
