package app

import "fmt"

// PaymentResult is the result of a payment at its provider.
type PaymentResult string

const (
	PaymentSucceeded PaymentResult = "SUCCEEDED"
	PaymentFailed    PaymentResult = "FAILED" // does not count as paid
)

// Payment is a payment for an order, as reported by the payment provider (docs/behaviour.md#payments).
type Payment struct {
	ID            PaymentID     `json:"id"`
	StoreID       StoreID       `json:"storeId"`
	OrderNumber   string        `json:"orderId"` // human-readable order number
	Order         PaidOrder     `json:"order"`
	Provider      string        `json:"provider"` // upper case
	TransactionID string        `json:"transactionId"`
	Status        PaymentResult `json:"status"`
	AmountMinor   int64         `json:"amountMinor"` // with the tip
	TipMinor      int64         `json:"tipMinor"`    // part of amountMinor that does not count toward the order
	Currency      Currency      `json:"currency"`    // currency of the order
	PaymentMethod string        `json:"paymentMethod"`
	CardLast4     string        `json:"cardLast4,omitempty"`
	ErrorCode     string        `json:"errorCode,omitempty"` // provider's error code; only for FAILED
	RefundedMinor int64         `json:"refundedMinor"`       // without tips
	RefundedTip   int64         `json:"refundedTipMinor"`    // returned part of the tip
	Refunds       []Refund      `json:"refunds"`             // oldest first
	// business day on which the payment counts, YYYY-MM-DD in the store's time zone
	BusinessDate string `json:"businessDate"`
	CreatedAt    Time   `json:"createdAt"`
}

// PaidOrder identifies the order of a payment.
type PaidOrder struct {
	ID     OrderID `json:"id"`
	Number string  `json:"orderId"` // human-readable order number
}

// PaymentFilter narrows a list of payments. A zero value does not narrow it.
type PaymentFilter struct {
	OrderID     OrderID
	OrderNumber int64
	Status      PaymentResult
	Provider    string // upper case
	From        *Time  // recorded at this time or later
	To          *Time  // recorded before this time
}

// LeftMinor returns the refundable amount of the payment without its tip, in minor units.
func (p Payment) LeftMinor() int64 {
	if p.Status != PaymentSucceeded {
		return 0
	}
	return p.AmountMinor - p.TipMinor - p.RefundedMinor
}

// LeftTipMinor returns the refundable amount of the payment's tip in minor units.
func (p Payment) LeftTipMinor() int64 {
	if p.Status != PaymentSucceeded {
		return 0
	}
	return p.TipMinor - p.RefundedTip
}

// NewPayment is the input for recording a payment. Provider is in upper case. CardLast4 and ErrorCode are optional.
type NewPayment struct {
	Provider      string
	TransactionID string
	Status        PaymentResult
	AmountMinor   int64
	TipMinor      int64 // at most AmountMinor
	Currency      Currency
	PaymentMethod string
	CardLast4     string
	ErrorCode     string
}

// MaxRefunds is the maximum number of refunds of a payment. Each response with the payment contains all of them.
const MaxRefunds = 100

// Recorded returns the input with which the payment was recorded. It is used to detect identical repeats.
func (p Payment) Recorded() NewPayment {
	return NewPayment{
		Provider: p.Provider, TransactionID: p.TransactionID, Status: p.Status, AmountMinor: p.AmountMinor,
		TipMinor: p.TipMinor, Currency: p.Currency, PaymentMethod: p.PaymentMethod, CardLast4: p.CardLast4,
		ErrorCode: p.ErrorCode,
	}
}

// Refund is a refund of a payment, as reported by the payment provider.
type Refund struct {
	ID               RefundID  `json:"id"`
	PaymentID        PaymentID `json:"paymentId"`
	AmountMinor      int64     `json:"amountMinor"` // with the tip
	TipMinor         int64     `json:"tipMinor"`    // part of amountMinor that returns tip
	Currency         Currency  `json:"currency"`    // currency of the payment
	Reason           string    `json:"reason"`
	ProviderRefundID string    `json:"providerRefundId"`
	// business day on which the refund counts, YYYY-MM-DD in the store's time zone
	BusinessDate string `json:"businessDate"`
	CreatedAt    Time   `json:"createdAt"`
}

// NewRefund is the input for recording a refund.
type NewRefund struct {
	AmountMinor      int64
	TipMinor         int64 // part of AmountMinor that returns tip
	Reason           string
	ProviderRefundID string
}

// Recorded returns the input with which the refund was recorded. It is used to detect identical repeats.
func (r Refund) Recorded() NewRefund {
	return NewRefund{
		AmountMinor: r.AmountMinor, TipMinor: r.TipMinor, Reason: r.Reason, ProviderRefundID: r.ProviderRefundID,
	}
}

// PaymentSucceededData is the data of payment.succeeded.
type PaymentSucceededData struct {
	OrderNumber   string   `json:"orderId"`
	AmountMinor   int64    `json:"amountMinor"`
	Currency      Currency `json:"currency"`
	Provider      string   `json:"provider"`
	TransactionID string   `json:"transactionId"`
	PaymentMethod string   `json:"paymentMethod"`
	CardLast4     string   `json:"cardLast4,omitempty"`

	PaymentID PaymentID `json:"paymentId"`
	Order     PaidOrder `json:"order"`
}

// PaymentFailedData is the data of payment.failed (docs/behaviour.md#payments).
type PaymentFailedData struct {
	OrderNumber   string    `json:"orderId"`
	ErrorCode     string    `json:"errorCode"`
	Provider      string    `json:"provider"`
	TransactionID string    `json:"transactionId"`
	PaymentID     PaymentID `json:"paymentId"`
	Order         PaidOrder `json:"order"`
}

// RefundType is FULL if a refund leaves nothing of the payment and its tip, otherwise PARTIAL.
type RefundType string

const (
	RefundFull    RefundType = "FULL"
	RefundPartial RefundType = "PARTIAL"
)

// PaymentRefundedData is the data of payment.refunded (docs/behaviour.md#payments).
type PaymentRefundedData struct {
	OrderNumber        string     `json:"orderId"`
	AmountMinor        int64      `json:"amountMinor"`
	Currency           Currency   `json:"currency"`
	Reason             string     `json:"reason"`
	Type               RefundType `json:"type"`
	TotalRefundedMinor int64      `json:"totalRefundedMinor"` // of the payment, with this refund and tips
	Provider           string     `json:"provider"`
	TransactionID      string     `json:"transactionId"`
	PaymentID          PaymentID  `json:"paymentId"`
	RefundID           RefundID   `json:"refundId"`
	Order              PaidOrder  `json:"order"`
}

// Event returns the type and the data of the event that reports the payment.
func (p Payment) Event() (EventType, any) {
	if p.Status == PaymentFailed {
		return EventPaymentFailed, PaymentFailedData{
			OrderNumber: p.OrderNumber, ErrorCode: p.ErrorCode, Provider: p.Provider, TransactionID: p.TransactionID,
			PaymentID: p.ID, Order: p.Order,
		}
	}
	return EventPaymentSucceeded, PaymentSucceededData{
		OrderNumber: p.OrderNumber, AmountMinor: p.AmountMinor, Currency: p.Currency, Provider: p.Provider,
		TransactionID: p.TransactionID, PaymentMethod: p.PaymentMethod, CardLast4: p.CardLast4,
		PaymentID: p.ID, Order: p.Order,
	}
}

// Refunded returns the payment after a further refund, and the data of its payment.refunded event. It returns
// REFUND_EXCEEDS_PAYMENT if the refund exceeds the rest of the payment or of its tip. A refund returns only as much
// tip as it names.
func (p Payment) Refunded(refund Refund) (Payment, PaymentRefundedData, error) {
	if left := p.LeftTipMinor(); refund.TipMinor > left {
		return p, PaymentRefundedData{}, exceedsPayment("tipMinor",
			fmt.Sprintf("exceeds the refundable tip of %d", left))
	}
	if left := p.LeftMinor() + refund.TipMinor; refund.AmountMinor > left {
		message := fmt.Sprintf("exceeds the refundable amount of %d", left)
		if p.LeftTipMinor() > refund.TipMinor {
			message += "; name tipMinor to return tip"
		}
		return p, PaymentRefundedData{}, exceedsPayment("amountMinor", message)
	}
	p.RefundedMinor += refund.AmountMinor - refund.TipMinor
	p.RefundedTip += refund.TipMinor
	data := PaymentRefundedData{
		OrderNumber: p.OrderNumber, AmountMinor: refund.AmountMinor, Currency: p.Currency, Reason: refund.Reason,
		Type: RefundPartial, TotalRefundedMinor: p.RefundedMinor + p.RefundedTip, Provider: p.Provider,
		TransactionID: p.TransactionID, PaymentID: p.ID, RefundID: refund.ID, Order: p.Order,
	}
	if p.LeftMinor()+p.LeftTipMinor() == 0 {
		data.Type = RefundFull
	}
	return p, data, nil
}

func exceedsPayment(path, message string) *Error {
	e := Errorf(CodeRefundExceedsPayment, "%s %s", path, message)
	e.Details = []Detail{{Path: path, Message: message}}
	return e
}
