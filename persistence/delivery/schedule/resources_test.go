package schedule

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// of sets the resources of deliveries.
func of(queued []Delivery, resources ...string) []Delivery {
	for i := range queued {
		queued[i].Resource = resources[i%len(resources)]
	}
	return queued
}

// first returns a subscription with first deliveries.
func first(queued []Delivery) []Subscription {
	id := app.SubscriptionID("of " + queued[0].ID)
	return []Subscription{healthy(id, [Classes][]Delivery{First: queued})}
}

func TestResourcesStartOneAtATime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subscriptions []Subscription
		want          []string
	}{
		"without an order": {first(deliveries(0, 3)), []string{"dlv_0", "dlv_1", "dlv_2"}},
		"one resource":     {first(of(deliveries(0, 3), "a")), []string{"dlv_0"}},
		"two resources":    {first(of(deliveries(0, 4), "a", "b")), []string{"dlv_0", "dlv_1"}},
		"a replay and a first delivery": {[]Subscription{healthy("s", [Classes][]Delivery{
			First: of(deliveries(5, 1), "a"), Replay: of(deliveries(0, 2), "a"),
		})}, []string{"dlv_5"}},
		"two subscriptions": {
			append(first(of(deliveries(0, 2), "a")), first(of(deliveries(2, 2), "a"))...), []string{"dlv_0", "dlv_2"},
		},
	} {
		for _, burst := range []int{0, 32} {
			limits := unbounded(64)
			limits.Burst, limits.BurstBatch = burst, 512
			facts := Facts{Queues: []Queue{{ID: "q", Subscriptions: test.subscriptions}}}
			decision := Decide(noon.Add(time.Second), facts, limits)
			claimed := map[string]bool{}
			for _, c := range decision.Claims {
				claimed[string(c.ID)] = true
			}
			want := map[string]bool{}
			for _, id := range test.want {
				want[id] = true
			}
			if diff := gocmp.Diff(want, claimed); diff != "" {
				t.Errorf("%s, bursts of %d: claims (-want +got):\n%s", name, burst, diff)
			}
		}
	}
}

// For all facts, a decision starts at most one delivery of a resource of a subscription, and thus a burst contains at
// most one.
func TestDecisionsStartOneOfAResource(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts, limits := drawFacts(t), drawLimits(t)
		for _, q := range facts.Queues {
			for _, s := range q.Subscriptions {
				for _, class := range s.Queued {
					for i := range class {
						class[i].Resource = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "resource")
					}
				}
			}
		}
		started := map[string]app.DeliveryID{}
		for _, c := range Decide(noon.Add(time.Second), facts, limits).Claims {
			key := fmt.Sprint(c.Subscription.ID, " ", c.Resource)
			if other, twice := started[key]; twice && c.Resource != "" {
				t.Fatalf("%s and %s start, both of %s", other, c.ID, key)
			}
			started[key] = c.ID
		}
	})
}
