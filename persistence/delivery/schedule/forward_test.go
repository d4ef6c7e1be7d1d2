package schedule

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestExpect(t *testing.T) {
	t.Parallel()
	type perWindow = map[int]int
	for name, test := range map[string]struct {
		started int
		queued  []Class
		want    [Classes]perWindow
	}{
		"nothing":         {0, nil, [Classes]perWindow{{}, {}, {}}},
		"in this window":  {0, slices.Repeat([]Class{First}, 400), [Classes]perWindow{{0: 400}, {}, {}}},
		"later":           {450, slices.Repeat([]Class{First}, 600), [Classes]perWindow{{0: 50, 1: 500, 2: 50}, {}, {}}},
		"replays":         {0, slices.Repeat([]Class{Replay}, 600), [Classes]perWindow{{}, {}, {0: 250, 1: 250, 2: 100}}},
		"profile changes": {0, slices.Repeat([]Class{Customer}, 900), [Classes]perWindow{{}, {0: 400, 1: 400, 2: 100}, {}}},
		"both": {0, slices.Repeat([]Class{First, Customer}, 600),
			[Classes]perWindow{{0: 400, 1: 200}, {0: 100, 1: 200, 2: 300}, {}}},
		"older replays": {0, append(slices.Repeat([]Class{Replay}, 600), slices.Repeat([]Class{First}, 1_000)...),
			[Classes]perWindow{{0: 250, 1: 250, 2: 400, 3: 100}, {}, {0: 250, 1: 250, 2: 100}}},
		"newer replays": {0, append(slices.Repeat([]Class{First}, 600), slices.Repeat([]Class{Replay}, 300)...),
			[Classes]perWindow{{0: 500, 1: 100}, {}, {1: 250, 2: 50}}},
	} {
		got := [Classes]perWindow{{}, {}, {}}
		w := Window{Limit: 500, Started: test.started}
		for i, window := range w.Expect(test.queued) {
			got[test.queued[i]][window]++
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: starts by class and window (-want +got): %s", name, diff)
		}
	}
}

// Estimates are what claims of the following windows do.
func TestExpectMatchesDecisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// As with the limits of all plans, the part of customer.* events alone ends after one of their turns.
		w := Window{Limit: 25 * rapid.IntRange(1, 3).Draw(t, "limit")}
		w.Started = rapid.IntRange(0, w.Limit).Draw(t, "started")
		w.Replays = rapid.IntRange(0, min(w.Started, w.Limit/ReplayShare)).Draw(t, "replays")
		classes := rapid.SliceOfN(rapid.SampledFrom([]Class{First, Customer, Replay}), 0, 250).Draw(t, "classes")
		estimates := w.Expect(classes)
		var counts [Classes]int
		for _, class := range classes {
			counts[class]++
		}
		if last := w.Last(counts); len(estimates) > 0 && last > slices.Max(estimates) {
			t.Fatalf("last start: got window %d, want at most %d", last, slices.Max(estimates))
		}
		waiting := deliveries(0, len(classes))
		for window := 0; len(waiting) > 0; window++ {
			if window > 200 {
				t.Fatalf("%d deliveries have not started after 200 windows", len(waiting))
			}
			started := startAll(&w, waiting, classes, rapid.IntRange(1, 50).Draw(t, "batch"))
			for id := range started {
				if estimates[id] != window {
					t.Fatalf("delivery %d: got window %d, want %d", id, estimates[id], window)
				}
			}
			waiting = slices.DeleteFunc(waiting, func(d Delivery) bool { return started[number(d)] })
			w = Window{Limit: w.Limit}
		}
	})
}

// number returns the number of a delivery of deliveries.
func number(d Delivery) (n int) {
	for _, digit := range d.ID[len("dlv_"):] {
		n = 10*n + int(digit-'0')
	}
	return n
}

// startAll claims until the window allows no more starts, and returns the numbers of the claimed deliveries.
func startAll(w *Window, waiting []Delivery, classes []Class, batch int) map[int]bool {
	started := map[int]bool{}
	for {
		var queued [Classes][]Delivery
		for _, d := range waiting {
			if !started[number(d)] {
				queued[classes[number(d)]] = append(queued[classes[number(d)]], d)
			}
		}
		queue := Queue{Window: *w, Scarce: true, Subscriptions: []Subscription{healthy("s", queued)}}
		claims := Decide(noon, Facts{Queues: []Queue{queue}}, unbounded(batch)).Claims
		if len(claims) == 0 {
			return started
		}
		for _, c := range claims {
			started[number(c.Delivery)] = true
			w.Started++
			if c.Class == Replay {
				w.Replays++
			}
		}
	}
}
