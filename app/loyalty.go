package app

import "math/bits"

// LoyaltyKind is the reason for a change of a customer's loyalty points.
type LoyaltyKind string

const (
	PointsEarned   LoyaltyKind = "EARNED"   // an order was completed
	PointsReversed LoyaltyKind = "REVERSED" // a payment of the order was refunded
	PointsRestored LoyaltyKind = "RESTORED" // the order was paid again after a refund
)

// LoyaltyEntry is an entry of a customer's loyalty ledger. The customer's balance is the sum of all entries.
type LoyaltyEntry struct {
	ID          LoyaltyEntryID `json:"id"`
	Kind        LoyaltyKind    `json:"kind"`
	Points      int64          `json:"points"`             // negative for REVERSED
	OrderNumber string         `json:"orderId"`            // human-readable order number
	RefundID    RefundID       `json:"refundId,omitempty"` // only for REVERSED
	CreatedAt   Time           `json:"createdAt"`
}

// LoyaltyPoints returns the points that the customer has for the order now: one per 100 minor units of the subtotal
// minus the discount, once the order is completed (docs/behaviour.md#loyalty-points). A refund reverses points in
// proportion to the refunded part of the total, rounded down. A refund of an overpayment reverses none.
func (o Order) LoyaltyPoints() int64 {
	if o.Status != OrderCompleted {
		return 0
	}
	earned := (o.SubtotalMinor - o.DiscountMinor) / 100
	due := min(o.TotalMinor, o.PaidMinor)
	refunded := due - min(due, o.PaidMinor-o.RefundedMinor)
	if refunded == 0 {
		return earned
	}
	high, low := bits.Mul64(uint64(earned), uint64(refunded))
	reversed, _ := bits.Div64(high, low, uint64(due)) // no overflow: refunded ≤ due
	return earned - int64(reversed)
}
