package app

import (
	"fmt"
	"math/bits"
)

// LoyaltyKind is the reason for a change of a customer's loyalty points.
type LoyaltyKind string

const (
	PointsEarned   LoyaltyKind = "EARNED"   // an order was completed
	PointsReversed LoyaltyKind = "REVERSED" // a refund compensated the guest
	PointsRestored LoyaltyKind = "RESTORED" // the order was paid again after a refund
	PointsRedeemed LoyaltyKind = "REDEEMED" // an order was placed with points, or took returned ones again
	PointsReturned LoyaltyKind = "RETURNED" // that order was cancelled, or nothing of it is paid and due
)

// LoyaltyKinds lists the reasons.
var LoyaltyKinds = [...]LoyaltyKind{PointsEarned, PointsReversed, PointsRestored, PointsRedeemed, PointsReturned}

// Loyalty is the setting for redeeming points (docs/behaviour.md#loyalty-points).
type Loyalty struct {
	MinorPerPoint map[Currency]int64 `json:"minorPerPoint"` // worth of a point; other currencies take no points
	MinPoints     int64              `json:"minPoints"`     // least number of points for one order
}

// MaxPoints is the largest number of points that one order can redeem.
const MaxPoints = 1_000_000_000

const pointsMember = "loyaltyPoints"

// Check returns VALIDATION_FAILED unless a number of points can be redeemed for an order in a currency.
func (l Loyalty) Check(points int64, currency Currency) error {
	switch {
	case l.MinorPerPoint[currency] == 0:
		return Invalid(pointsMember, "the store takes no points for orders in "+string(currency))
	case points < l.MinPoints:
		return Invalid(pointsMember, fmt.Sprintf("must be at least %d", l.MinPoints))
	}
	return nil
}

// Worth returns the worth of points that have passed Check, VALIDATION_FAILED if it exceeds an amount.
func (l Loyalty) Worth(points int64, currency Currency, most int64) (int64, error) {
	each := l.MinorPerPoint[currency]
	if points > most/each {
		return 0, Invalid(pointsMember,
			fmt.Sprintf("must be at most %d: their worth must not exceed the subtotal less the discount", most/each))
	}
	return points * each, nil
}

// NotForGuests returns the error of an order with points whose customer has no account.
func NotForGuests() *Error { return Invalid(pointsMember, "are only for customers with an account") }

// TooFewPoints returns CONFLICT.
func TooFewPoints() *Error {
	return Errorf(CodeConflict, "the customer has fewer loyalty points than the order redeems")
}

// LoyaltyEntry is an entry of a customer's loyalty ledger. The customer's balance is the sum of all entries.
type LoyaltyEntry struct {
	ID          LoyaltyEntryID `json:"id"`
	Kind        LoyaltyKind    `json:"kind"`
	Points      int64          `json:"points"`             // negative for REVERSED and REDEEMED
	OrderNumber string         `json:"orderId"`            // human-readable order number
	RefundID    RefundID       `json:"refundId,omitempty"` // only for REVERSED
	CreatedAt   Time           `json:"createdAt"`
}

// ReturnsPoints reports whether the customer gets the redeemed points back: the order is cancelled, or everything that
// was paid is refunded and nothing of its total is due any more. The points stay taken for an order that they cover.
func (o Order) ReturnsPoints() bool {
	return o.Status == OrderCancelled ||
		o.TotalMinor > 0 && o.PaidMinor > 0 && o.RefundedMinor == o.PaidMinor && o.CompensatedMinor >= o.TotalMinor
}

// EarnedPoints returns the points that the customer has earned with the order now: one per 100 minor units of the
// subtotal minus the discount and the worth of redeemed points, once the order is completed
// (docs/behaviour.md#loyalty-points). Refunds that compensate reverse points in proportion to the compensated part of
// the total that is not paid again, rounded down. Other refunds reverse none.
func (o Order) EarnedPoints() int64 {
	if o.Status != OrderCompleted {
		return 0
	}
	earned := (o.SubtotalMinor - o.DiscountMinor - o.LoyaltyMinor) / 100
	lost := min(o.CompensatedMinor, o.TotalMinor-o.Balance().held())
	if lost <= 0 {
		return earned
	}
	high, low := bits.Mul64(uint64(earned), uint64(lost))
	reversed, _ := bits.Div64(high, low, uint64(o.TotalMinor)) // no overflow: lost ≤ total
	return earned - int64(reversed)
}
