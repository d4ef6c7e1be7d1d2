package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// stateMutants are defects of money, operations and tenancy.
var stateMutants = []mutant{
	{"order numbers", "a gap", func(b *book) { b.order("o2", func(o *orderRow) { o.Number = 3 }) }},
	{"order numbers", "a number twice", func(b *book) { b.order("o2", func(o *orderRow) { o.Number = 1 }) }},
	{"prices", "a lost item", func(b *book) { b.s.Items = b.s.Items[1:] }},
	{"prices", "a tax without a rate", func(b *book) { b.order("o2", func(o *orderRow) { o.TaxMinor = 1 }) }},
	{"payments", "a lost update of an order", func(b *book) { b.order("o1", func(o *orderRow) { o.PaidMinor = 0 }) }},
	{"payments", "a refund race", func(b *book) {
		b.s.Refunds["ref2"] = refundRow{ID: "ref2", Payment: "pay", Order: "o1", AmountMinor: 800}
	}},
	{"payments", "a refund twice", func(b *book) {
		b.event("e-again", "a", "payment.refunded", "o1", `{"paymentId":"pay","refundId":"ref","amountMinor":350}`)
	}},
	{"payments", "an event of a payment that was rolled back", func(b *book) {
		b.event("e-other", "a", "payment.succeeded", "o1", `{"paymentId":"other","amountMinor":1}`)
	}},
	{"payments", "another amount in the event", func(b *book) {
		b.s.Events["e-paid"].Body = new(`{"storeId":"st_a","data":{"paymentId":"pay","amountMinor":1000}}`)
	}},
	{"amounts due", "a refund that compensates nothing", func(b *book) {
		b.order("o1", func(o *orderRow) { o.CompensatedMinor = 0 })
	}},
	{"amounts due", "a total that no event shows", func(b *book) {
		b.order("o1", func(o *orderRow) { o.TotalMinor = 900 })
	}},
	{"cash-up", "a refund that the cash-up counts on the day of the payment", func(b *book) {
		r := b.s.Refunds["ref"]
		r.CreatedAt = r.CreatedAt.Add(12 * time.Hour)
		b.s.Refunds["ref"] = r
	}},
	{"cash-up", "a day in another time zone", func(b *book) {
		p := b.s.Payments["pay"]
		p.CreatedAt = time.Date(2026, 11, 28, 23, 30, 0, 0, time.UTC)
		b.s.Payments["pay"] = p
	}},
	{"cash-up", "a payment of another store", func(b *book) { b.h.CashUps["b"] = b.h.CashUps["a"] }},
	{"cash-up", "a payment of a channel that counts as the store's own", func(b *book) {
		b.order("o1", func(o *orderRow) { o.Channel = new("Uber Eats") })
	}},
	{"cash-up", "a lost payment", func(b *book) { b.h.CashUps["a"] = nil }},
	{"cash-up", "a tip that is not returned", func(b *book) { b.h.CashUps["a"][0].TipsMinor = 200 }},
	{"stock", "a cancellation that returns nothing", func(b *book) {
		list := b.s.Stocks["p1"]
		*list[len(list)-1].Stock = *list[len(list)-2].Stock
	}},
	{"stock", "a lost adjustment", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 5})
	}},
	{"stock", "an adjustment that is made twice", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 5})
		b.stock(b.tx(), 5)
		b.stock(b.tx(), 5)
	}},
	{"loyalty", "points without an entry", func(b *book) {
		c := b.s.Customers["c-a"]
		c.LoyaltyPoints++
		b.s.Customers["c-a"] = c
	}},
	{"loyalty", "an order that earns twice", func(b *book) {
		b.s.Loyalty = append(b.s.Loyalty, b.s.Loyalty[0])
	}},
	{"loyalty", "a cancelled order that counts", func(b *book) {
		c := b.s.Customers["c-a"]
		c.TotalOrders++
		b.s.Customers["c-a"] = c
	}},
	{"redemptions", "points of another worth", func(b *book) { b.order("o2", func(o *orderRow) { o.LoyaltyMinor = 50 }) }},
	{"redemptions", "points that are not taken", func(b *book) { b.loseEntry("REDEEMED") }},
	{"redemptions", "points that do not return", func(b *book) { b.loseEntry("RETURNED") }},
	{"redemptions", "points that return although they cover the order", func(b *book) { b.order("o2", covered) }},
	{"redemptions", "points that stay after a refund of everything", func(b *book) {
		b.order("o1", func(o *orderRow) {
			o.PaidMinor, o.RefundedMinor, o.CompensatedMinor, o.LoyaltyPoints = 1000, 1000, 1000, 50
			o.LoyaltyMinor = 50 * minorPerPoint
		})
		b.s.Loyalty = append(b.s.Loyalty, loyaltyRow{Customer: "c-a", Order: "o1", Kind: "REDEEMED", Points: -50})
	}},
	{"redemptions", "points that return twice", func(b *book) {
		b.s.Loyalty = append(b.s.Loyalty, b.s.Loyalty[len(b.s.Loyalty)-1])
	}},
	{"redemptions", "points of an order that stands", func(b *book) {
		b.order("o2", func(o *orderRow) { o.Status = "READY" })
	}},
	{"suspended", "an operation of a suspended website", func(b *book) {
		b.h.addSuspension(suspension{Site: "a", Begin: noon, End: noon.Add(time.Hour)})
	}},
	{"deadlines", "an order that waits for ever", func(b *book) {
		b.h.Deadlines = map[string]time.Duration{"b": time.Minute}
	}},
	{"deadlines", "a cancellation before the deadline", func(b *book) { b.unaccepted(time.Hour, "RECEIVED") }},
	{"deadlines", "a cancellation long after the deadline", func(b *book) {
		b.s.Changes[0].At = noon.Add(-time.Hour)
		b.s.Changes[1].At = noon.Add(-time.Hour)
		b.unaccepted(time.Minute, "RECEIVED")
	}},
	{"deadlines", "a late cancellation between faults", func(b *book) {
		b.expire(noon.Add(time.Minute + acceptTime + time.Second))
		for _, at := range []time.Duration{-40 * time.Second, 80 * time.Second} {
			b.h.addDisturbance(disturbance{Begin: noon.Add(at), End: noon.Add(at + 20*time.Second)})
		}
	}},
	{"deadlines", "a cancellation of an accepted order", func(b *book) { b.unaccepted(0, "CONFIRMED") }},
	{"analytics", "sales of a cancelled order", func(b *book) { b.s.Sales[1].Orders = 1 }},
	{"analytics", "sales of a product", func(b *book) { b.s.Products[0].NetMinor++ }},
	{"analytics", "orders of a customer", func(b *book) { b.s.CustomerDay[1].Orders = 1 }},
	{"responses", "an internal error", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "tip"}, Internal: 1})
	}},
	{"operations", "a lost order", func(b *book) { delete(b.s.Orders, "o3") }},
	{"operations", "a lost change of an order", func(b *book) { b.order("o2", func(o *orderRow) { o.Version = 1 }) }},
	{"operations", "a lost cancellation", func(b *book) { b.order("o2", func(o *orderRow) { o.Status = "READY" }) }},
	{"operations", "a lost payment", func(b *book) { delete(b.s.Payments, "pay") }},
	{"operations", "a refund of another amount", func(b *book) {
		r := b.s.Refunds["ref"]
		r.AmountMinor++
		b.s.Refunds["ref"] = r
	}},
	{"operations", "a webhook that is not deleted", func(b *book) { b.s.Webhooks["w3"][1].DeletedAt = nil }},
	{"operations", "a webhook that is not switched off", func(b *book) { b.s.Webhooks["w2"][1].Active = true }},
	{"operations", "a lost filter", func(b *book) { b.reconfigure("change filter", noFilter) }},
	{"operations", "lost events of a webhook", func(b *book) { b.reconfigure("change events", "[order.updated]") }},
	{"operations", "a webhook that is not moved", func(b *book) { b.reconfigure("move webhook", "/a/w7, responds") }},
	{"operations", "a secret that is not rotated", func(b *book) { b.reconfigure("rotate secret", "") }},
	{"operations", "a value in another version", func(b *book) {
		b.webhook("w1", "a", "none", nil)
		b.did(operation{
			planned: planned{Site: "a", Kind: "change ordering"}, Webhook: "w1", Version: 2, Detail: "resource",
		})
	}},
	{"operations", "a plan that is not changed", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "change plan"}, Detail: "GROW"})
	}},
	{"operations", "a plan that the website had before", func(b *book) {
		b.s.Websites["ws_a"] = append(b.s.Websites["ws_a"], websiteRow{logged: b.tx(), Plan: "GROW"})
		b.at = b.at.Add(time.Minute)
		b.did(operation{planned: planned{Site: "a", Kind: "change plan"}, Detail: "STARTER"})
	}},
	{"operations", "a change of a stale version", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "change stale order"}, Order: "o1"})
	}},
	{"operations", "an order in another store", func(b *book) { b.order("o3", func(o *orderRow) { o.Store = "st_a" }) }},
	{"operations", "a customer who is not erased", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "erase customer"}, Subject: "c-a"})
	}},
	{"operations", "a lost customer", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "register customer"}, Subject: "c-lost"})
	}},
	{"operations", "a product that is not deleted", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "delete product"}, Subject: "p1"})
	}},
	{"operations", "a lost address", func(b *book) { delete(b.s.Addresses, "add1") }},
	{"operations", "an address that is not deleted", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "delete address"}, Subject: "add1", Detail: "c-a"})
	}},
	{"operations", "an email that no event shows", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "change email"}, Subject: "c-a", Detail: "lost@example.com"})
	}},
	{"operations", "lost points", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "redeem points"}, Order: "o1"})
	}},
	{"operations", "a retry without an attempt", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "retry delivery"}, Subject: "e-o1/w1", Webhook: "w1", Attempts: 1})
	}},
	{"operations", "a retry that shows the attempt before it", func(b *book) {
		b.did(operation{
			planned: planned{Site: "a", Kind: "retry delivery"}, Subject: "e-o1/w1", Webhook: "w1", Attempts: 1,
			Attempt: "e-o1/w1/1",
		})
	}},
	{"idempotency", "two orders of one key", func(b *book) {
		c := b.s.Changes[0]
		c.Order = "o9"
		b.s.Changes = append(b.s.Changes, c)
	}},
	{"idempotency", "an order without a key", func(b *book) { b.unkey("7-2") }},
	{"idempotency", "a webhook of a repeated request", func(b *book) { b.unkey("setup-w1") }},
	{"idempotency", "a bulk replay of a repeated request", func(b *book) { b.unkey("setup-bulk") }},
	{"idempotency", "a reservation of a repeated request", func(b *book) {
		b.dispatch(b.event("e-again", "a", "reservation.created", "r2", `{"id":"r2","version":1}`))
	}},
	{"idempotency", "an invitation of a repeated request", func(b *book) { b.s.Inserted["inv2"] = b.tx() }},
	{"idempotency", "an invitation that is not the one of the response", func(b *book) {
		b.s.Inserted = map[string]logged{"inv2": b.s.Inserted["inv1"]}
	}},
	{"idempotency", "a refused request that has an effect", func(b *book) { b.h.Operations[0].Result = refused }},
	{"mails", "a mail budget across tenants", func(b *book) { b.s.Mails[1].Reason = app.ReasonMailBudget }},
	{"mails", "a mail that waits since the end of a restore", func(b *book) {
		b.s.Mails[0].Status, b.s.Mails[0].CreatedAt = "queued", noon
		b.s.Losses = []loss{{Comanda: true, Begin: noon.Add(-time.Minute), End: noon}}
	}},
	{"mails", "a lost mail", func(b *book) { b.h.Mails = nil }},
	{"mails", "a mail that is sent twice", func(b *book) { b.h.Mails = append(b.h.Mails, "m1") }},
	{"mails", "a mail that is obsolete and sent", func(b *book) { b.h.Mails = append(b.h.Mails, "m2") }},
	{"mails", "a lost mail beside one that is sent twice", func(b *book) {
		again := b.s.Mails[0]
		again.ID = "m3"
		b.s.Mails, b.h.Mails = append(b.s.Mails, again), append(b.h.Mails, "m1")
	}},
	{"mails", "more mails than the budget", func(b *book) {
		for n := range app.MailsPerAddress {
			again := b.s.Mails[0]
			again.ID = fmt.Sprint("m1-", n)
			b.s.Mails, b.h.Mails = append(b.s.Mails, again), append(b.h.Mails, again.ID)
		}
	}},
	{"mails", "a mail that fails", func(b *book) { b.s.Mails[0].Status = "failed" }},
	{"mails", "an invitation without a mail", func(b *book) { b.s.Mails = nil }},
	{"tenants", "a delivery to a webhook of another store", func(b *book) {
		b.last("e-o3/w3", func(d *deliveryRow) { d.Webhook = "w1" })
	}},
	{"tenants", "a delivery in the queue of another website", func(b *book) {
		b.last("e-o3/w3", func(d *deliveryRow) { d.Queue = "ws_a" })
	}},
	{"tenants", "an attempt of another store", func(b *book) { b.s.Attempts["e-o3/w3"][0].Store = "st_a" }},
	{"tenants", "a body of another store", func(b *book) { b.s.Events["e-o3"].Body = new(`{"storeId":"st_a"}`) }},
	{"tenants", "a request at another site", func(b *book) { b.h.Requests[0].Site = "b" }},
	{"tenants", "a request that names another store", func(b *book) {
		b.h.Requests[0].Body = append(b.h.Requests[0].Body, "st_b"...)
	}},
}

// unkey removes a stored key.
func (b *book) unkey(key string) {
	b.s.Keys = slices.DeleteFunc(b.s.Keys, func(k keyRow) bool { return k.Key == key })
}

// loseEntry removes the entries of a kind from the ledger.
func (b *book) loseEntry(kind string) {
	b.s.Loyalty = slices.DeleteFunc(b.s.Loyalty, func(l loyaltyRow) bool { return l.Kind == kind })
}

// unaccepted makes the cancellation of an order one by its deadline, from a status.
func (b *book) unaccepted(deadline time.Duration, from string) {
	b.h.Deadlines = map[string]time.Duration{"a": deadline}
	b.order("o2", func(o *orderRow) { o.Reason = app.ReasonNotAccepted })
	last := &b.s.Changes[len(b.s.Changes)-2]
	last.From, last.To = &from, new("CANCELLED")
}

// reconfigure confirms the change of a webhook whose new version has another filter than before, and no other change.
func (b *book) reconfigure(kind, detail string) {
	b.webhook("w1", "a", "resource", func(w *webhookRow) { w.Filter = &expressions[0] })
	b.did(operation{planned: planned{Site: "a", Kind: kind}, Webhook: "w1", Version: 2, Tries: 1, Detail: detail})
}

// expire cancels an order that was placed at noon by its deadline of a minute, at a time.
func (b *book) expire(at time.Time) {
	b.unaccepted(time.Minute, "RECEIVED")
	for i, c := range b.s.Changes {
		switch {
		case c.Order == "o2" && c.Version == 1:
			b.s.Changes[i].At = noon
		case c.Order == "o2":
			b.s.Changes[i].At = at
		}
	}
}

// TestDelayedDeadline checks that a fault delays the cancellation of an order if it lasts while the order is evaluated:
// after the placement or at the deadline. A loss of state delays it longer, and a stepped clock makes it early or late.
func TestDelayedDeadline(t *testing.T) {
	t.Parallel()
	minute := 60 * time.Second
	for name, test := range map[string]struct {
		fault      string
		begin, end time.Duration // since noon
		at         time.Duration
	}{
		"at the deadline":         {"kill-worker", minute, minute + 10*time.Second, 170 * time.Second},
		"before the deadline":     {"kill-worker", minute / 2, minute - 10*time.Second, 150 * time.Second},
		"after the placement":     {"suspend-worker", 0, 40 * time.Second, 140 * time.Second},
		"after a loss":            {"empty-temporal", 0, 5 * time.Second, 110 * time.Second},
		"with a clock ahead":      {"clock-postgres", 0, 5 * time.Second, minute / 2},
		"with a clock ahead, too": {"clock-postgres", 0, 5 * time.Second, 2 * minute},
	} {
		b := rightBook()
		b.expire(noon.Add(test.at))
		if found := checkDeadlines(b.h, b.s); len(found) == 0 {
			t.Errorf("%s, without a fault: got none, want a violation", name)
		}
		b.h.addDisturbance(disturbance{Fault: test.fault, Begin: noon.Add(test.begin), End: noon.Add(test.end)})
		if found := checkDeadlines(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestDeadlineIsKept checks that a cancellation at the deadline is right.
func TestDeadlineIsKept(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.unaccepted(0, "RECEIVED")
	for _, v := range checkDeadlines(b.h, b.s) {
		t.Errorf("got %+v, want none", v)
	}
}
