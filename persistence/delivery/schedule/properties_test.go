package schedule

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// drawSubscription draws a subscription with deliveries of events whose ids begin with the id.
func drawSubscription(t *rapid.T, id string) Subscription {
	s := Subscription{
		ID: app.SubscriptionID(id), Healthy: rapid.Bool().Draw(t, "healthy"), Quick: rapid.Bool().Draw(t, "quick"),
		Pending: rapid.IntRange(0, 20).Draw(t, "pending"), Responses: rapid.IntRange(0, 60).Draw(t, "responses"),
		Tie: rapid.Uint64().Draw(t, "tie"), Read: rapid.IntRange(1, 20).Draw(t, "read"),
	}
	s.Young = rapid.IntRange(0, s.Pending).Draw(t, "young")
	s.Prompt = rapid.IntRange(0, s.Responses).Draw(t, "prompt")
	for class := range s.Queued {
		at := rapid.IntRange(0, 100).Draw(t, "first event")
		for i := range rapid.IntRange(0, s.Read).Draw(t, "queued") {
			s.Queued[class] = append(s.Queued[class], Delivery{
				ID:    app.DeliveryID(fmt.Sprint(id, "/", class, "/", i)),
				Event: app.EventID(fmt.Sprintf("evt_%04d_%d", at, class)),
				Due:   noon.Add(time.Duration(at) * time.Millisecond),
			})
			at += rapid.IntRange(1, 9).Draw(t, "gap")
		}
	}
	return s
}

func drawFacts(t *rapid.T) (facts Facts) {
	for i := range rapid.IntRange(1, 5).Draw(t, "queues") {
		q := Queue{ID: rapid.SampledFrom([]string{fmt.Sprint("web_", i), fmt.Sprint("web/test:", i)}).Draw(t, "queue")}
		queued := 0
		for j := range rapid.IntRange(1, 5).Draw(t, "subscriptions") {
			s := drawSubscription(t, fmt.Sprint("whk_", i, "_", j))
			for _, class := range s.Queued {
				queued += len(class)
			}
			q.Subscriptions = append(q.Subscriptions, s)
		}
		if rapid.Bool().Draw(t, "limited") {
			q.Window = Window{Start: noon, Limit: rapid.IntRange(2, 100).Draw(t, "limit")}
			q.Window.Started = rapid.IntRange(0, q.Window.Limit-1).Draw(t, "started")
			q.Window.Replays = rapid.IntRange(0, min(q.Window.Started, q.Window.Limit/ReplayShare)).Draw(t, "replays")
			q.Scarce = queued > q.Window.Limit-q.Window.Started
		}
		facts.Queues = append(facts.Queues, q)
	}
	return facts
}

func drawLimits(t *rapid.T) Limits {
	limits := production
	limits.Batch = rapid.IntRange(0, 64).Draw(t, "batch")
	limits.SlowBatch = rapid.IntRange(0, 16).Draw(t, "slow batch")
	limits.Burst = rapid.SampledFrom([]int{0, 1, 2, 8, 32}).Draw(t, "burst")
	limits.BurstLeast = rapid.IntRange(0, 10).Draw(t, "burst least")
	limits.BurstAfter = time.Duration(rapid.IntRange(0, 1000).Draw(t, "burst after")) * time.Millisecond
	websites := rapid.SliceOfN(rapid.SampledFrom([]string{"web_0", "web_1", "web_2", "web/test"}), 0, 2)
	limits.Full, limits.Late = websites.Draw(t, "full"), websites.Draw(t, "late")
	return limits
}

// A decision keeps all limits: of windows, of replays, of subscriptions, of full and late websites, and of the claim.
// It claims no delivery twice and, of a subscription and class, always the oldest.
func TestDecisionsKeepLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, limits := drawFacts(t), drawLimits(t)
		decision := Decide(noon.Add(time.Second), facts, limits)
		started, replays := map[*Queue]int{}, map[*Queue]int{}
		claimed := map[*Subscription]*[Classes][]Delivery{}
		prompt := 0
		for _, c := range decision.Claims {
			started[c.Queue]++
			if c.Class == Replay {
				replays[c.Queue]++
			}
			if claimed[c.Subscription] == nil {
				claimed[c.Subscription] = &[Classes][]Delivery{}
			}
			of := &claimed[c.Subscription][c.Class]
			*of = append(*of, c.Delivery)
			if c.Subscription.prompt() {
				prompt++
			}
			full := slices.Contains(limits.Full, c.Queue.website()) && c.Subscription.prompt()
			late := slices.Contains(limits.Late, c.Queue.website()) && (c.Class == Replay || !c.Subscription.prompt())
			if full || late {
				t.Fatalf("%+v: got a claim of %s, class %d", limits, c.Subscription.ID, c.Class)
			}
		}
		for q, n := range started {
			if w := q.Window; w.Limited() && (w.Started+n > w.Limit || replays[q] > w.freeForReplays()) {
				t.Fatalf("%+v: got %d starts with %d replays", w, n, replays[q])
			}
		}
		for s, classes := range claimed {
			total := 0
			for class, of := range classes {
				total += len(of)
				slices.SortFunc(of, older)
				if !slices.Equal(s.Queued[class][:len(of)], of) {
					t.Fatalf("%s, class %d: got claims %v, want the oldest of %v", s.ID, class, of, s.Queued[class])
				}
			}
			if places := limits.places(s); total > places {
				t.Fatalf("%s: got %d claims, want at most %d", s.ID, total, places)
			}
		}
		most := max(limits.Batch, limits.BurstCapacity()) + max(1, limits.Batch)
		if prompt > most || len(decision.Claims)-prompt > limits.SlowBatch*(1+max(1, limits.Burst)) {
			t.Fatalf("%+v: got %d claims, %d of healthy, quick subscriptions", limits, len(decision.Claims), prompt)
		}
		if len(decision.Claims) == 0 && !decision.More {
			checkNothingMayStart(t, facts, limits)
		}
	})
}

// checkNothingMayStart checks that each class of each queue has used up its part of the window, or waits because its
// website is late.
func checkNothingMayStart(t *rapid.T, facts Facts, limits Limits) {
	for _, q := range facts.Queues {
		late := slices.Contains(limits.Late, q.website())
		for _, s := range q.Subscriptions {
			w := q.Window
			allowed := [Classes]int{w.Limit - w.Started, w.Limit - w.Limit/KindShare - w.Started, w.freeForReplays()}
			for class, of := range s.Queued {
				if late && (!s.prompt() || Class(class) == Replay) {
					continue
				}
				if len(of) > 0 && (!w.Limited() || allowed[class] > 0) {
					t.Fatalf("%s, class %d: got no claim and no more, want some of %d deliveries", s.ID, class, len(of))
				}
			}
		}
	}
}

// If starts are scarce, no delivery starts before an older one of its kind and class that has a place.
func TestScarceStartsAreTheOldest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts := drawFacts(t)
		for i := range facts.Queues {
			facts.Queues[i].Window.Limit = 100
			facts.Queues[i].Scarce = true
		}
		claimed := map[app.DeliveryID]bool{}
		newest := map[*Queue]*[Classes]Delivery{}
		for _, c := range Decide(noon, facts, unbounded(10_000)).Claims {
			claimed[c.ID] = true
			if newest[c.Queue] == nil {
				newest[c.Queue] = &[Classes]Delivery{}
			}
			if last := &newest[c.Queue][c.Class]; older(*last, c.Delivery) < 0 {
				*last = c.Delivery
			}
		}
		for q, last := range newest {
			for _, s := range q.Subscriptions {
				for class, of := range s.Queued {
					for _, d := range of {
						if !claimed[d.ID] && older(d, last[class]) < 0 {
							t.Fatalf("%s waits for newer %s", d.ID, last[class].ID)
						}
					}
				}
			}
		}
	})
}

// The order of the facts does not matter, only their turns and ties.
func TestDecisionIgnoresOrderOfFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, limits := drawFacts(t), drawLimits(t)
		ids := func(d Decision) (ids []app.DeliveryID) {
			for _, c := range d.Claims {
				ids = append(ids, c.ID)
			}
			return ids
		}
		want := ids(Decide(noon, facts, limits))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		shuffled := Facts{Queues: slices.Clone(facts.Queues)}
		random.Shuffle(len(shuffled.Queues), func(i, j int) {
			shuffled.Queues[i], shuffled.Queues[j] = shuffled.Queues[j], shuffled.Queues[i]
		})
		for i := range shuffled.Queues {
			q := &shuffled.Queues[i]
			q.Subscriptions = slices.Clone(q.Subscriptions)
			slices.SortFunc(q.Subscriptions, func(a, b Subscription) int { return cmp.Compare(b.ID, a.ID) })
		}
		if diff := gocmp.Diff(want, ids(Decide(noon, shuffled, limits))); diff != "" {
			t.Fatalf("claims (-want +got):\n%s", diff)
		}
	})
}

// Queues with enough deliveries get the same number of claims, and the others all that they may start.
func TestTurnsOfQueuesAreEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var facts Facts
		queued := map[string]int{}
		for i := range rapid.IntRange(1, 8).Draw(t, "queues") {
			q := Queue{ID: fmt.Sprint("web_", i)}
			for j := range rapid.IntRange(1, 6).Draw(t, "subscriptions") {
				n := rapid.IntRange(1, 30).Draw(t, "queued")
				queued[q.ID] += n
				id := app.SubscriptionID(fmt.Sprint(q.ID, "/", j))
				q.Subscriptions = append(q.Subscriptions, healthy(id, [Classes][]Delivery{First: deliveries(100*j, n)}))
			}
			facts.Queues = append(facts.Queues, q)
		}
		claims := perQueue(Decide(noon, facts, unbounded(rapid.IntRange(1, 100).Draw(t, "batch"))).Claims)
		most := 0
		for _, n := range claims {
			most = max(most, n)
		}
		for id, n := range queued {
			if claims[id] < min(n, most-1) {
				t.Fatalf("%s: got %d claims of %d deliveries, want at least %d", id, claims[id], n, min(n, most-1))
			}
		}
	})
}
