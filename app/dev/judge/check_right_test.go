package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

// rightBook writes a run of two websites: orders are placed, paid, refunded and cancelled, and delivered with retries,
// replays, a deleted webhook and one that was inactive for a time.
func rightBook() *book {
	b := newBook()
	b.open("a")
	b.open("b")
	b.dispatch(b.event("e-menu", "a", "product.created", "p1", `{"version":1,"priceMinor":550,"orderable":true}`))
	b.s.Menu = []productRow{{ID: "p1", Store: "st_a", PriceMinor: 550, Available: true}}
	b.s.Menu = append(b.s.Menu, productRow{ID: "p9", Store: "st_a", PriceMinor: 550, DeletedAt: &noon, Available: true})
	b.dispatch(b.event("e-deleted", "a", "product.updated", "p9",
		`{"version":2,"priceMinor":550,"deletedAt":"2026-11-28T12:00:00Z"}`))
	b.dispatch(b.event("e-guest", "a", "customer.created", "c-a", `{"id":"c-a","version":1,"email":"new@example.com"}`))
	b.dispatch(b.event("e-other-guest", "b", "customer.created", "c-b", `{"id":"c-b","version":1}`))
	b.dispatch(b.event("e-reserved", "a", "reservation.created", "r1", `{"id":"r1","version":1,"status":"PENDING"}`))
	b.did(operation{planned: planned{Site: "a", Kind: "reserve"}, Subject: "r1"})
	b.keyed(b.s.Events["e-reserved"].logged, "7-1")
	b.s.Booked = []reservationRow{{ID: "r1", Status: "PENDING", Version: 1}}
	b.webhook("w1", "a", "resource", nil)
	b.webhook("w2", "a", "none", func(w *webhookRow) { w.Events = []string{"order.created"} })
	b.webhook("w3", "b", "none", nil)
	b.s.Stocks["p1"] = []productRow{{logged: b.tx(), ID: "p1", Store: "st_a", Stock: new(int64(10))}}

	first := b.place("o1", "a", 1)
	b.dispatch(first, "w1", "w2")
	second := b.place("o2", "a", 2)
	paid := b.pay("o1")
	moved := b.event("e-completed", "a", "order.completed", "o1", `{"id":"o1","version":3,"totalMinor":1000}`)
	b.s.Changes = append(b.s.Changes, changeRow{
		logged: moved.logged, Order: "o1", Version: 3, From: new("RECEIVED"), Event: moved.ID,
	})
	refunded := b.refund("o1")
	b.dispatch(second, "w1", "w2")
	for _, e := range []*eventRow{paid, moved, refunded} {
		b.dispatch(e, "w1")
	}
	b.deliver("e-o1/w1", 500, 204)
	b.did(operation{
		planned: planned{Site: "a", Kind: "retry delivery"}, Subject: "e-o1/w1", Webhook: "w1", Attempts: 1,
		Attempt: "e-o1/w1/2",
	})
	b.deliver("e-paid/w1", 204)
	b.bulk("bulk", "w1", "running")
	b.deliver("e-completed/w1", 204)
	b.deliver("e-refunded/w1", 500, 500, 500)
	b.deliver("e-o2/w1", 204)
	b.deliver("e-o1/w2", 500, 500, 500)
	b.deliver("e-o2/w2", 204)
	b.replay("e-o1/w2", "")
	b.did(operation{planned: planned{Site: "a", Kind: "replay delivery"}, Subject: "e-o1/w2", Webhook: "w2"})
	b.deliver("e-o1/w2", 204)
	b.replay("e-o1/w1", "bulk")
	b.replay("e-paid/w1", "bulk")
	b.bulk("bulk", "w1", "completed")
	b.s.Replays = []replayRow{{ID: "bulk", Store: "st_a", Status: "completed", Matched: 2, Replayed: 2}}
	b.deliver("e-o1/w1", 204)
	b.deliver("e-paid/w1", 204)

	b.redeem("o2")
	cancelled := b.cancel("o2")
	b.dispatch(cancelled, "w1")
	b.deliver("e-cancelled/w1", 204)
	b.webhook("w2", "a", "none", func(w *webhookRow) { w.Active = false })
	b.did(operation{planned: planned{Site: "a", Kind: "switch webhook off"}, Webhook: "w2"})
	other := b.place("o3", "b", 1)
	b.dispatch(other, "w3")
	b.deliver("e-o3/w3", 204)
	ping := b.event("e-ping", "b", testPing, "", `{"webhookId":"w3"}`)
	b.s.Deliveries["ping"] = deliveryRow{Event: ping.ID, Webhook: "w3", Store: "st_b"} // for the request only
	b.post("ping", 204)
	delete(b.s.Deliveries, "ping")
	b.s.Tests = []attemptRow{{ID: "t1", Store: "st_b", Webhook: "w3", Event: ping.ID, Number: 1, StatusCode: 204}}
	last := &b.h.Requests[len(b.h.Requests)-1]
	last.Header.Del("X-Webhook-Position")
	queued := b.event("e-product", "b", "product.created", "p2", `{"id":"p2","version":1}`)
	b.dispatch(queued, "w3")
	b.webhook("w3", "b", "none", func(w *webhookRow) { w.DeletedAt = new(noon) })
	b.did(operation{planned: planned{Site: "b", Kind: "delete webhook"}, Webhook: "w3"})
	b.change("e-product/w3", func(d *deliveryRow) { d.Status, d.Reason = "cancelled", app.ReasonDeleted })
	b.s.Addresses["add1"] = addressRow{ID: "add1", Customer: "c-a"}
	b.did(operation{planned: planned{Site: "a", Kind: "add address"}, Subject: "add1", Detail: "c-a"})
	b.did(operation{planned: planned{Site: "a", Kind: "change email"}, Subject: "c-a", Detail: "new@example.com"})
	b.did(operation{planned: planned{Site: "a", Kind: "delete product"}, Subject: "p9"})
	b.s.Mails = []mailRow{
		{ID: "m1", Store: "st_a", Subject: "inv1", Status: "sent", CreatedAt: b.at, EndedAt: &b.at},
		{ID: "m2", Store: "st_b", Subject: "inv2", Status: "obsolete", Reason: "replaced"},
	}
	b.s.Invited, b.h.Mails = map[string]string{"inv1": stranger, "inv2": stranger}, []string{"m1"}
	b.did(operation{planned: planned{Site: "a", Kind: "invite"}, Subject: "inv1"})
	b.s.Inserted = map[string]logged{"inv1": b.tx()}
	b.keyed(b.s.Inserted["inv1"], fmt.Sprintf("7-%d", len(b.h.Operations)))
	b.s.Products = []productSalesRow{
		{Store: "st_a", Day: "2026-11-28", Product: "p1", Currency: "EUR", Quantity: 2, NetMinor: 1000},
		{Store: "st_b", Day: "2026-11-28", Product: "p1", Currency: "EUR", Quantity: 2, NetMinor: 1000},
	}
	b.h.CashUps = map[string][]comanda.PaymentSum{"b": nil, "a": {{
		BusinessDate: "2026-11-28", Provider: "STRIPE", PaymentMethod: "card", Currency: "EUR", Payments: 1,
		PaymentsMinor: 1000, TipsMinor: 150, Refunds: 1, RefundsMinor: 300,
	}}}
	b.h.End = b.at
	b.h.Watchings = []watching{{Site: "a", Begin: noon, End: b.at.Add(time.Hour), Shown: []shownOrder{
		{b.at, "o1", 1}, {b.at, "o2", 1}, {b.at, "o1", 3}, {b.at, "o2", 2},
	}}}
	return b
}

// place places an order of two units of 500, with the operation and its key.
func (b *book) place(id, site string, number int64) *eventRow {
	e := b.event("e-"+id, site, "order.created", id, fmt.Sprintf(`{"id":%q,"version":1,"totalMinor":1000}`, id))
	store, customer := "st_"+site, "c-"+site
	b.s.Changes = append(b.s.Changes, changeRow{logged: e.logged, Order: id, Version: 1, Event: e.ID})
	b.did(operation{planned: planned{Site: site, Kind: "place order"}, Order: id, Version: 1, Amount: 1000})
	key := fmt.Sprintf("7-%d", len(b.h.Operations))
	b.s.Keys = append(b.s.Keys, keyRow{logged: e.logged, Store: store, Key: key})
	o := orderRow{
		ID: id, Store: store, Number: number, Status: "RECEIVED", Customer: &customer, Fulfillment: "PICKUP",
		Day: "2026-11-28", Currency: "EUR", ItemCount: 2, SubtotalMinor: 1100, DiscountMinor: 100, TotalMinor: 1000,
		Version: 1,
	}
	b.s.Orders[id] = o
	b.s.Items = append(b.s.Items, itemRow{Order: id, Product: "p1", Quantity: 2, TotalMinor: 1100, DiscountMinor: 100})
	if site == "a" {
		b.s.Items[len(b.s.Items)-1].StockTaken = 2
		b.stock(e.logged, -2)
	}
	for i, n := range b.s.Numbers {
		if n.Store == store {
			b.s.Numbers[i].Last = number
			number = 0
		}
	}
	if number > 0 {
		b.s.Numbers = append(b.s.Numbers, numberRow{store, number})
	}
	c := b.s.Customers[customer]
	b.s.Customers[customer] = customerRow{
		ID: customer, Store: store, Kind: "guest", TotalOrders: c.TotalOrders + 1, Version: 1,
	}
	b.s.Sales = append(b.s.Sales, salesRow{
		Store: store, Day: o.Day, Fulfillment: "PICKUP", Currency: "EUR", Orders: 1, GuestOrders: 1, GrossMinor: 1100,
		DiscountMinor: 100, ItemsSold: 2,
	})
	b.s.CustomerDay = append(b.s.CustomerDay, customerDayRow{Customer: customer, Day: o.Day, Orders: 1})
	return e
}

// stock changes the stock in a transaction.
func (b *book) stock(l logged, by int64) {
	list := b.s.Stocks["p1"]
	left := *list[len(list)-1].Stock + by
	b.s.Stocks["p1"] = append(list, productRow{logged: l, ID: "p1", Store: "st_a", Stock: &left})
}

// pay pays an order with a tip, and completes it.
func (b *book) pay(order string) *eventRow {
	e := b.event("e-paid", "a", "payment.succeeded", order, `{"paymentId":"pay","amountMinor":1200}`)
	b.s.Payments["pay"] = paymentRow{
		ID: "pay", Store: "st_a", Order: order, Status: "SUCCEEDED", AmountMinor: 1200, TipMinor: 200, RefundedMinor: 300,
		RefundedTip: 50, Provider: "STRIPE", Method: "card", CreatedAt: e.At,
	}
	b.did(operation{planned: planned{Site: "a", Kind: "pay order"}, Order: order, Subject: "pay", Amount: 1200})
	return e
}

// refund refunds a part of the payment.
func (b *book) refund(order string) *eventRow {
	e := b.event("e-refunded", "a", "payment.refunded", order,
		`{"paymentId":"pay","refundId":"ref","amountMinor":350}`)
	b.s.Refunds["ref"] = refundRow{
		ID: "ref", Payment: "pay", Order: order, AmountMinor: 350, TipMinor: 50, CreatedAt: e.At,
	}
	o := b.s.Orders[order]
	o.Status, o.PaidMinor, o.RefundedMinor, o.CompensatedMinor, o.Version = "COMPLETED", 1000, 300, 300, 4
	b.s.Orders[order] = o
	b.s.Loyalty = append(b.s.Loyalty, loyaltyRow{Customer: "c-a", Order: order, Kind: "EARNED", Points: 10},
		loyaltyRow{Customer: "c-a", Order: order, Kind: "REVERSED", Points: -3, Refund: new("ref")})
	c := b.s.Customers["c-a"]
	c.LoyaltyPoints = 7
	b.s.Customers["c-a"] = c
	b.did(operation{planned: planned{Site: "a", Kind: "refund"}, Order: order, Subject: "ref", Amount: 350})
	return e
}

// redeem makes an order one whose discount is the worth of points, which its cancellation returns.
func (b *book) redeem(order string) {
	b.order(order, func(o *orderRow) { o.DiscountMinor, o.LoyaltyMinor, o.LoyaltyPoints = 0, 100, 50 })
	b.s.Loyalty = append(b.s.Loyalty, loyaltyRow{Customer: "c-a", Order: order, Kind: "REDEEMED", Points: -50},
		loyaltyRow{Customer: "c-a", Order: order, Kind: "RETURNED", Points: 50})
}

// cancel cancels an order.
func (b *book) cancel(order string) *eventRow {
	e := b.event("e-cancelled", "a", "order.cancelled", order, `{"id":"o2","version":2,"totalMinor":1000}`)
	b.s.Changes = append(b.s.Changes, changeRow{
		logged: e.logged, Order: order, Version: 2, From: new("RECEIVED"), Event: e.ID,
	})
	b.stock(e.logged, 2)
	o := b.s.Orders[order]
	o.Status, o.Version = "CANCELLED", 2
	b.s.Orders[order] = o
	c := b.s.Customers["c-a"]
	c.TotalOrders--
	b.s.Customers["c-a"] = c
	b.s.Sales[1] = salesRow{
		Store: o.Store, Day: o.Day, Fulfillment: "PICKUP", Currency: "EUR", CancelledOrders: 1,
	}
	b.s.CustomerDay[1].Orders = 0
	b.did(operation{planned: planned{Site: "a", Kind: "cancel order"}, Order: order, Version: 2})
	return e
}

// TestCheckersAreSilent checks that no checker finds a violation in a right run.
func TestCheckersAreSilent(t *testing.T) {
	t.Parallel()
	b := rightBook()
	for _, c := range checkers {
		for _, v := range c.check(b.h, b.s) {
			t.Errorf("%s: got %+v, want none", c.name, v)
		}
	}
	if n := duplicates(b.h, b.s); n != 0 {
		t.Errorf("duplicates: got %d, want 0", n)
	}
}

// covered makes an order one that its points cover, with a refunded payment by mistake.
func covered(o *orderRow) { o.Status, o.TotalMinor, o.PaidMinor, o.RefundedMinor = "RECEIVED", 0, 5, 5 }

// TestRightRedemptions checks that points that cover an order stay taken when a payment by mistake is refunded, and
// that an order that is paid after a refund of everything takes its points again, or those that the customer has.
func TestRightRedemptions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*book){
		"covered": func(b *book) {
			b.loseEntry("RETURNED")
			b.order("o2", covered)
		},
		"paid again": func(b *book) {
			b.order("o2", func(o *orderRow) {
				o.Status, o.PaidMinor, o.RefundedMinor, o.CompensatedMinor = "RECEIVED", 2000, 1000, 1000
			})
			b.s.Loyalty = append(b.s.Loyalty, loyaltyRow{Customer: "c-a", Order: "o2", Kind: "REDEEMED", Points: -30})
		},
	} {
		b := rightBook()
		change(b)
		if found := checkRedemptions(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestReplayOfAnUnattemptedDelivery checks that a delivery that ended without an attempt may arrive after the next one
// of its resource: only a replay makes its first request.
func TestReplayOfAnUnattemptedDelivery(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.open("a")
	b.webhook("w1", "a", "resource", nil)
	for _, id := range []string{"e1", "e2"} {
		b.dispatch(b.event(id, "a", "order.updated", "o1", "{}"), "w1")
	}
	b.change("e1/w1", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
	b.deliver("e2/w1", 204)
	b.replay("e1/w1", "")
	b.deliver("e1/w1", 204)
	if found := checkArrivals(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}

// TestRecordOfARequeuedReplay checks that a replay that was claimed, and queued again while its workflow ran, may be
// recorded as what it became, and that one that was never claimed may not.
func TestRecordOfARequeuedReplay(t *testing.T) {
	t.Parallel()
	for claimed, want := range map[bool]int{true: 0, false: 1} {
		b := rightBook()
		b.replay("e-o2/w1", "")
		if claimed {
			b.claim("e-o2/w1")
			b.change("e-o2/w1", func(d *deliveryRow) { d.Status = "queued" })
		}
		b.attempt("e-o2/w1", 204)
		if found := checkSteps(b.h, b.s); len(found) != want {
			t.Errorf("claimed: %t: got %+v, want %d violations", claimed, found, want)
		}
	}
}

// TestInterruptedAttempt checks that an attempt may be repeated if it was in flight at a fault or its record was
// missing, and that a fault at the repetition is none at the attempt. The last request of a delivery may lack a record
// if the delivery ended without a further attempt.
func TestInterruptedAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begin, end time.Duration // of the fault, from the arrival of the first request
		again      time.Duration // from there to the repetition; 0 = none
		reason     string        // for which the delivery ends without a further attempt
		want       int
	}{
		"killed during the request":             {begin: 2 * time.Second, end: 5 * time.Second, again: 12 * time.Second},
		"killed before the record":              {begin: 7 * time.Second, end: 9 * time.Second, again: 17 * time.Second},
		"suspended for longer than the timeout": {begin: time.Second, end: time.Minute, again: 9 * time.Second},
		"no record, because of a fault before":  {begin: -10 * time.Second, end: -time.Second, again: 9 * time.Second},
		"a fault at the repetition":             {begin: time.Minute, end: 2 * time.Minute, again: time.Minute, want: 1},
		"a fault between":                       {begin: time.Minute, end: 2 * time.Minute, again: time.Hour, want: 1},
		"inactive after the request":            {begin: time.Second, end: time.Minute, reason: app.ReasonInactive},
		"inactive long before the fault":        {begin: time.Minute, end: time.Hour, reason: app.ReasonInactive, want: 1},
		"inactive after an interrupted repetition": {
			begin: time.Hour, end: 2 * time.Hour, again: time.Hour, reason: app.ReasonInactive,
		},
	} {
		b := rightBook()
		first := &b.h.Requests[b.of("e-o2/w1")[0]]
		first.Answered = first.At.Add(3 * time.Second)
		b.h.addDisturbance(disturbance{Begin: first.At.Add(test.begin), End: first.At.Add(test.end)})
		if test.reason != "" {
			b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", test.reason })
		}
		if test.again != 0 {
			b.h.Requests = append(b.h.Requests, *first)
			last := &b.h.Requests[len(b.h.Requests)-1]
			last.At, last.Answered = last.At.Add(test.again), last.Answered.Add(test.again)
		} else {
			b.s.Attempts["e-o2/w1"] = nil
		}
		if found := checkDuplicates(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestLateArrival checks that the response to a request that arrived late may be missing in the record of an attempt
// that timed out, and not if the request arrived in time.
func TestLateArrival(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]int{deliveryTimeout: 0, deliveryTimeout / 2: 1} {
		b := rightBook()
		first := &b.h.Requests[b.of("e-o1/w1")[0]]
		first.Status = 204
		failed := &b.s.Attempts["e-o1/w1"][0]
		failed.StatusCode, failed.At = 0, first.At.Add(-took)
		if found := checkAttempts(b.h, b.s); len(found) != want {
			t.Errorf("%s: got %+v, want %d violations", took, found, want)
		}
	}
}

// TestSuspendedSender checks that a response which was sent after the timeout may be recorded if the worker was
// suspended, and may be missing in any case.
func TestSuspendedSender(t *testing.T) {
	t.Parallel()
	for _, recorded := range []int{0, 204} {
		b := rightBook()
		places := b.of("e-o1/w1")
		r := &b.h.Requests[places[0]]
		r.Status, r.Answered = 204, r.At.Add(tooLate)
		b.s.Attempts["e-o1/w1"][0].StatusCode = recorded
		if recorded != 0 {
			b.h.addDisturbance(disturbance{Fault: "suspend-worker", Begin: r.At, End: r.At.Add(time.Minute)})
		}
		if found := checkAttempts(b.h, b.s); len(found) > 0 {
			t.Errorf("%d is recorded: got %+v, want none", recorded, found)
		}
	}
}

// TestRepeatedMail checks that a mail may arrive again at a fault before its end, also by a clock that differs, and a
// mail that became obsolete as often as there are faults.
func TestRepeatedMail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mail, fault string
		begin       time.Duration // of the fault, from the creation of the mail
		want        int
	}{
		"at a fault":                 {"m1", "kill-worker", time.Second, 0},
		"at a fault of an API":       {"m1", "kill-serve", time.Second, 1},
		"at a later fault":           {"m1", "kill-worker", time.Minute, 1},
		"a clock is ahead":           {"m1", "clock-worker", time.Minute, 0},
		"obsolete after an attempt":  {"m2", "kill-worker", time.Second, 0},
		"obsolete without a failure": {"m2", "kill-worker", time.Hour, 1},
	} {
		b := rightBook()
		b.h.End = b.at.Add(10 * time.Minute)
		for i := range b.s.Mails {
			b.s.Mails[i].CreatedAt, b.s.Mails[i].EndedAt = b.at, new(b.at.Add(2*time.Second))
		}
		b.h.Mails = append(b.h.Mails, test.mail)
		begin := b.at.Add(test.begin)
		b.h.addDisturbance(disturbance{
			Fault: test.fault, Gentle: slices.Contains(gentle, test.fault), Begin: begin, End: begin.Add(time.Second),
		})
		if found := checkMails(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestCountStarts checks that a burst that a relay takes over in a later window is one start of that window, and none
// if it ends without an attempt. One that is queued again is a start once its attempt is recorded.
func TestCountStarts(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	run := []deliveryRow{
		{Status: "queued"}, {Status: "pending", CountedIn: &noon}, {Status: "pending", CountedIn: &later},
	}
	counted := map[window]*counts{}
	s := newBook().s
	n := s.countStarts(counted, run)
	here, moved := counted[window{starts: noon.UnixNano()}].started, counted[window{starts: later.UnixNano()}].started
	if n != 1 || here != 0 || moved != 1 {
		t.Errorf("taken over: got %d starts, %d in the earlier and %d in the later window, want 1, 0 and 1", n, here, moved)
	}
	counted = map[window]*counts{}
	n = s.countStarts(counted, append(run, deliveryRow{Status: "cancelled", CountedIn: &later}))
	if left := counted[window{starts: later.UnixNano()}].started; n != 0 || left != 0 {
		t.Errorf("cancelled: got %d starts, %d in the later window, want none", n, left)
	}
	counted = map[window]*counts{}
	n = s.countStarts(counted, append(run, deliveryRow{Status: "queued", CountedIn: &later},
		deliveryRow{Status: "delivered", CountedIn: &later, Attempts: 1}))
	if again := counted[window{starts: later.UnixNano()}]; n != 1 || again.started != 1 || again.late != 1 {
		t.Errorf("recorded late: got %d starts, %+v in the later window, want one", n, again)
	}
}

// TestClaimBesideChange checks that a claim may begin before a webhook is switched off and be logged after it: before
// the change is committed, shortly after it, and at a fault later. A claim that sees a later activation is right, too.
func TestClaimBesideChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(b *book)
		want   int
	}{
		"long after": {func(b *book) {}, 1},
		"before the commit": {func(b *book) {
			claim := &b.s.Steps["e-product/w3"][1]
			claim.Seen.running = []uint64{b.s.Webhooks["w3"][1].XID}
			claim.Seen.least = claim.Seen.running[0]
		}, 0},
		"shortly after": {func(b *book) { b.s.Webhooks["w3"][1].At = b.at.Add(-claimTime) }, 0},
		"at a fault": {func(b *book) {
			b.h.addDisturbance(disturbance{Begin: noon, End: b.at.Add(-aftermath / 2)})
		}, 0},
		"of an active webhook": {func(b *book) {
			again := b.s.Webhooks["w3"][0]
			again.XID = b.s.Webhooks["w3"][1].XID
			b.s.Webhooks["w3"] = append(b.s.Webhooks["w3"], again)
		}, 0},
	} {
		b := rightBook()
		b.at = b.at.Add(time.Minute)
		b.s.Steps["e-product/w3"] = b.s.Steps["e-product/w3"][:1]
		b.s.Deliveries["e-product/w3"] = b.s.Steps["e-product/w3"][0]
		b.claim("e-product/w3")
		test.change(b)
		if found := checkSteps(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestEndOfInactiveWebhook checks that a run may end with its webhook inactive if the webhook was inactive at a moment
// of the run: when it was queued, later, or in lost time.
func TestEndOfInactiveWebhook(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(b *book, queue func()){
		"reactivated after the queue": func(b *book, queue func()) {
			queue()
			b.webhook("w2", "a", "none", nil)
		},
		"inactive for a moment": func(b *book, queue func()) {
			b.webhook("w2", "a", "none", nil)
			queue()
			b.webhook("w2", "a", "none", func(w *webhookRow) { w.Active = false })
			b.webhook("w2", "a", "none", nil)
		},
		"in lost time": func(b *book, queue func()) {
			b.webhook("w2", "a", "none", nil)
			queue()
			b.s.Losses = []loss{{Comanda: true, Begin: b.at, End: b.at.Add(time.Second)}}
		},
	} {
		b := rightBook()
		between(b, func() { b.replay("e-o2/w2", "") })
		b.change("e-o2/w2", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
		if found := checkEnds(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestDelayedRequest checks that a fault around a request may delay it until its webhook is deleted.
func TestDelayedRequest(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.later("e-o3/w3")
	b.h.addDisturbance(disturbance{Begin: noon.Add(58 * time.Minute), End: noon.Add(time.Hour - aftermath)})
	if found := checkSilence(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}

// TestIntrusion checks that a request may arrive between those of another delivery at a fault, after a loss, to a
// webhook that was not always ordered, and if a further request was not recorded.
func TestIntrusion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *book){
		"fault": func(b *book) { b.h.addDisturbance(disturbance{Begin: noon.Add(-time.Minute), End: noon}) },
		"loss": func(b *book) {
			b.h.addDisturbance(disturbance{
				Fault: "empty-temporal", Begin: noon.Add(-recovery), End: noon.Add(-recovery / 2),
			})
		},
		"order": func(b *book) {
			before := b.s.Webhooks["w1"][0]
			before.Ordering = "none"
			b.s.Webhooks["w1"] = append([]webhookRow{before}, b.s.Webhooks["w1"]...)
		},
		"unrecorded": func(b *book) { b.post("e-o1/w1", 0) },
	} {
		b := rightBook()
		b.intrude()
		if len(checkTurns(b.h, b.s)) == 0 {
			t.Fatal("got no violation, want one")
		}
		change(b)
		if found := checkTurns(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestUnknownAdjustment checks that an adjustment of a stock without a response may be made or not.
func TestUnknownAdjustment(t *testing.T) {
	t.Parallel()
	for _, made := range []int64{5, 12} {
		b := rightBook()
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 5})
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 7, Result: unknown})
		b.stock(b.tx(), made)
		if found := checkStock(b.h, b.s); len(found) > 0 {
			t.Errorf("%d: got %+v, want none", made, found)
		}
	}
}

// TestChangedWebhook checks that the version of a response has the value, or another secret, and that a repeated
// rotation may return the version of a later change.
func TestChangedWebhook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, detail string
		tries        int
		change       func(*webhookRow)
	}{
		{"change filter", noFilter, 1, nil},
		{"change filter", expressions[0], 1, func(w *webhookRow) { w.Filter = &expressions[0] }},
		{"change events", "[order.created order.updated]", 1, func(w *webhookRow) {
			w.Events = []string{"order.created", "order.updated"}
		}},
		{"move webhook", "/a/w7, responds", 1, func(w *webhookRow) { w.URL = "https://localhost:8443/a/w7" }},
		{"rotate secret", "", 1, nil},
		{"rotate secret", "", 2, func(w *webhookRow) { w.Active = false }},
	} {
		b := rightBook()
		b.webhook("w1", "a", "resource", test.change)
		b.webhook("w1", "a", "none", nil) // a later change
		b.did(operation{
			planned: planned{Site: "a", Kind: test.kind}, Webhook: "w1", Version: 2, Tries: test.tries, Detail: test.detail,
		})
		if found := checkOperations(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", test.kind, found)
		}
	}
}

// TestChangedPlan checks that a website may get another plan before the response of an operation, and that a stepped
// clock hides the time of the change.
func TestChangedPlan(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *book, o *operation){
		"replaced before the response": func(b *book, o *operation) {
			o.End = b.at.Add(time.Minute)
			for _, plan := range []string{"GROW", "STARTER"} {
				b.s.Websites["ws_a"] = append(b.s.Websites["ws_a"], websiteRow{logged: b.tx(), Plan: plan})
			}
		},
		"stepped clock": func(b *book, _ *operation) {
			b.h.addDisturbance(disturbance{Fault: "clock-postgres", Begin: b.at, End: b.at.Add(time.Second)})
		},
	} {
		b := rightBook()
		b.did(operation{planned: planned{Site: "a", Kind: "change plan"}, Detail: "GROW"})
		change(b, &b.h.Operations[len(b.h.Operations)-1])
		if found := checkOperations(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestErasedVersions checks that erasures may increase the version of a customer or of a reservation without an event.
func TestErasedVersions(t *testing.T) {
	t.Parallel()
	b := rightBook()
	c := b.s.Customers["c-a"]
	c.Version, c.ErasedAt = 3, &noon
	b.s.Customers["c-a"] = c
	b.s.Booked[0].Version, b.s.Booked[0].ErasedAt = 2, &noon
	if found := checkChanges(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}

// TestLimitOfAnEarlierWindow checks that a plan applies to a window before it if the clock of PostgreSQL was stepped
// back.
func TestLimitOfAnEarlierWindow(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.open("a")
	b.s.Window = 10 * time.Second
	earlier := b.at.Add(-longestStep / 2)
	if limit, limited := b.s.limit(b.h, "ws_a", earlier); limit != 0 || !limited {
		t.Errorf("without a step: got %d, %t, want 0, true", limit, limited)
	}
	b.h.addDisturbance(disturbance{Fault: "clock-postgres", Begin: b.at, End: b.at.Add(time.Second)})
	want, _ := app.PlanStarter.PerWindow()
	if limit, limited := b.s.limit(b.h, "ws_a", earlier); limit != want || !limited {
		t.Errorf("after a step: got %d, %t, want %d, true", limit, limited, want)
	}
}
