package app

// PaymentResult is how an attempt to pay ended, as its provider says.
type PaymentResult string

const (
	PaymentSucceeded PaymentResult = "SUCCEEDED"
	PaymentFailed    PaymentResult = "FAILED" // counts nothing
)

// Payment is what a provider did about an order, as we were told (contract §5).
type Payment struct {
	ID            PaymentID     `json:"id"`
	StoreID       StoreID       `json:"storeId"`
	OrderNumber   string        `json:"orderId"`  // as in the order
	Provider      string        `json:"provider"` // in upper case
	TransactionID string        `json:"transactionId"`
	Status        PaymentResult `json:"status"`
	AmountMinor   int64         `json:"amountMinor"`
	Currency      Currency      `json:"currency"` // the order's
	PaymentMethod string        `json:"paymentMethod"`
	CardLast4     string        `json:"cardLast4,omitempty"`
	ErrorCode     string        `json:"errorCode,omitempty"` // the provider's, of a failed payment
	RefundedMinor int64         `json:"refundedMinor"`
	Refunds       []Refund      `json:"refunds"` // the oldest first
	CreatedAt     Time          `json:"createdAt"`
}

// LeftMinor returns how much of the payment can be given back.
func (p Payment) LeftMinor() int64 {
	if p.Status != PaymentSucceeded {
		return 0
	}
	return p.AmountMinor - p.RefundedMinor
}

// NewPayment is what it takes to record a payment. Provider is in upper case; CardLast4 and,
// of a payment that succeeded, ErrorCode are "" if there are none.
type NewPayment struct {
	Provider      string
	TransactionID string
	Status        PaymentResult
	AmountMinor   int64
	Currency      Currency
	PaymentMethod string
	CardLast4     string
	ErrorCode     string
}

// Recorded returns what it took to record the payment.
func (p Payment) Recorded() NewPayment {
	return NewPayment{
		Provider: p.Provider, TransactionID: p.TransactionID, Status: p.Status, AmountMinor: p.AmountMinor,
		Currency: p.Currency, PaymentMethod: p.PaymentMethod, CardLast4: p.CardLast4, ErrorCode: p.ErrorCode,
	}
}

// Refund is money of a payment that a provider gave back.
type Refund struct {
	ID               RefundID  `json:"id"`
	PaymentID        PaymentID `json:"paymentId"`
	AmountMinor      int64     `json:"amountMinor"`
	Currency         Currency  `json:"currency"` // the payment's
	Reason           string    `json:"reason"`
	ProviderRefundID string    `json:"providerRefundId"`
	BusinessDate     string    `json:"businessDate"` // YYYY-MM-DD in the store's zone: the day in whose books it counts
	CreatedAt        Time      `json:"createdAt"`
}

// NewRefund is what it takes to record a refund.
type NewRefund struct {
	AmountMinor      int64
	Reason           string
	ProviderRefundID string
}

// Recorded returns what it took to record the refund.
func (r Refund) Recorded() NewRefund {
	return NewRefund{AmountMinor: r.AmountMinor, Reason: r.Reason, ProviderRefundID: r.ProviderRefundID}
}

// PaymentSucceededData is the data of payment.succeeded (spec, Payment data).
type PaymentSucceededData struct {
	OrderNumber   string   `json:"orderId"`
	AmountMinor   int64    `json:"amountMinor"`
	Currency      Currency `json:"currency"`
	Provider      string   `json:"provider"`
	TransactionID string   `json:"transactionId"`
	PaymentMethod string   `json:"paymentMethod"`
	CardLast4     string   `json:"cardLast4,omitempty"`
}

// PaymentFailedData is the data of payment.failed (contract §5).
type PaymentFailedData struct {
	OrderNumber string `json:"orderId"`
	ErrorCode   string `json:"errorCode"`
	Provider    string `json:"provider"`
}

// RefundType tells whether anything is left of a payment after a refund.
type RefundType string

const (
	RefundFull    RefundType = "FULL"
	RefundPartial RefundType = "PARTIAL"
)

// PaymentRefundedData is the data of payment.refunded (contract §5).
type PaymentRefundedData struct {
	OrderNumber        string     `json:"orderId"`
	AmountMinor        int64      `json:"amountMinor"`
	Currency           Currency   `json:"currency"`
	Reason             string     `json:"reason"`
	Type               RefundType `json:"type"`
	TotalRefundedMinor int64      `json:"totalRefundedMinor"` // of the payment, with this refund
	Provider           string     `json:"provider"`
	TransactionID      string     `json:"transactionId"`
}

// Event returns the type and the data of the event that tells of a recorded payment.
func (p Payment) Event() (EventType, any) {
	if p.Status == PaymentFailed {
		return EventPaymentFailed, PaymentFailedData{OrderNumber: p.OrderNumber, ErrorCode: p.ErrorCode, Provider: p.Provider}
	}
	return EventPaymentSucceeded, PaymentSucceededData{
		OrderNumber: p.OrderNumber, AmountMinor: p.AmountMinor, Currency: p.Currency, Provider: p.Provider,
		TransactionID: p.TransactionID, PaymentMethod: p.PaymentMethod, CardLast4: p.CardLast4,
	}
}

// Refunded returns the payment after one more refund, and what payment.refunded tells of it.
// A refund of more than is left is REFUND_EXCEEDS_PAYMENT.
func (p Payment) Refunded(refund Refund) (Payment, PaymentRefundedData, error) {
	if left := p.LeftMinor(); refund.AmountMinor > left {
		e := Errorf(CodeRefundExceedsPayment, "amountMinor is more than the %d that are left of the payment", left)
		e.Details = []Detail{{Path: "amountMinor", Message: "is more than is left of the payment"}}
		return p, PaymentRefundedData{}, e
	}
	p.RefundedMinor += refund.AmountMinor
	data := PaymentRefundedData{
		OrderNumber: p.OrderNumber, AmountMinor: refund.AmountMinor, Currency: p.Currency, Reason: refund.Reason, Type: RefundPartial,
		TotalRefundedMinor: p.RefundedMinor, Provider: p.Provider, TransactionID: p.TransactionID,
	}
	if p.LeftMinor() == 0 {
		data.Type = RefundFull
	}
	return p, data, nil
}
