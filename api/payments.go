package api

import (
	"context"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// Operations of payments.
var (
	recordPayment = handle("recordPayment", (*Server).recordPayment,
		app.CodeConflict, app.CodeAmountTooLarge).orExisting()
	listOrderPayments = handle("listOrderPayments", (*Server).payments)
	recordRefund      = handle("recordRefund", (*Server).refundPayment,
		app.CodeConflict, app.CodeRefundExceedsPayment, app.CodeLimitReached).orExisting()
)

type recordPaymentIn struct {
	ID            app.OrderID       `path:"id"`
	Provider      string            `json:"provider" validate:"required,provider"`
	TransactionID string            `json:"transactionId" validate:"required,notblank,providerid"`
	Status        app.PaymentResult `json:"status" validate:"required,enum"`
	AmountMinor   int64             `json:"amountMinor" validate:"required,paidamount"`
	TipMinor      int64             `json:"tipMinor" validate:"amount"`
	Currency      app.Currency      `json:"currency" validate:"required,currency"`
	PaymentMethod string            `json:"paymentMethod" validate:"required,notblank,max=50"`
	CardLast4     string            `json:"cardLast4" validate:"omitempty,last4"`
	ErrorCode     string            `json:"errorCode" validate:"max=100"`
}

func (in recordPaymentIn) check() []app.Detail {
	faults := checkTip(in.AmountMinor, in.TipMinor)
	failed, hasCode := in.Status == app.PaymentFailed, strings.TrimSpace(in.ErrorCode) != ""
	switch {
	case failed && !hasCode:
		faults = append(faults, app.Detail{Path: "errorCode", Message: "is required for FAILED"})
	case !failed && in.ErrorCode != "":
		faults = append(faults, app.Detail{Path: "errorCode", Message: "is only allowed for FAILED"})
	}
	return faults
}

// checkTip checks that the tip is part of the amount.
func checkTip(amount, tip int64) []app.Detail {
	if tip > amount && amount > 0 {
		return []app.Detail{{Path: "tipMinor", Message: "must not exceed amountMinor"}}
	}
	return nil
}

func (s *Server) recordPayment(ctx context.Context, c *call, in recordPaymentIn) (app.Payment, error) {
	payment := app.NewPayment{
		Provider: strings.ToUpper(in.Provider), TransactionID: in.TransactionID, Status: in.Status,
		AmountMinor: in.AmountMinor, TipMinor: in.TipMinor, Currency: in.Currency, PaymentMethod: in.PaymentMethod,
		CardLast4: in.CardLast4, ErrorCode: in.ErrorCode,
	}
	return s.db.RecordPayment(ctx, c.now, c.principal.StoreID, in.ID, payment, c.once)
}

type paymentsIn struct {
	ID app.OrderID `path:"id"`
	pageParams
}

func (s *Server) payments(ctx context.Context, c *call, in paymentsIn) (list[app.Payment, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Payment, cursorMeta]{}, err
	}
	found, more, err := s.db.Payments(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID, timeCursor(position),
		in.page())
	return listPage(s, c, found, in.Limit, more, func(p app.Payment) string {
		return timePosition(p.CreatedAt, string(p.ID))
	}), err
}

type refundPaymentIn struct {
	ID               app.PaymentID `path:"id"`
	AmountMinor      int64         `json:"amountMinor" validate:"required,paidamount"`
	TipMinor         int64         `json:"tipMinor" validate:"amount"`
	Reason           string        `json:"reason" validate:"required,notblank,reason"`
	ProviderRefundID string        `json:"providerRefundId" validate:"required,notblank,providerid"`
}

func (in refundPaymentIn) check() []app.Detail { return checkTip(in.AmountMinor, in.TipMinor) }

func (s *Server) refundPayment(ctx context.Context, c *call, in refundPaymentIn) (app.Refund, error) {
	refund := app.NewRefund{
		AmountMinor: in.AmountMinor, TipMinor: in.TipMinor, Reason: in.Reason, ProviderRefundID: in.ProviderRefundID,
	}
	return s.db.RefundPayment(ctx, c.now, c.principal.StoreID, in.ID, refund, c.actor(), c.once)
}
