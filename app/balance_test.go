package app_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// step is a change of an order's balance.
type step struct {
	kind   string // pay, refund, total or cancel
	amount int64
}

func (s step) apply(b app.Balance) app.Balance {
	switch s.kind {
	case "pay":
		return b.Paid(s.amount)
	case "refund":
		return b.Refunded(s.amount)
	case "total":
		b.TotalMinor = s.amount
	case "cancel":
		b.Cancelled = true
	}
	return b
}

func pay(amount int64) step    { return step{"pay", amount} }
func refund(amount int64) step { return step{"refund", amount} }
func change(total int64) step  { return step{"total", total} }

var cancel = step{kind: "cancel"}

func TestBalance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps                   []step
		outstanding, refundable int64
		want                    app.PaymentStatus
	}{
		"unpaid":                   {nil, 1000, 0, app.PaymentUnpaid},
		"nothing to pay":           {[]step{change(0)}, 0, 0, app.PaymentUnpaid},
		"deposit":                  {[]step{pay(300)}, 700, 0, app.PaymentPartiallyPaid},
		"paid":                     {[]step{pay(1000)}, 0, 0, app.PaymentPaid},
		"paid in parts":            {[]step{pay(300), pay(700)}, 0, 0, app.PaymentPaid},
		"overpaid":                 {[]step{pay(1200)}, 0, 200, app.PaymentPaid},
		"overpayment returned":     {[]step{pay(1200), refund(200)}, 0, 0, app.PaymentPaid},
		"more than it returned":    {[]step{pay(1200), refund(300)}, 0, 0, app.PaymentPartiallyRefunded},
		"paid twice, one returned": {[]step{pay(1000), pay(1000), refund(1000)}, 0, 0, app.PaymentPaid},
		"lowered":                  {[]step{pay(1000), change(800)}, 0, 200, app.PaymentPaid},
		"lowered, refunded":        {[]step{pay(1000), change(800), refund(200)}, 0, 0, app.PaymentPaid},
		"lowered, refunded, raised": {
			[]step{pay(1000), change(800), refund(200), change(1500)}, 700, 0, app.PaymentPartiallyPaid,
		},
		"and paid": {
			[]step{pay(1000), change(800), refund(200), change(1500), pay(700)}, 0, 0, app.PaymentPaid,
		},
		"cold food":         {[]step{pay(1000), refund(200)}, 0, 0, app.PaymentPartiallyRefunded},
		"cold food, raised": {[]step{pay(1000), refund(200), change(1500)}, 500, 0, app.PaymentPartiallyPaid},
		"cold food, raised, paid": {
			[]step{pay(1000), refund(200), change(1500), pay(500)}, 0, 0, app.PaymentPartiallyRefunded,
		},
		"cold food, lowered": {[]step{pay(1000), refund(200), change(700)}, 0, 100, app.PaymentPartiallyRefunded},
		"cold food, lowered below the compensation": {
			[]step{pay(1000), refund(200), change(100)}, 0, 700, app.PaymentPartiallyRefunded,
		},
		"all refunded":             {[]step{pay(1000), refund(1000)}, 0, 0, app.PaymentRefunded},
		"all refunded in parts":    {[]step{pay(1000), refund(400), refund(600)}, 0, 0, app.PaymentRefunded},
		"all refunded, raised":     {[]step{pay(1000), refund(1000), change(1200)}, 200, 0, app.PaymentRefunded},
		"deposit returned":         {[]step{pay(300), refund(300)}, 1000, 0, app.PaymentRefunded},
		"part of deposit returned": {[]step{pay(300), refund(100)}, 800, 0, app.PaymentPartiallyPaid},
		"deposit returned, then paid": {
			[]step{pay(300), refund(300), pay(1000)}, 0, 0, app.PaymentPaid,
		},
		"raised, refund of a part": {[]step{pay(1000), change(1500), refund(100)}, 600, 0, app.PaymentPartiallyPaid},
		"cancelled":                {[]step{cancel}, 0, 0, app.PaymentUnpaid},
		"cancelled, deposit":       {[]step{pay(300), cancel}, 0, 300, app.PaymentPartiallyPaid},
		"cancelled, paid":          {[]step{pay(1000), cancel}, 0, 1000, app.PaymentPaid},
		"cancelled, part returned": {[]step{pay(1000), cancel, refund(400)}, 0, 600, app.PaymentPartiallyRefunded},
		"cancelled, deposit returned in part": {
			[]step{pay(300), cancel, refund(100)}, 0, 200, app.PaymentPartiallyRefunded,
		},
		"cancelled, returned":        {[]step{pay(1000), cancel, refund(1000)}, 0, 0, app.PaymentRefunded},
		"cancelled, paid afterwards": {[]step{cancel, pay(400)}, 0, 400, app.PaymentPartiallyPaid},
		"cold food, cancelled": {
			[]step{pay(1000), refund(200), cancel}, 0, 800, app.PaymentPartiallyRefunded,
		},
		"overpayment returned, cancelled": {
			[]step{pay(1200), refund(200), cancel}, 0, 1000, app.PaymentPartiallyRefunded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := app.Balance{TotalMinor: 1000}
			for _, s := range c.steps {
				b = s.apply(b)
			}
			if b.Outstanding() != c.outstanding || b.Refundable() != c.refundable || b.Status() != c.want {
				t.Errorf("got %d outstanding, %d refundable, %s, want %d, %d, %s (%+v)", b.Outstanding(),
					b.Refundable(), b.Status(), c.outstanding, c.refundable, c.want, b)
			}
		})
	}
}

// For every sequence of changes: no money is both to be collected and to be returned, collecting the outstanding amount
// leaves nothing outstanding, a refund of the refundable amount compensates nothing and leaves nothing to collect, and
// the compensation is part of the refunds.
func TestBalanceInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := func(limit int64, label string) int64 { return rapid.Int64Range(0, limit).Draw(t, label) }
		b := app.Balance{TotalMinor: amount(1000, "total")}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch kind := rapid.SampledFrom([]string{"pay", "refund", "total"}).Draw(t, "kind"); {
			case kind == "refund" && b.PaidMinor > b.RefundedMinor:
				b = b.Refunded(1 + amount(b.PaidMinor-b.RefundedMinor-1, "refund"))
			case kind == "total":
				b.TotalMinor = amount(1000, "new total")
			default:
				b = b.Paid(1 + amount(999, "payment"))
			}
			outstanding, refundable := b.Outstanding(), b.Refundable()
			if outstanding > 0 && refundable > 0 || outstanding < 0 || refundable < 0 {
				t.Fatalf("%d outstanding and %d refundable: %+v", outstanding, refundable, b)
			}
			if paid := b.Paid(outstanding); paid.Outstanding() != 0 || outstanding > 0 && paid.Refundable() != 0 {
				t.Fatalf("%d outstanding after the payment of %d: %+v", paid.Outstanding(), outstanding, b)
			}
			if after := b.Refunded(refundable); after.CompensatedMinor != b.CompensatedMinor ||
				after.Refundable() != 0 || after.Outstanding() != outstanding {
				t.Fatalf("after the refund of %d: %+v", refundable, after)
			}
			if b.CompensatedMinor < 0 || b.CompensatedMinor > b.RefundedMinor {
				t.Fatalf("compensated more than refunded: %+v", b)
			}
			if owes := []app.PaymentStatus{app.PaymentPaid, app.PaymentPartiallyRefunded}; outstanding > 0 &&
				slices.Contains(owes, b.Status()) {
				t.Fatalf("%s with %d outstanding: %+v", b.Status(), outstanding, b)
			}
		}
	})
}

// Balanced derives the members of an order from its own total and status.
func TestBalanced(t *testing.T) {
	t.Parallel()
	o := app.Order{Status: app.OrderReady, TotalMinor: 1000, PaidMinor: 1}
	o = o.Balanced(app.Balance{TotalMinor: 5, PaidMinor: 900, RefundedMinor: 100, CompensatedMinor: 50})
	if o.TotalMinor != 1000 || o.PaidMinor != 900 || o.RefundedMinor != 100 || o.OutstandingMinor != 150 ||
		o.RefundableMinor != 0 || o.PaymentStatus != app.PaymentPartiallyPaid {
		t.Errorf("got %+v, want 900 paid, 150 outstanding", o)
	}
	moved, err := o.Moved(app.OrderStatusChange{To: app.OrderCancelled, Reason: "x", MayCancel: true}, app.Time{})
	if err != nil || moved.OutstandingMinor != 0 || moved.RefundableMinor != 800 ||
		moved.PaymentStatus != app.PaymentPartiallyRefunded {
		t.Errorf("cancelled: got %+v, %v, want 800 refundable", moved, err)
	}
}
