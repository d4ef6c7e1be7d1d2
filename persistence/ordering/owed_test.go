package ordering_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// total changes the order's total.
func (c till) total(minor int64) {
	c.Helper()
	exec(c.T, c.db, `UPDATE orders SET subtotal_minor = $2, total_minor = $2, tax_minor = 0, discount_minor = 0
		WHERE id = $1`, c.order.ID, minor)
}

// owes checks the amounts to collect and to return, and the payment status.
func (c till) owes(outstanding, refundable int64, status app.PaymentStatus) {
	c.Helper()
	order, err := c.db.Order(c.Context(), c.store, c.order.ID, "")
	must(c.T, err)
	if order.OutstandingMinor != outstanding || order.RefundableMinor != refundable || order.PaymentStatus != status {
		c.Errorf("order: got %d outstanding, %d refundable, %s, want %d, %d, %s", order.OutstandingMinor,
			order.RefundableMinor, order.PaymentStatus, outstanding, refundable, status)
	}
}

// A refund is judged by the total at its time, whatever the total becomes later.
func TestRefundsOfChangedOrders(t *testing.T) {
	t.Parallel()
	t.Run("lowered, then refunded", func(t *testing.T) {
		t.Parallel()
		c := newTill(t)
		c.total(1000)
		c.owes(1000, 0, app.PaymentUnpaid)
		payment, _, err := c.pay(aPayment("pi_1", 1000))
		must(t, err)
		c.owes(0, 0, app.PaymentPaid)
		c.total(800)
		c.owes(0, 200, app.PaymentPaid)
		_, _, err = c.refund(payment.ID, "re_1", 200)
		must(t, err)
		c.owes(0, 0, app.PaymentPaid)
		c.total(1500)
		c.owes(700, 0, app.PaymentPartiallyPaid)
		_, _, err = c.pay(aPayment("pi_2", 700))
		must(t, err)
		c.owes(0, 0, app.PaymentPaid)
	})
	t.Run("refunded, then raised", func(t *testing.T) {
		t.Parallel()
		c := newTill(t)
		c.total(1000)
		payment, _, err := c.pay(aPayment("pi_1", 1000))
		must(t, err)
		_, _, err = c.refund(payment.ID, "re_1", 200)
		must(t, err)
		c.owes(0, 0, app.PaymentPartiallyRefunded)
		c.total(1500)
		c.owes(500, 0, app.PaymentPartiallyPaid)
		moved, err := c.db.ChangeOrderStatus(t.Context(), c.now(), c.store, c.order.ID, 0,
			app.OrderStatusChange{To: app.OrderCancelled, Reason: "x", MayCancel: true})
		must(t, err)
		if moved.OutstandingMinor != 0 || moved.RefundableMinor != 800 {
			t.Errorf("cancelled: got %+v, want nothing outstanding and 800 refundable", moved)
		}
		c.owes(0, 800, app.PaymentPartiallyRefunded)
	})
}

func (c till) refundTip(payment app.PaymentID, id string, amount, tip int64) (app.Refund, bool, error) {
	refund, err := c.db.RefundPayment(c.Context(), c.now(), c.store, payment,
		app.NewRefund{AmountMinor: amount, TipMinor: tip, Reason: "cold", ProviderRefundID: id}, app.Actor{}, nil)
	return refund, false, err
}

func tipped(id string, amount, tip int64) app.NewPayment {
	in := aPayment(id, amount)
	in.TipMinor = tip
	return in
}

// A tip is neither owed nor returned with the order, and the refunds of both parts stay within them.
func TestTips(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(tipped("pi_1", 2200, 300))
	must(t, err)
	c.money(1900, 0, app.PaymentPaid)
	c.owes(0, 0, app.PaymentPaid)
	for _, step := range []struct {
		amount, tip int64
		code        app.Code
		refunded    int64
		status      app.PaymentStatus
	}{
		{1901, 0, app.CodeRefundExceedsPayment, 0, app.PaymentPaid},
		{301, 301, app.CodeRefundExceedsPayment, 0, app.PaymentPaid},
		{100, 100, "", 0, app.PaymentPaid},
		{201, 201, app.CodeRefundExceedsPayment, 0, app.PaymentPaid},
		{1950, 50, "", 1900, app.PaymentRefunded},
		{1, 0, app.CodeRefundExceedsPayment, 1900, app.PaymentRefunded},
		{150, 150, "", 1900, app.PaymentRefunded},
		{1, 1, app.CodeRefundExceedsPayment, 1900, app.PaymentRefunded},
	} {
		_, _, err := c.refundTip(payment.ID, fmt.Sprint(step), step.amount, step.tip)
		if app.CodeOf(err) != step.code {
			t.Errorf("refund of %d with %d of tip: got %v, want %q", step.amount, step.tip, err, step.code)
		}
		c.money(1900, step.refunded, step.status)
	}
}

// Neither the amount nor the tip is refunded more than once, in whatever order the refunds are recorded.
func TestConcurrentRefundsOfTips(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(tipped("pi_1", 1000, 250))
	must(t, err)
	got := outcomes(func(i int) string {
		amount, tip := int64(100), int64(0)
		if i%2 == 0 {
			tip = 100
		}
		_, existed, err := c.refundTip(payment.ID, fmt.Sprint("re_", i), amount, tip)
		return fmt.Sprint(tip, " ", outcome(existed, err))
	})
	want := map[string]int{
		"0 made": 7, "0 REFUND_EXCEEDS_PAYMENT": 3, "100 made": 2, "100 REFUND_EXCEEDS_PAYMENT": 8,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	c.money(750, 700, app.PaymentPartiallyPaid)
}

// The sum of an order's payments is limited without their tips.
func TestTipsDoNotCountTowardSum(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	for i, step := range []struct {
		amount, tip int64
		code        app.Code
	}{
		{app.MaxAmountMinor, app.MaxAmountMinor, ""}, {app.MaxAmountMinor, 0, ""}, {2, 1, app.CodeAmountTooLarge},
		{1, 1, ""},
	} {
		if _, _, err := c.pay(tipped(fmt.Sprint(i), step.amount, step.tip)); app.CodeOf(err) != step.code {
			t.Errorf("payment %d: got %v, want %q", i, err, step.code)
		}
	}
}
