package api

import (
	"context"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

type recordPaymentIn struct {
	ID            app.OrderID       `path:"id"`
	Provider      string            `json:"provider" validate:"required,provider" example:"STRIPE" description:"In any case; kept in upper case."`
	TransactionID string            `json:"transactionId" validate:"required,notblank,max=255" example:"pi_3MtwBwLkdIwHu7ix28a3tqPa" description:"The provider's. It is recorded once: the same payment again is answered with the first, another one refused."`
	Status        app.PaymentResult `json:"status" validate:"required,enum" description:"What FAILED counts nothing."`
	AmountMinor   int64             `json:"amountMinor" validate:"required,min=1,max=9007199254740991" description:"In minor units. It may be less or more than what is left to pay." example:"2150"`
	Currency      app.Currency      `json:"currency" validate:"required,currency" example:"EUR" description:"The order's."`
	PaymentMethod string            `json:"paymentMethod" validate:"required,notblank,max=50" example:"card"`
	CardLast4     string            `json:"cardLast4" validate:"omitempty,last4" example:"4242"`
	ErrorCode     string            `json:"errorCode" validate:"max=100" example:"card_declined" description:"The provider's, for FAILED, and only then."`
}

func (in recordPaymentIn) check() []app.Detail {
	failed, told := in.Status == app.PaymentFailed, strings.TrimSpace(in.ErrorCode) != ""
	switch {
	case failed && !told:
		return []app.Detail{{Path: "errorCode", Message: "is required for FAILED"}}
	case !failed && in.ErrorCode != "":
		return []app.Detail{{Path: "errorCode", Message: "is for FAILED only"}}
	}
	return nil
}

func (s *Server) recordPayment(ctx context.Context, c *call, in recordPaymentIn) (app.Payment, error) {
	payment := app.NewPayment{
		Provider: strings.ToUpper(in.Provider), TransactionID: in.TransactionID, Status: in.Status, AmountMinor: in.AmountMinor,
		Currency: in.Currency, PaymentMethod: in.PaymentMethod, CardLast4: in.CardLast4, ErrorCode: in.ErrorCode,
	}
	answer := func(recorded app.Payment) any { return stored{recorded} }
	return s.db.RecordPayment(ctx, c.now, c.principal.StoreID, in.ID, payment, c.once, answer)
}

type paymentsIn struct {
	ID     app.OrderID `path:"id"`
	Limit  int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) payments(ctx context.Context, c *call, in paymentsIn) (list[app.Payment, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Payment, cursorMeta]{}, err
	}
	found, err := s.db.Payments(ctx, c.principal.StoreID, in.ID, c.principal.CustomerID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(p app.Payment) string { return timePosition(p.CreatedAt, string(p.ID)) }), err
}

type refundPaymentIn struct {
	ID               app.PaymentID `path:"id"`
	AmountMinor      int64         `json:"amountMinor" validate:"required,min=1,max=9007199254740991" description:"In minor units of the payment's currency: at most what is left of the payment." example:"950"`
	Reason           string        `json:"reason" validate:"required,notblank,max=500" example:"The pizza was cold."`
	ProviderRefundID string        `json:"providerRefundId" validate:"required,notblank,max=255" example:"re_3MtwBwLkdIwHu7ix0fc0a6Nn" description:"It is recorded once for a payment: the same refund again is answered with the first, another one refused."`
}

func (s *Server) refundPayment(ctx context.Context, c *call, in refundPaymentIn) (app.Refund, error) {
	refund := app.NewRefund{AmountMinor: in.AmountMinor, Reason: in.Reason, ProviderRefundID: in.ProviderRefundID}
	answer := func(recorded app.Refund) any { return stored{recorded} }
	return s.db.RefundPayment(ctx, c.now, c.principal.StoreID, in.ID, refund, c.actor(), c.once, answer)
}
