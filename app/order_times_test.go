package app

import (
	"testing"
	"time"
)

func TestOrderTimes(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	now := time.Date(2026, 11, 20, 17, 30, 0, 0, zone) // a Friday
	rules := OrderRules{
		Hours: Hours{
			Zone:     zone,
			Opening:  OpeningHours{FulfillmentDelivery: {"fri": {{"18:00", "02:00"}}, "sat": {{"18:00", "24:00"}}}},
			Closures: []Closure{{From: "2026-11-27", To: "2026-11-27"}},
		},
		PrepMinutes: map[FulfillmentType]int{FulfillmentDelivery: 45, FulfillmentPickup: 20}, LeadMinutes: 30, MaxDays: 8,
	}
	paused := rules
	paused.PausedUntil = now.Add(3 * time.Hour)
	for name, c := range map[string]struct {
		rules     OrderRules
		of        FulfillmentType
		requested string // "" = as soon as possible
		user      bool
		code      Code
		nextOpen  string
		promised  string
		due       string
	}{
		"always open": {rules: rules, of: FulfillmentPickup, promised: "11-20 17:50"},
		"closed": {
			rules: rules, of: FulfillmentDelivery, code: CodeStoreClosed, nextOpen: "11-20 18:00",
		},
		"closed, by a user": {rules: rules, of: FulfillmentDelivery, user: true, promised: "11-20 18:15"},
		"paused": {
			rules: paused, of: FulfillmentPickup, code: CodeStoreClosed, nextOpen: "11-20 20:30",
		},
		"paused and closed": {
			rules: paused, of: FulfillmentDelivery, code: CodeStoreClosed, nextOpen: "11-20 20:30",
		},
		"paused, by a user": {rules: paused, of: FulfillmentPickup, user: true, promised: "11-20 17:50"},
		"for the opening": {
			rules: rules, of: FulfillmentDelivery, requested: "11-20 18:00", promised: "11-20 18:00", due: "11-20 17:30",
		},
		"for later": {
			rules: rules, of: FulfillmentDelivery, requested: "11-21 01:30", promised: "11-21 01:30", due: "11-21 00:45",
		},
		"for the closing": {
			rules: rules, of: FulfillmentDelivery, requested: "11-21 02:00",
			code: CodeStoreClosed, nextOpen: "11-21 18:00",
		},
		"for a closed time": {
			rules: rules, of: FulfillmentDelivery, requested: "11-22 19:00",
			code: CodeStoreClosed, nextOpen: "11-28 18:00",
		},
		"for a closure": {
			rules: rules, of: FulfillmentPickup, requested: "11-27 12:00",
			code: CodeStoreClosed, nextOpen: "11-28 00:00",
		},
		"for a closure, user": {
			rules: rules, of: FulfillmentPickup, requested: "11-27 12:00", user: true,
			promised: "11-27 12:00", due: "11-27 11:40",
		},
		"in the pause": {
			rules: paused, of: FulfillmentPickup, requested: "11-20 20:29",
			code: CodeStoreClosed, nextOpen: "11-20 20:30",
		},
		"at the end of a pause": {
			rules: paused, of: FulfillmentPickup, requested: "11-20 20:30", promised: "11-20 20:30", due: "11-20 20:10",
		},
		"the lead": {
			rules: rules, of: FulfillmentPickup, requested: "11-20 18:00", promised: "11-20 18:00", due: "11-20 17:40",
		},
		"too soon": {
			rules: rules, of: FulfillmentPickup, requested: "11-20 17:59", code: CodeOutsideBookingWindow,
		},
		"too soon, by a user": {
			rules: rules, of: FulfillmentPickup, requested: "11-20 17:59", user: true, code: CodeOutsideBookingWindow,
		},
		"in the past, by a user": {
			rules: rules, of: FulfillmentPickup, requested: "11-20 17:00", user: true, code: CodeOutsideBookingWindow,
		},
		"the last day": {
			rules: rules, of: FulfillmentPickup, requested: "11-28 17:30", promised: "11-28 17:30", due: "11-28 17:10",
		},
		"too late": {
			rules: rules, of: FulfillmentPickup, requested: "11-28 17:31", code: CodeOutsideBookingWindow,
		},
		"no orders for later": {
			rules: OrderRules{Hours: Hours{Zone: zone}}, of: FulfillmentPickup, requested: "11-20 17:31",
			code: CodeOutsideBookingWindow,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := NewOrder{FulfillmentType: c.of, By: Actor{Realm: RealmAPIKey}}
			if c.user {
				in.By.Realm = RealmTenant
			}
			if c.requested != "" {
				at, err := time.ParseInLocation("2006-01-02 15:04", "2026-"+c.requested, zone)
				if err != nil {
					t.Fatal(err)
				}
				requested := At(at)
				in.RequestedFor = &requested
			}
			shown := func(at *Time) string {
				if at == nil || at.IsZero() {
					return ""
				}
				return at.In(zone).Format("01-02 15:04")
			}
			times, err := c.rules.Times(now, in)
			nextOpen := ""
			if refusal, ok := err.(*Error); ok && refusal.Code == CodeStoreClosed && len(refusal.Details) > 0 {
				at, parseErr := time.Parse(time.RFC3339, refusal.Details[0].Message)
				if parseErr != nil || refusal.Details[0].Path != "nextOpenAt" {
					t.Fatalf("got details %+v, want nextOpenAt and a time", refusal.Details)
				}
				nextOpen = at.In(zone).Format("01-02 15:04")
			}
			if CodeOf(err) != c.code || nextOpen != c.nextOpen {
				t.Fatalf("got error %v and next opening %q, want code %q and %q", err, nextOpen, c.code, c.nextOpen)
			}
			if shown(&times.PromisedAt) != c.promised || shown(times.DueAt) != c.due ||
				err == nil && shown(times.RequestedFor) != c.requested {
				t.Errorf("got requested %q, promised %q and due %q, want %q, %q and %q", shown(times.RequestedFor),
					shown(&times.PromisedAt), shown(times.DueAt), c.requested, c.promised, c.due)
			}
		})
	}
}

func TestPromisedTime(t *testing.T) {
	t.Parallel()
	placed := At(time.Date(2026, 11, 20, 17, 30, 0, 0, time.UTC))
	minutes := func(n int) *Time {
		at := At(placed.Add(time.Duration(n) * time.Minute))
		return &at
	}
	now := *minutes(5)
	asap := Order{Status: OrderReceived, Version: 3, CreatedAt: placed, PromisedAt: *minutes(20)}
	later := Order{
		Status: OrderReceived, Version: 3, CreatedAt: placed, RequestedFor: minutes(180), PromisedAt: *minutes(180),
		DueAt: minutes(150),
	}
	soon := Order{
		Status: OrderReceived, Version: 3, CreatedAt: placed, RequestedFor: minutes(10), PromisedAt: *minutes(10),
		DueAt: &placed,
	}
	for name, c := range map[string]struct {
		order         Order
		change        OrderStatusChange
		status        OrderStatus
		version       int64
		promised, due *Time
	}{
		"confirmed": {
			asap, OrderStatusChange{To: OrderConfirmed}, OrderConfirmed, 4, minutes(20), nil,
		},
		"with another promise": {
			asap, OrderStatusChange{To: OrderConfirmed, Promised: minutes(40)}, OrderConfirmed, 4, minutes(40), nil,
		},
		"another promise alone": {
			asap, OrderStatusChange{To: OrderReceived, Promised: minutes(40)}, OrderReceived, 4, minutes(40), nil,
		},
		"the same promise": {
			asap, OrderStatusChange{To: OrderReceived, Promised: minutes(20)}, OrderReceived, 3, minutes(20), nil,
		},
		"for later": {
			later,
			OrderStatusChange{To: OrderConfirmed, Promised: minutes(240)}, OrderConfirmed, 4, minutes(240), minutes(210),
		},
		"before it can be prepared": {
			later, OrderStatusChange{To: OrderConfirmed, Promised: minutes(10)}, OrderConfirmed, 4, minutes(10), &placed,
		},
		"for a time that was too soon to prepare it": {
			soon, OrderStatusChange{To: OrderConfirmed, Promised: minutes(45)}, OrderConfirmed, 4, minutes(45), minutes(15),
		},
	} {
		c.change.Prep = 30 * time.Minute
		moved, err := c.order.Moved(c.change, now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		equal := func(a, b *Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(b.Time) }
		if moved.Status != c.status || moved.Version != c.version || !moved.PromisedAt.Equal(c.promised.Time) ||
			!equal(moved.DueAt, c.due) {
			t.Errorf("%s: got %+v, want %+v", name, moved, c)
		}
	}
	back := OrderStatusChange{To: OrderConfirmed, Promised: minutes(40)}
	if _, err := (Order{Status: OrderReady}).Moved(back, now); CodeOf(err) != CodeInvalidTransition {
		t.Errorf("backwards with a promise: got %v, want INVALID_TRANSITION", err)
	}
}
