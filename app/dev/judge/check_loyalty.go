package main

import "fmt"

// checkLoyalty checks docs/behaviour.md#loyalty-points: the balance of a customer is the sum of the ledger, and a
// completed order has earned its points. Points that were redeemed meanwhile are not reversed. It also checks
// docs/behaviour.md#customers: the orders of a customer are counted without cancelled ones.
func checkLoyalty(_ *history, s *state) (found []violation) {
	balances, earned, redeemed := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, l := range s.Loyalty {
		balances[l.Customer] += l.Points
		switch l.Kind {
		case "REDEEMED":
			redeemed[l.Customer] = true
		case "RETURNED":
		default:
			earned[l.Order] += l.Points
		}
	}
	placed := map[string]int64{}
	for _, o := range s.Orders {
		if o.Customer == nil {
			continue
		}
		if !o.cancelled() {
			placed[*o.Customer]++
		}
		got, want := earned[o.ID], points(o)
		if got < want || got > want && !redeemed[*o.Customer] {
			found = append(found, ofOrder(o.ID, "has earned %d points, want %d", got, want))
		}
	}
	for _, c := range s.Customers {
		if c.LoyaltyPoints != balances[c.ID] || c.LoyaltyPoints < 0 {
			found = append(found, violation{Text: fmt.Sprintf("%s has %d points, the ledger %d", c.ID, c.LoyaltyPoints,
				balances[c.ID])})
		}
		if c.TotalOrders != placed[c.ID] {
			found = append(found, violation{Text: fmt.Sprintf("%s has %d orders, not %d", c.ID, placed[c.ID], c.TotalOrders)})
		}
	}
	return found
}

// checkRedemptions checks docs/behaviour.md#loyalty-points: the points of an order, at their worth, are taken from the
// ledger. They return with a cancellation, or once everything that was paid is refunded and nothing is due, unless the
// total is 0. A payment takes them again, or those that the customer has by then.
func checkRedemptions(_ *history, s *state) (found []violation) {
	redeemed, returned := map[string]int64{}, map[string]int64{}
	for _, l := range s.Loyalty {
		switch l.Kind {
		case "REDEEMED":
			redeemed[l.Order] -= l.Points
		case "RETURNED":
			returned[l.Order] += l.Points
		}
	}
	for _, o := range s.Orders {
		if redeemed[o.ID] < o.LoyaltyPoints || o.LoyaltyMinor != o.LoyaltyPoints*minorPerPoint {
			found = append(found, ofOrder(o.ID, "has %d points worth %d, %d are redeemed", o.LoyaltyPoints, o.LoyaltyMinor,
				redeemed[o.ID]))
		}
		settled := o.RefundedMinor == o.PaidMinor && o.CompensatedMinor >= o.TotalMinor
		most := o.LoyaltyPoints
		if o.cancelled() || settled && o.PaidMinor > 0 && o.TotalMinor > 0 {
			most = 0
		}
		least := most
		if returned[o.ID] > 0 && o.RefundedMinor > 0 && !settled {
			least = 0
		}
		if taken := redeemed[o.ID] - returned[o.ID]; taken < least || taken > most {
			found = append(found, ofOrder(o.ID, "has taken %d points, want %d to %d", taken, least, most))
		}
	}
	return found
}

// points returns the points of an order: one per 100 minor units of the subtotal less discount and redeemed points,
// less the part of the total that is compensated and not paid again.
func points(o orderRow) int64 {
	if o.Status != "COMPLETED" {
		return 0
	}
	all := (o.SubtotalMinor - o.DiscountMinor - o.LoyaltyMinor) / 100
	if lost := min(o.CompensatedMinor, o.TotalMinor-o.PaidMinor+o.RefundedMinor); lost > 0 {
		all -= all * lost / o.TotalMinor
	}
	return all
}
