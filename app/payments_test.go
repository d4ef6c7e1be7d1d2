package app_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

func TestRefunded(t *testing.T) {
	t.Parallel()
	p := app.Payment{
		OrderNumber: "7", Status: app.PaymentSucceeded, AmountMinor: 1000, Currency: "EUR", Provider: "STRIPE",
		TransactionID: "pi_1", ID: "pay_1", Order: app.PaidOrder{ID: "ord_1", Number: "7"},
	}
	for _, step := range []struct {
		amount, total int64
		want          app.RefundType // "" = refused
	}{
		{1001, 0, ""}, {400, 400, app.RefundPartial}, {601, 0, ""}, {599, 999, app.RefundPartial}, {2, 0, ""},
		{1, 1000, app.RefundFull}, {1, 0, ""},
	} {
		after, data, err := p.Refunded(app.Refund{ID: "ref_1", AmountMinor: step.amount, Reason: "cold"})
		if step.want == "" {
			if app.CodeOf(err) != app.CodeRefundExceedsPayment || after.RefundedMinor != p.RefundedMinor {
				t.Errorf("refund of %d, refundable %d: %v, want %s",
					step.amount, p.LeftMinor(), err, app.CodeRefundExceedsPayment)
			}
			continue
		}
		want := app.PaymentRefundedData{
			OrderNumber: "7", AmountMinor: step.amount, Currency: "EUR", Reason: "cold", Type: step.want,
			TotalRefundedMinor: step.total, Provider: "STRIPE", TransactionID: "pi_1", PaymentID: "pay_1",
			RefundID: "ref_1", Order: p.Order,
		}
		if err != nil || data != want || after.RefundedMinor != step.total {
			t.Errorf("refund of %d, refundable %d: %+v, %v, want %+v", step.amount, p.LeftMinor(), data, err, want)
		}
		p = after
	}
	p = app.Payment{Status: app.PaymentFailed, AmountMinor: 1000}
	if _, _, err := p.Refunded(app.Refund{AmountMinor: 1}); app.CodeOf(err) != app.CodeRefundExceedsPayment {
		t.Errorf("refund of a failed payment: %v, want %s", err, app.CodeRefundExceedsPayment)
	}
}

func TestLoyaltyPoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status                                    app.OrderStatus
		subtotal, discount, total, paid, refunded int64
		want                                      int64
	}{
		"not completed":             {app.OrderReady, 2000, 0, 2000, 2000, 0, 0},
		"cancelled":                 {app.OrderCancelled, 2000, 0, 2000, 2000, 0, 0},
		"completed":                 {app.OrderCompleted, 2000, 0, 2250, 2250, 0, 20},
		"rounded down":              {app.OrderCompleted, 2099, 100, 2000, 2000, 0, 19},
		"below one point":           {app.OrderCompleted, 99, 0, 99, 99, 0, 0},
		"full discount":             {app.OrderCompleted, 2000, 2000, 0, 0, 0, 0},
		"no payment recorded":       {app.OrderCompleted, 2000, 0, 2000, 0, 0, 20},
		"half refunded":             {app.OrderCompleted, 2000, 0, 2000, 2000, 1000, 10},
		"one minor unit refunded":   {app.OrderCompleted, 2000, 0, 2000, 2000, 1, 20},
		"one minor unit kept":       {app.OrderCompleted, 2000, 0, 2000, 2000, 1999, 1},
		"fully refunded":            {app.OrderCompleted, 2000, 0, 2000, 2000, 2000, 0},
		"deposit refunded":          {app.OrderCompleted, 2000, 0, 2000, 500, 500, 20},
		"overpayment refunded":      {app.OrderCompleted, 2000, 0, 2000, 2500, 500, 20},
		"paid twice":                {app.OrderCompleted, 2000, 0, 2000, 4000, 0, 20},
		"paid twice, one refunded":  {app.OrderCompleted, 2000, 0, 2000, 4000, 2000, 20},
		"paid twice, both refunded": {app.OrderCompleted, 2000, 0, 2000, 4000, 4000, 0},
		"maximum amount": {
			app.OrderCompleted, app.MaxAmountMinor, 0, app.MaxAmountMinor, app.MaxAmountMinor, app.MaxAmountMinor - 1,
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := app.Order{
				Status: c.status, SubtotalMinor: c.subtotal, DiscountMinor: c.discount, TotalMinor: c.total,
			}
			o = o.Balanced(o.Balance().Paid(c.paid).Refunded(c.refunded))
			if got := o.EarnedPoints(); got != c.want {
				t.Errorf("%s: %d points, want %d", name, got, c.want)
			}
		})
	}
}

// For every sequence of payments and refunds: points stay between 0 and the earned points, a refund never adds points,
// a payment never removes any, and no points remain after a full refund of a paid order.
func TestLoyaltyPointsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := func(limit int64, label string) int64 { return rapid.Int64Range(0, limit).Draw(t, label) }
		o := app.Order{Status: app.OrderCompleted, SubtotalMinor: amount(app.MaxAmountMinor/4, "subtotal")}
		o.DiscountMinor = amount(o.SubtotalMinor, "discount")
		o.TotalMinor = o.SubtotalMinor - o.DiscountMinor + amount(app.MaxAmountMinor/4, "fee and tax")
		earned := o.EarnedPoints()
		if earned != (o.SubtotalMinor-o.DiscountMinor)/100 {
			t.Fatalf("earned %d points, want %d", earned, (o.SubtotalMinor-o.DiscountMinor)/100)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			before := o.EarnedPoints()
			refund := rapid.Bool().Draw(t, "refund") && o.PaidMinor > o.RefundedMinor
			if refund {
				o = o.Balanced(o.Balance().Refunded(1 + amount(o.PaidMinor-o.RefundedMinor-1, "refunded")))
			} else {
				o = o.Balanced(o.Balance().Paid(1 + amount(app.MaxAmountMinor/32, "paid")))
			}
			points := o.EarnedPoints()
			if points < 0 || points > earned || refund && points > before || !refund && points < before {
				t.Fatalf("refund %v: from %d to %d of %d earned points, order %+v", refund, before, points, earned, o)
			}
		}
		o = o.Balanced(o.Balance().Paid(o.OutstandingMinor))
		o = o.Balanced(o.Balance().Refunded(o.PaidMinor - o.RefundedMinor))
		if o.EarnedPoints() != 0 {
			t.Fatalf("fully refunded: %d points, want 0, order %+v", o.EarnedPoints(), o)
		}
	})
}
