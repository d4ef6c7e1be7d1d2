package app

// The data of events, by their types, where it is not just the resource.

// CustomerUpdated is the data of customer.updated (contract §5).
type CustomerUpdated struct {
	Customer
	UpdatedFields []string `json:"updatedFields"` // by their names in the customer
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
