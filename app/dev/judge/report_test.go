package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTotals checks the sums of several runs, and that only runs of ten minutes together must have made each required
// operation during each fault, if they have tried it several times.
func TestTotals(t *testing.T) {
	t.Parallel()
	one := func(result string) *history {
		h := &history{Lasts: longRun / 2, Requests: make([]request, 3), Begin: noon, End: noon.Add(longRun / 2)}
		for _, k := range kinds {
			h.Operations = append(h.Operations, operation{
				planned: planned{Kind: k.name}, Begin: noon, End: noon.Add(time.Second), Result: done,
			})
		}
		for _, result := range []string{result, result, untargeted} {
			h.Operations = append(h.Operations, operation{
				planned: planned{Kind: "place order"}, Begin: noon.Add(time.Minute), End: noon.Add(2 * time.Minute),
				Result: result,
			})
		}
		h.addDisturbance(disturbance{Fault: "kill-worker", Begin: noon.Add(time.Minute), End: noon.Add(3 * time.Minute)})
		return h
	}
	var total totals
	total.add(one(refused))
	if failed, rare := total.unsuccessful(); len(failed)+len(rare) != 0 {
		t.Errorf("half of the time: got %q and %q, want nothing", failed, rare)
	}
	total.lasts = longRun
	never := "place order never succeeded during kill-worker: "
	if failed, rare := total.unsuccessful(); len(failed) != 0 || !slices.Contains(rare, never+"0/2/0/1") {
		t.Errorf("two tries: got %q and %q, want a rare order", failed, rare)
	}
	total.lasts = longRun / 2
	total.add(one(unknown))
	if failed, rare := total.unsuccessful(); !slices.Equal(failed, []string{never + "0/2/2/2"}) || len(rare) == 0 {
		t.Errorf("four tries: got %q and %q, want the order, and others that are rare", failed, rare)
	}
	total.add(one(done))
	if failed, rare := total.unsuccessful(); strings.Contains(strings.Join(append(failed, rare...), "\n"), never) {
		t.Errorf("the order is done: got %q and %q", failed, rare)
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
		"| no fault", "| 2/2/2/3",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", &out, want)
		}
	}
}

// TestLastBefore checks which operation is the last one before the first violation that has a time.
func TestLastBefore(t *testing.T) {
	t.Parallel()
	b := rightBook()
	h := b.h
	third, fifth := h.Operations[2], h.Operations[4]
	for name, test := range map[string]struct {
		found []violation
		want  int
	}{
		"no time":     {[]violation{{}, {}}, 0},
		"two":         {[]violation{{At: fifth.End}, {}, {At: third.End}}, 3},
		"a delivery":  {[]violation{ofDelivery(b.s.Deliveries["e-o1/w1"], "")}, 7},
		"in the wait": {[]violation{{At: h.End.Add(time.Second)}}, 0},
	} {
		if got := h.lastBefore(test.found); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

// TestIneffective checks that each kind of operations must have its purpose once: it succeeds, or is refused although
// it has a target.
func TestIneffective(t *testing.T) {
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
