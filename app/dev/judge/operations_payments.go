package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// payOrder pays the outstanding amount of an order, some with a tip.
func payOrder(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	if order.OutstandingMinor == 0 {
		return errNoTarget
	}
	var tip int64
	if t.random.IntN(3) == 0 {
		tip = number(t.random, 50, 500)
	}
	return t.pay(ctx, order, order.OutstandingMinor, tip, comanda.PaymentResultSucceeded)
}

// payPart pays a part of an order.
func payPart(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	part := number(t.random, 1, max(1, order.TotalMinor))
	return t.pay(ctx, order, part, 0, comanda.PaymentResultSucceeded)
}

func failPayment(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	return t.pay(ctx, order, max(1, order.TotalMinor), 0, comanda.PaymentResultFailed)
}

// tip records a payment that is a tip only.
func tip(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	return t.pay(ctx, order, 0, number(t.random, 50, 500), comanda.PaymentResultSucceeded)
}

// pay records a payment of an amount and a tip.
func (t *turn) pay(
	ctx context.Context, order *comanda.Order, amount, tip int64, result comanda.PaymentResult,
) error {
	in := comanda.RecordPaymentRequest{
		Provider: "STRIPE", TransactionID: t.transaction("pi"), Status: result, AmountMinor: amount + tip,
		Currency: order.Currency, PaymentMethod: "card",
	}
	if tip > 0 {
		in.TipMinor = &tip
	}
	if result == comanda.PaymentResultFailed {
		in.ErrorCode = new("card_declined")
	}
	t.Amount, t.Detail = in.AmountMinor, in.TransactionID
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		payment, err := c.RecordPayment(ctx, order.ID, in, key)
		if err == nil {
			t.Subject = payment.ID
		}
		return err
	})
}

// transaction returns the id of a transaction of the provider. Two concurrent operations have the same one or not.
func (t *turn) transaction(prefix string) string {
	if t.random.IntN(3) == 0 {
		return fmt.Sprintf("%s-%x", prefix, t.Pick)
	}
	return t.unique(prefix)
}

// payment returns one of the newest succeeded payments, of those that are not left out.
func (t *turn) payment(ctx context.Context, without func(comanda.Payment) bool) (*comanda.Payment, error) {
	var list *comanda.List[comanda.Payment, comanda.CursorMeta]
	params := comanda.ListPaymentsParams{Status: comanda.PaymentResultSucceeded, Limit: recent}
	err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) (err error) {
		list, err = c.ListPayments(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	fitting := slices.DeleteFunc(list.Data, without)
	if len(fitting) == 0 {
		return nil, errNoTarget
	}
	payment := &fitting[t.random.IntN(len(fitting))]
	t.Order = payment.Order.ID
	return payment, nil
}

// anyPayment leaves out no payment.
func anyPayment(comanda.Payment) bool { return false }

// refund returns a part of a payment.
func refund(ctx context.Context, t *turn) error {
	payment, err := t.payment(ctx, anyPayment)
	if err != nil {
		return err
	}
	part := number(t.random, 1, max(1, payment.AmountMinor-payment.TipMinor))
	return t.refund(ctx, payment, part, 0)
}

// refundRest returns everything that is left of a payment. Of two concurrent ones, one succeeds.
func refundRest(ctx context.Context, t *turn) error {
	payment, err := t.payment(ctx, anyPayment)
	if err != nil {
		return err
	}
	tip := payment.TipMinor - payment.RefundedTipMinor
	left := payment.AmountMinor - payment.TipMinor - payment.RefundedMinor
	if tip+left == 0 {
		return errNoTarget
	}
	return t.refund(ctx, payment, left, tip)
}

func refundTip(ctx context.Context, t *turn) error {
	payment, err := t.payment(ctx, func(p comanda.Payment) bool { return p.TipMinor == p.RefundedTipMinor })
	if err != nil {
		return err
	}
	return t.refund(ctx, payment, 0, number(t.random, 1, payment.TipMinor))
}

// refund records a refund of an amount and a part of the tip.
func (t *turn) refund(ctx context.Context, payment *comanda.Payment, amount, tip int64) error {
	in := comanda.RefundPaymentRequest{
		AmountMinor: amount + tip, Reason: "Cold food", ProviderRefundID: t.transaction("re"),
	}
	if tip > 0 {
		in.TipMinor = &tip
	}
	t.Amount, t.Detail = in.AmountMinor, in.ProviderRefundID+" of "+payment.ID
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		refund, err := c.RecordRefund(ctx, payment.ID, in, key)
		if err == nil {
			t.Subject = refund.ID
		}
		return err
	})
}
