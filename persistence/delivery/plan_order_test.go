package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// If a plan allows fewer starts than there are queued deliveries, the deliveries of the oldest events
// start, regardless of the webhook, the number of webhooks and the size of the claims.
func TestScarceStartsPreferOldestEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ webhooks, batch int }{{1, 7}, {1, 100_000}, {60, 7}, {60, 64}} {
		t.Run(fmt.Sprintf("%d webhooks, batches of %d", test.webhooks, test.batch), func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			r.Subscribe(t, db, 0, app.EventOrderCreated) // one webhook has the oldest events
			for range test.webhooks {
				r.Subscribe(t, db, 1, app.EventOrderCancelled)
			}
			emitSeveral(t, db, noon, app.EventOrderCreated, 400, r.Stores[0])
			emitSeveral(t, db, noon.Add(time.Second), app.EventOrderCancelled, 120/test.webhooks, r.Stores[1])
			emitSeveral(t, db, noon.Add(2*time.Second), app.EventOrderCreated, 100, r.Stores[0])
			enqueue(t, db, app.EventOrderCreated, 0, r.Stores...)
			claims := claimAll(t, db.Queue, noon, batches(test.batch))
			if len(claims) != 500 || !slices.IsSortedFunc(claims, func(a, b app.Claim) int {
				return compare(a.EventID, b.EventID)
			}) {
				t.Errorf("claims: got %d, want 500 in the order of their events", len(claims))
			}
			if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND event_id <= $1",
				claims[len(claims)-1].EventID); n >= test.webhooks {
				t.Errorf("queued deliveries of older events: got %d, want fewer than %d", n, test.webhooks)
			}
		})
	}
}

// If a plan allows all starts, or has no limit, the webhooks take turns.
func TestWebhooksTakeTurnsWithinPlan(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanStarter, app.PlanEnterprise} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		busy, quiet := r.Subscribe(t, db, 0, app.EventOrderCreated).ID, r.Subscribe(t, db, 1, app.EventOrderCreated).ID
		setPlan(t, db, noon, r.Website, plan)
		enqueue(t, db, app.EventOrderCreated, 400, r.Stores[0])
		enqueue(t, db, app.EventOrderCreated, 20, r.Stores[1])
		want := map[app.SubscriptionID]int{busy: 5, quiet: 5}
		for range 4 {
			if diff := cmp.Diff(want, perSubscription(claimOnce(t, db.Queue, noon, batches(10)))); diff != "" {
				t.Errorf("%s: claims by subscription (-want +got): %s", plan, diff)
			}
		}
	}
}

// kinds returns a letter for each claim: c for a customer.* event, o for another event.
func kinds(claims []app.Claim) string {
	drawn := make([]byte, len(claims))
	for i, c := range claims {
		drawn[i] = 'o'
		if c.EventType == app.EventCustomerUpdated {
			drawn[i] = 'c'
		}
	}
	return string(drawn)
}

// An order after a flood of profile changes starts in the same window, even if only profile changes
// were queued and claimed before.
func TestOrderStartsDespiteProfileChanges(t *testing.T) {
	t.Parallel()
	for name, claimedBefore := range map[string]bool{"waiting": false, "claimed meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			order := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			r.Subscribe(t, db, 0, app.EventCustomerUpdated)
			r.Subscribe(t, db, 1, app.EventCustomerUpdated, app.EventOrderCreated)
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			enqueue(t, db, app.EventCustomerUpdated, 3_000, r.Stores...)
			if claimedBefore {
				if claims := claimAll(t, db.Queue, noon, batches(50)); len(claims) != 400 {
					t.Errorf("claims of profile changes only: got %d, want 400 of 500", len(claims))
				}
			}
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			now := noon.Add(30 * time.Minute)
			if claims := claimOnce(t, db.Queue, now, batches(10)); perSubscription(claims)[order] != 1 {
				t.Errorf("first ten claims: got %s, want the order among them", kinds(claims))
			}
		})
	}
}

// While both kinds are queued, one of five consecutive starts of a window is for a customer.* event,
// regardless of the size of the claims, and also if the plan allows all starts.
func TestOneOfFiveStartsIsForCustomerEvent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		webhooks, orders, customers, batch int
		both                               int // starts while both kinds are queued
	}{
		{1, 600, 600, 7, 500}, {1, 600, 600, 100_000, 500}, {3, 200, 200, 9, 500}, // scarce
		{1, 160, 100, 7, 200}, {3, 60, 40, 11, 225}, {1, 160, 100, 100_000, 200}, // not scarce
	} {
		name := fmt.Sprintf("%d webhooks, %d orders, %d customers, batches of %d", test.webhooks, test.orders,
			test.customers, test.batch)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			for range test.webhooks {
				r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
			}
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			enqueue(t, db, app.EventCustomerUpdated, test.customers, r.Stores[0])
			enqueue(t, db, app.EventOrderCreated, test.orders, r.Stores[0])
			drawn := kinds(claimAll(t, db.Queue, noon, batches(test.batch)))
			if want := min(500, test.webhooks*(test.orders+test.customers)); len(drawn) != want {
				t.Fatalf("claims: got %d, want %d", len(drawn), want)
			}
			for i := 0; i < test.both; i += 5 {
				if drawn[i:i+5] != "ooooc" {
					t.Fatalf("claims %d to %d: got %s, want ooooc", i+1, i+5, drawn[i:i+5])
				}
			}
		})
	}
}

// Profile changes start in each window. They leave a fifth of the window to other events, which leave
// them a fifth.
func TestCustomerEventsDoNotStarve(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		orders int   // in each window
		want   []int // starts of 1,000 customer.* events
	}{{0, []int{400, 400, 200}}, {600, []int{100, 100, 100}}, {300, []int{100, 100, 100}}, {50, []int{350, 350, 300}}} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
		setPlan(t, db, noon, r.Website, app.PlanStarter)
		enqueue(t, db, app.EventCustomerUpdated, 1_000, r.Stores[0])
		var got []int
		for hour := range test.want {
			enqueue(t, db, app.EventOrderCreated, test.orders, r.Stores[0])
			claims := claimAll(t, db.Queue, noon.Add(time.Duration(hour)*time.Hour), batches(64))
			got = append(got, len(slices.DeleteFunc(claims, func(c app.Claim) bool {
				return c.EventType != app.EventCustomerUpdated
			})))
			deliver(t, db)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("starts of customer.* events by window, with %d orders (-want +got): %s", test.orders, diff)
		}
	}
}

// A plan without a limit treats customer.* events like other events.
func TestCustomerEventsTakeTurnsWithoutLimit(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
	enqueue(t, db, app.EventCustomerUpdated, 100, r.Stores[0])
	enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
	for range 5 {
		claims := claimOnce(t, db.Queue, noon, batches(20))
		customers := 0
		for _, c := range claims {
			customers += toInt(c.EventType == app.EventCustomerUpdated)
		}
		if len(claims) != 20 || customers != 10 {
			t.Errorf("claims: got %d with %d customer.* events, want 20 with 10", len(claims), customers)
		}
	}
}
