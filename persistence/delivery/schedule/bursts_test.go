package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// burstSizes returns the sizes of the bursts, largest first, and the number of claims without a burst.
func burstSizes(claims []Claim) (sizes []int, single int) {
	bursts := map[int]int{}
	for _, c := range claims {
		if c.Burst == 0 {
			single++
		} else {
			bursts[c.Burst]++
		}
	}
	for _, size := range bursts {
		sizes = append(sizes, size)
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	return sizes, single
}

func TestBursts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events int
		change func(*Limits)
		waited time.Duration
		sizes  []int
		single int
	}{
		"nothing has waited":        {100, nil, 249 * time.Millisecond, nil, 64},
		"bursts are off":            {100, func(l *Limits) { l.Burst = 0 }, time.Second, nil, 64},
		"bursts of one":             {100, func(l *Limits) { l.Burst = 1 }, time.Second, nil, 64},
		"one":                       {1, nil, time.Second, nil, 1},
		"two":                       {2, nil, time.Second, []int{2}, 0},
		"one more than the largest": {33, nil, time.Second, []int{32}, 1},
		"more than one claim takes": {1_000, nil, time.Second, slices.Repeat([]int{32}, 16), 0},
		"a smaller claim":           {100, func(l *Limits) { l.BurstBatch = 70 }, time.Second, []int{32, 32, 6}, 0},
		"fewer than the least":      {9, func(l *Limits) { l.BurstLeast = 10 }, time.Second, nil, 9},
		"as many as the least":      {10, func(l *Limits) { l.BurstLeast = 10 }, time.Second, []int{10}, 0},
	} {
		limits := unbounded(64)
		limits.Burst, limits.BurstBatch, limits.BurstAfter = 32, 512, 250*time.Millisecond
		if test.change != nil {
			test.change(&limits)
		}
		facts := Facts{Queues: []Queue{{ID: "q", Subscriptions: []Subscription{
			healthy("s", [Classes][]Delivery{First: deliveries(0, test.events)}),
		}}}}
		decision := Decide(noon.Add(test.waited), facts, limits)
		sizes, single := burstSizes(decision.Claims)
		if diff := gocmp.Diff(test.sizes, sizes); diff != "" || single != test.single {
			t.Errorf("%s: got %d without a burst, want %d; sizes of bursts (-want +got): %s", name, single, test.single, diff)
		}
		if decision.Waited != test.waited {
			t.Errorf("%s: Waited: got %s, want %s", name, decision.Waited, test.waited)
		}
	}
}

// Deliveries to the same subscription share a burst. The ids of a burst limit its deliveries: of the events, of the
// subscriptions and of a store for each of them.
func TestSubscriptionsOfABurst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subscriptions, events int  // events of each subscription
		shared                bool // the subscriptions have the same events
		sizes                 []int
		single                int
	}{
		"one delivery each":         {35, 1, false, []int{17, 17}, 1},
		"three deliveries each":     {20, 3, false, []int{30, 30}, 0},
		"many deliveries each":      {3, 40, false, []int{32, 32, 32, 24}, 0},
		"as many as a burst, twice": {2, 32, false, []int{32, 32}, 0},
		"the same event":            {30, 1, true, []int{25, 5}, 0},
		"the same events":           {10, 10, true, []int{32, 32, 32, 4}, 0},
	} {
		var queues []Queue
		for i := range test.subscriptions {
			id, first := fmt.Sprint("s", i), i*test.events
			if test.shared {
				first = 0
			}
			queues = append(queues, Queue{ID: id, Subscriptions: []Subscription{
				healthy(app.SubscriptionID(id), [Classes][]Delivery{First: deliveries(first, test.events)}),
			}})
		}
		limits := unbounded(64)
		limits.Burst, limits.BurstBatch = production.Burst, production.BurstBatch
		sizes, single := burstSizes(Decide(noon.Add(time.Second), Facts{Queues: queues}, limits).Claims)
		if diff := gocmp.Diff(test.sizes, sizes); diff != "" || single != test.single {
			t.Errorf("%s: got %d without a burst, want %d; sizes of bursts (-want +got): %s", name, single, test.single, diff)
		}
	}
}

// A delivery that its plan has delayed waits since the beginning of the window.
func TestWaitForWindowIsNoWait(t *testing.T) {
	t.Parallel()
	queue := Queue{Window: Window{Start: noon.Add(time.Hour), Limit: 10}, Subscriptions: []Subscription{
		healthy("s", [Classes][]Delivery{First: deliveries(0, 5)}),
	}}
	decision := Decide(noon.Add(time.Hour+time.Minute), Facts{Queues: []Queue{queue}}, production)
	if decision.Waited != time.Minute {
		t.Errorf("got %s, want 1m0s", decision.Waited)
	}
}

// A burst has two to Burst first deliveries to quick subscriptions, which are all healthy or all failing, and of queues
// that all have a limit, or none. The ids of its events, subscriptions and stores fit into a search attribute.
func TestBurstsAreUniform(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := drawLimits(t)
		bursts := map[int][]Claim{}
		for _, c := range Decide(noon.Add(time.Second), drawFacts(t), limits).Claims {
			if c.Burst != 0 {
				bursts[c.Burst] = append(bursts[c.Burst], c)
			}
		}
		for _, burst := range bursts {
			if len(burst) < 2 || len(burst) > limits.Burst {
				t.Fatalf("burst of %d deliveries, want 2 to %d", len(burst), limits.Burst)
			}
			events, subscriptions := map[app.EventID]bool{}, map[*Subscription]bool{}
			for _, c := range burst {
				events[c.Event], subscriptions[c.Subscription] = true, true
				if c.Class == Replay || !c.Subscription.Quick || c.Subscription.Healthy != burst[0].Subscription.Healthy {
					t.Fatalf("burst with %+v of %+v", c.Delivery, c.Subscription)
				}
				if c.Queue.Window.Limited() != burst[0].Queue.Window.Limited() {
					t.Fatalf("burst of queues with %+v and %+v, one of which has no limit", c.Queue.Window, burst[0].Queue.Window)
				}
			}
			if ids := len(events) + 2*len(subscriptions); ids > 52 {
				t.Fatalf("burst of %d deliveries to %d subscriptions: up to %d ids, want 52", len(burst),
					len(subscriptions), ids)
			}
		}
	})
}

// Beside bursts, replays get the rest of the capacity of the starters.
func TestReplaysBesideBursts(t *testing.T) {
	t.Parallel()
	facts := Facts{Queues: []Queue{{ID: "q", Subscriptions: []Subscription{
		healthy("s", [Classes][]Delivery{First: deliveries(0, 100), Replay: deliveries(500, 200)}),
	}}}}
	limits := unbounded(64)
	limits.Burst, limits.BurstBatch = 32, 512
	sizes, single := burstSizes(Decide(noon.Add(time.Second), facts, limits).Claims)
	if diff := gocmp.Diff([]int{32, 32, 32, 4}, sizes); diff != "" || single != 64-512/32 {
		t.Errorf("got %d replays, want 48; sizes of bursts (-want +got): %s", single, diff)
	}
}
