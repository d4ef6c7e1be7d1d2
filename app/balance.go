package app

// Balance is an order's total with the sums of its payments and refunds, without tips, in minor units
// (docs/behaviour.md#amounts-due).
type Balance struct {
	TotalMinor       int64
	PaidMinor        int64
	RefundedMinor    int64
	CompensatedMinor int64 // part of the refunds that lowered what the guest has to pay
	Cancelled        bool
}

// held returns the received amount that is not refunded.
func (b Balance) held() int64 { return b.PaidMinor - b.RefundedMinor }

// due returns the amount that the guest has to pay in total: a refund for cold food lowers it.
func (b Balance) due() int64 { return max(0, b.TotalMinor-b.CompensatedMinor) }

// Outstanding returns the amount to collect from the guest.
func (b Balance) Outstanding() int64 {
	if b.Cancelled {
		return 0
	}
	return max(0, b.due()-b.held())
}

// Refundable returns the amount to return to the guest.
func (b Balance) Refundable() int64 {
	if b.Cancelled {
		return b.held()
	}
	return max(0, b.held()-b.TotalMinor)
}

// Paid returns the balance after a further payment.
func (b Balance) Paid(amount int64) Balance {
	b.PaidMinor += amount
	return b
}

// Refunded returns the balance after a further refund. A refund of a paid order compensates by the part that it takes
// below the amount due. Any other refund compensates nothing: it returns a deposit, and the guest still owes the rest.
func (b Balance) Refunded(amount int64) Balance {
	before, due := b.held(), b.due()
	b.RefundedMinor += amount
	if before >= due {
		b.CompensatedMinor += max(0, due-b.held())
	}
	return b
}

// PaymentStatus summarizes the payments and refunds of an order.
type PaymentStatus string

const (
	PaymentUnpaid            PaymentStatus = "UNPAID"         // nothing is paid
	PaymentPartiallyPaid     PaymentStatus = "PARTIALLY_PAID" // something is outstanding
	PaymentPaid              PaymentStatus = "PAID"
	PaymentPartiallyRefunded PaymentStatus = "PARTIALLY_REFUNDED" // compensated in part
	PaymentRefunded          PaymentStatus = "REFUNDED"           // all that was paid is refunded
)

// Status returns the payment status: the first that fits.
func (b Balance) Status() PaymentStatus {
	outstanding, compensated := b.Outstanding() > 0, b.CompensatedMinor > 0
	if b.Cancelled {
		outstanding, compensated = b.PaidMinor < b.TotalMinor, b.RefundedMinor > 0
	}
	switch {
	case b.PaidMinor == 0:
		return PaymentUnpaid
	case b.RefundedMinor == b.PaidMinor:
		return PaymentRefunded
	case b.Cancelled && compensated:
		return PaymentPartiallyRefunded
	case outstanding:
		return PaymentPartiallyPaid
	case compensated:
		return PaymentPartiallyRefunded
	}
	return PaymentPaid
}

// Balance returns the order's total with the sums of its payments and refunds.
func (o Order) Balance() Balance {
	return Balance{
		TotalMinor: o.TotalMinor, PaidMinor: o.PaidMinor, RefundedMinor: o.RefundedMinor,
		CompensatedMinor: o.CompensatedMinor, Cancelled: o.Status == OrderCancelled,
	}
}

// Balanced returns the order with the sums of a balance and the members that follow from them and from the order's
// total and status.
func (o Order) Balanced(b Balance) Order {
	o.PaidMinor, o.RefundedMinor, o.CompensatedMinor = b.PaidMinor, b.RefundedMinor, b.CompensatedMinor
	b = o.Balance()
	o.OutstandingMinor, o.RefundableMinor, o.PaymentStatus = b.Outstanding(), b.Refundable(), b.Status()
	return o
}
