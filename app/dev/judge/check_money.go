package main

import (
	"fmt"
	"slices"
	"strings"
)

// checkOrderNumbers checks docs/behaviour.md#order-status: order numbers of a store increase without gaps.
func checkOrderNumbers(_ *history, s *state) (found []violation) {
	numbers, last := map[string][]int64{}, map[string]int64{}
	for _, o := range s.Orders {
		numbers[o.Store] = append(numbers[o.Store], o.Number)
	}
	for _, row := range s.Numbers {
		last[row.Store] = row.Last
	}
	for store, list := range numbers {
		slices.Sort(list)
		for i, n := range list[1:] {
			if n != list[i]+1 {
				found = append(found, violation{Text: fmt.Sprintf("%s has no orders from %d to %d", store, list[i]+1, n-1)})
			}
		}
		if n := list[len(list)-1]; n != last[store] {
			found = append(found, violation{Text: fmt.Sprintf("the last order of %s is %d, not %d", store, n, last[store])})
		}
	}
	return found
}

// checkPrices checks docs/behaviour.md#money: the subtotal, the discount with the worth of points, and the number of
// units are the sums of the items, and the tax is the sum of the taxes.
func checkPrices(_ *history, s *state) (found []violation) {
	type sums struct{ subtotal, discount, units int64 }
	items := map[string]sums{}
	for _, i := range s.Items {
		sum := items[i.Order]
		items[i.Order] = sums{sum.subtotal + i.TotalMinor, sum.discount + i.DiscountMinor, sum.units + i.Quantity}
	}
	for _, o := range s.Orders {
		want := sums{o.SubtotalMinor, o.DiscountMinor + o.LoyaltyMinor, o.ItemCount}
		if got := items[o.ID]; got != want {
			found = append(found, ofOrder(o.ID, "subtotal, discount and units are %v, those of the items are %v", want, got))
		}
		var tax int64
		for _, t := range o.Taxes {
			tax += t.TaxMinor
		}
		if tax != o.TaxMinor {
			found = append(found, ofOrder(o.ID, "the tax is %d, the taxes are %d", o.TaxMinor, tax))
		}
	}
	return found
}

// checkPayments checks docs/behaviour.md#payments: the sums of an order and of a payment are those of its payments and
// refunds without tips, refunds never exceed their payment, and each of them has one event with its amount.
func checkPayments(_ *history, s *state) (found []violation) {
	type sums struct{ paid, refunded int64 }
	orders, payments, tips := map[string]sums{}, map[string]int64{}, map[string]int64{}
	for _, r := range s.Refunds {
		rest := r.AmountMinor - r.TipMinor
		payments[r.Payment] += rest
		tips[r.Payment] += r.TipMinor
		orders[r.Order] = sums{orders[r.Order].paid, orders[r.Order].refunded + rest}
		if s.Payments[r.Payment].Order != r.Order {
			found = append(found, ofOrder(r.Order, "refund %s is of a payment of another order", r.ID))
		}
	}
	for _, p := range s.Payments {
		paid := p.AmountMinor - p.TipMinor
		if !p.succeeded() {
			paid = 0
		}
		orders[p.Order] = sums{orders[p.Order].paid + paid, orders[p.Order].refunded}
		if payments[p.ID] != p.RefundedMinor || tips[p.ID] != p.RefundedTip {
			found = append(found, ofOrder(p.Order, "payment %s has refunds of %d and %d tip, those recorded are %d and %d", p.ID,
				p.RefundedMinor, p.RefundedTip, payments[p.ID], tips[p.ID]))
		}
		if payments[p.ID] > paid || tips[p.ID] > p.TipMinor {
			found = append(found, ofOrder(p.Order, "payment %s of %d and %d tip has refunds of %d and %d tip", p.ID, paid,
				p.TipMinor, payments[p.ID], tips[p.ID]))
		}
	}
	for _, o := range s.Orders {
		if got, want := (sums{o.PaidMinor, o.RefundedMinor}), orders[o.ID]; got != want {
			found = append(found, ofOrder(o.ID, "paid and refunded are %v, the payments and refunds are %v", got, want))
		}
	}
	return append(found, checkMoneyEvents(s)...)
}

// checkMoneyEvents compares payments and refunds with their events.
func checkMoneyEvents(s *state) (found []violation) {
	events := map[string][]eventBody{} // by type and id
	for _, e := range s.sortedEvents("") {
		if strings.HasPrefix(e.Type, "payment.") {
			body := e.parsed()
			id := body.Data.PaymentID
			if e.Type == "payment.refunded" {
				id = body.Data.RefundID
			}
			events[e.Type+" "+id] = append(events[e.Type+" "+id], body)
		}
	}
	check := func(order, kind, id string, amount int64) {
		list := events[kind+" "+id]
		delete(events, kind+" "+id)
		switch {
		case len(list) != 1:
			found = append(found, ofOrder(order, "%s of %s has %d events", kind, id, len(list)))
		case kind != "payment.failed" && list[0].Data.AmountMinor != amount:
			found = append(found, ofOrder(order, "%s of %s shows %d, not %d", kind, id, list[0].Data.AmountMinor, amount))
		}
	}
	for _, p := range s.Payments {
		kind := "payment.succeeded"
		if !p.succeeded() {
			kind = "payment.failed"
		}
		check(p.Order, kind, p.ID, p.AmountMinor)
	}
	for _, r := range s.Refunds {
		check(r.Order, "payment.refunded", r.ID, r.AmountMinor)
	}
	for of := range events {
		found = append(found, violation{Text: of + " is not recorded"})
	}
	return found
}

// checkDue checks docs/behaviour.md#amounts-due. It goes through the events of each order: a refund of an order whose
// net payments cover the amount due compensates by the part that it takes them below that amount.
func checkDue(_ *history, s *state) (found []violation) {
	type balance struct{ total, held, compensated int64 }
	orders := map[string]*balance{}
	for _, e := range s.sortedEvents("") {
		kind, _, _ := strings.Cut(e.Type, ".")
		if kind != "order" && kind != "payment" {
			continue
		}
		b := orders[e.Resource]
		if b == nil {
			b = &balance{}
			orders[e.Resource] = b
		}
		data := e.parsed().Data
		switch {
		case kind == "order":
			b.total = data.TotalMinor
		case e.Type == "payment.succeeded":
			b.held += data.AmountMinor - s.Payments[data.PaymentID].TipMinor
		case e.Type == "payment.refunded":
			before, due := b.held, max(0, b.total-b.compensated)
			b.held -= data.AmountMinor - s.Refunds[data.RefundID].TipMinor
			if before >= due {
				b.compensated += max(0, due-b.held)
			}
		}
	}
	for _, o := range s.Orders {
		b := orders[o.ID]
		if b == nil {
			found = append(found, ofOrder(o.ID, "has no events"))
			continue
		}
		if b.total != o.TotalMinor {
			found = append(found, ofOrder(o.ID, "the total is %d, that of the last event is %d", o.TotalMinor, b.total))
		}
		if b.compensated != o.CompensatedMinor {
			found = append(found, ofOrder(o.ID, "%d are compensated, want %d", o.CompensatedMinor, b.compensated))
		}
	}
	return found
}
