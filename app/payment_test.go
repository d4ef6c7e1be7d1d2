package app_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

func TestRefunded(t *testing.T) {
	t.Parallel()
	p := app.Payment{OrderNumber: "7", Status: app.PaymentSucceeded, AmountMinor: 1000, Currency: "EUR", Provider: "STRIPE", TransactionID: "pi_1"}
	for _, step := range []struct {
		amount, total int64
		want          app.RefundType // "" = refused
	}{
		{1001, 0, ""}, {400, 400, app.RefundPartial}, {601, 0, ""}, {599, 999, app.RefundPartial}, {2, 0, ""}, {1, 1000, app.RefundFull}, {1, 0, ""},
	} {
		after, data, err := p.Refunded(app.Refund{AmountMinor: step.amount, Reason: "cold"})
		if step.want == "" {
			if app.CodeOf(err) != app.CodeRefundExceedsPayment || after.RefundedMinor != p.RefundedMinor {
				t.Errorf("%d of %d: %v", step.amount, p.LeftMinor(), err)
			}
			continue
		}
		want := app.PaymentRefundedData{
			OrderNumber: "7", AmountMinor: step.amount, Currency: "EUR", Reason: "cold", Type: step.want, TotalRefundedMinor: step.total,
			Provider: "STRIPE", TransactionID: "pi_1",
		}
		if err != nil || data != want || after.RefundedMinor != step.total {
			t.Errorf("%d of %d: %+v, %v", step.amount, p.LeftMinor(), data, err)
		}
		p = after
	}
	p = app.Payment{Status: app.PaymentFailed, AmountMinor: 1000}
	if _, _, err := p.Refunded(app.Refund{AmountMinor: 1}); app.CodeOf(err) != app.CodeRefundExceedsPayment {
		t.Errorf("of a failed payment: %v", err)
	}
}

func TestLoyaltyPoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status                                    app.OrderStatus
		subtotal, discount, total, paid, refunded int64
		want                                      int64
	}{
		"not completed":            {app.OrderReady, 2000, 0, 2000, 2000, 0, 0},
		"cancelled":                {app.OrderCancelled, 2000, 0, 2000, 2000, 0, 0},
		"completed":                {app.OrderCompleted, 2000, 0, 2250, 2250, 0, 20},
		"rounded down":             {app.OrderCompleted, 2099, 100, 2000, 2000, 0, 19},
		"next to nothing":          {app.OrderCompleted, 99, 0, 99, 99, 0, 0},
		"for nothing":              {app.OrderCompleted, 2000, 2000, 0, 0, 0, 0},
		"paid elsewhere":           {app.OrderCompleted, 2000, 0, 2000, 0, 0, 20},
		"half given back":          {app.OrderCompleted, 2000, 0, 2000, 2000, 1000, 10},
		"hardly any given back":    {app.OrderCompleted, 2000, 0, 2000, 2000, 1, 20},
		"hardly any kept":          {app.OrderCompleted, 2000, 0, 2000, 2000, 1999, 1},
		"all given back":           {app.OrderCompleted, 2000, 0, 2000, 2000, 2000, 0},
		"all of a part given back": {app.OrderCompleted, 2000, 0, 2000, 500, 500, 0},
		"paid twice":               {app.OrderCompleted, 2000, 0, 2000, 4000, 0, 20},
		"and once given back":      {app.OrderCompleted, 2000, 0, 2000, 4000, 2000, 20},
		"and twice":                {app.OrderCompleted, 2000, 0, 2000, 4000, 4000, 0},
		"the greatest there is":    {app.OrderCompleted, app.MaxAmountMinor, 0, app.MaxAmountMinor, app.MaxAmountMinor, app.MaxAmountMinor - 1, 1},
	} {
		o := app.Order{Status: c.status, SubtotalMinor: c.subtotal, DiscountMinor: c.discount, TotalMinor: c.total, PaidMinor: c.paid, RefundedMinor: c.refunded}
		if got := o.LoyaltyPoints(); got != c.want {
			t.Errorf("%s: %d instead of %d", name, got, c.want)
		}
	}
}

// Whatever is paid and given back in whatever order: points are never below 0 nor above what
// was earned, no refund adds any and no payment takes any, and all given back is none left.
func TestLoyaltyPointsFollowTheMoney(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := func(most int64, label string) int64 { return rapid.Int64Range(0, most).Draw(t, label) }
		o := app.Order{Status: app.OrderCompleted, SubtotalMinor: amount(app.MaxAmountMinor/4, "subtotal")}
		o.DiscountMinor = amount(o.SubtotalMinor, "discount")
		o.TotalMinor = o.SubtotalMinor - o.DiscountMinor + amount(app.MaxAmountMinor/4, "fee and tax")
		earned := o.LoyaltyPoints()
		if earned != (o.SubtotalMinor-o.DiscountMinor)/100 {
			t.Fatalf("earned %d", earned)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			before := o.LoyaltyPoints()
			refund := rapid.Bool().Draw(t, "refund") && o.PaidMinor > o.RefundedMinor
			if refund {
				o.RefundedMinor += 1 + amount(o.PaidMinor-o.RefundedMinor-1, "refunded")
			} else {
				o.PaidMinor += 1 + amount(app.MaxAmountMinor/32, "paid")
			}
			points := o.LoyaltyPoints()
			if points < 0 || points > earned || refund && points > before || !refund && points < before {
				t.Fatalf("from %d to %d points: %+v", before, points, o)
			}
		}
		if o.RefundedMinor = o.PaidMinor; o.LoyaltyPoints() != 0 {
			t.Fatalf("all given back: %+v", o)
		}
	})
}
