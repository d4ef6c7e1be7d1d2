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

// A plan that allows fewer starts than deliveries are waiting gives them to the oldest events, whatever the webhook,
// the number of webhooks and the size of the claims.
func TestScarceStartsGoToTheOldestEvents(t *testing.T) {
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
			enqueue(t, db, app.EventOrderCreated, 400, r.Stores[0])
			enqueue(t, db, app.EventOrderCancelled, 120/test.webhooks, r.Stores[1])
			enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
			claims := claimAll(t, db.Queue, noon, batches(test.batch))
			if len(claims) != 500 || !slices.IsSortedFunc(claims, func(a, b app.Claim) int {
				return compare(a.EventID, b.EventID)
			}) {
				t.Errorf("%d start, not in the order of their events", len(claims))
			}
			if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND event_id <= $1",
				claims[len(claims)-1].EventID); n >= test.webhooks {
				t.Errorf("%d older deliveries still wait", n)
			}
		})
	}
}

func compare[T ~string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A plan that allows all starts lets the webhooks take turns, as a plan without a limit does.
func TestWebhooksTakeTurnsWhileThePlanAllowsAll(t *testing.T) {
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
				t.Error(plan, diff)
			}
		}
	}
}

// kinds draws the claims of customer.* events as c, and others as o.
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

// An order that is placed after a flood of profile changes starts in the same window, even if the changes have been
// claimed for as long as nothing else was waiting.
func TestAnOrderStartsInTheWindowOfAFloodOfProfileChanges(t *testing.T) {
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
					t.Errorf("%d profile changes start alone, want four fifths of a window", len(claims))
				}
			}
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			now := noon.Add(30 * time.Minute)
			if claims := claimOnce(t, db.Queue, now, batches(10)); perSubscription(claims)[order] != 1 {
				t.Errorf("the order is not among the first ten starts: %s", kinds(claims))
			}
		})
	}
}

// While both wait, one of five consecutive starts of a window is for a customer.* event, counted over the claims of any
// size, and whether or not the plan allows all starts.
func TestOneOfFiveStartsIsForACustomerEvent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		webhooks, orders, customers, batch int
		both                               int // starts while both wait
	}{
		{1, 600, 600, 7, 500}, {1, 600, 600, 100_000, 500}, {3, 200, 200, 9, 500}, // scarce
		{1, 160, 100, 7, 200}, {3, 60, 40, 11, 225}, {1, 160, 100, 100_000, 200}, // not scarce
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
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
				t.Fatalf("%d start, want %d", len(drawn), want)
			}
			for i := 0; i < test.both; i += 5 {
				if drawn[i:i+5] != "ooooc" {
					t.Fatalf("starts from the %dth on: %s", i+1, drawn[i:i+5])
				}
			}
		})
	}
}

// Profile changes go on in each window. They leave the last fifth of it to others, and these leave them a fifth.
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
			t.Errorf("beside %d orders: %s", test.orders, diff)
		}
	}
}

// A plan without a limit does not tell customer.* events from others.
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
			t.Errorf("%d of %d starts are customer.* events", customers, len(claims))
		}
	}
}
