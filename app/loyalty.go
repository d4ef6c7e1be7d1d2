package app

import "math/bits"

// LoyaltyKind is why a customer's points changed.
type LoyaltyKind string

const (
	PointsEarned   LoyaltyKind = "EARNED"   // an order was completed
	PointsReversed LoyaltyKind = "REVERSED" // money of it was given back
	PointsRestored LoyaltyKind = "RESTORED" // it was paid again after that
)

// LoyaltyEntry is a line of a customer's ledger of loyalty points. The points of all lines
// add up to the customer's.
type LoyaltyEntry struct {
	ID          LoyaltyEntryID `json:"id"`
	Kind        LoyaltyKind    `json:"kind"`
	Points      int64          `json:"points"`             // below 0 for REVERSED
	OrderNumber string         `json:"orderId"`            // as in the order
	RefundID    RefundID       `json:"refundId,omitempty"` // for REVERSED
	CreatedAt   Time           `json:"createdAt"`
}

// LoyaltyPoints returns what the order is worth to its customer by now: one point for each 100
// minor units of the subtotal less the discount, once it is completed (contract §5). Of what
// was paid of the total, the part that was given back takes its part of the points, rounded
// down, with it; what was paid beyond the total and given back takes none.
func (o Order) LoyaltyPoints() int64 {
	if o.Status != OrderCompleted {
		return 0
	}
	earned := (o.SubtotalMinor - o.DiscountMinor) / 100
	due := min(o.TotalMinor, o.PaidMinor)
	back := due - min(due, o.PaidMinor-o.RefundedMinor)
	if back == 0 {
		return earned
	}
	high, low := bits.Mul64(uint64(earned), uint64(back))
	reversed, _ := bits.Div64(high, low, uint64(due)) // back ≤ due, so that it fits
	return earned - int64(reversed)
}
