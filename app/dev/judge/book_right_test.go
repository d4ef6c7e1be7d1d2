package main

import (
	"fmt"
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
