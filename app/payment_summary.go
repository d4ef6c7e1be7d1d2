package app

// MaxPaymentSums is the maximum number of rows of a payment summary. Providers and methods are free texts, so that a
// store can have a row per payment.
const MaxPaymentSums = 10_000

// PaymentSum sums the succeeded payments and the refunds of one business day, provider, method, channel and currency
// (docs/behaviour.md#cash-up). Amounts are in minor units.
type PaymentSum struct {
	BusinessDate  string   `json:"businessDate"` // YYYY-MM-DD in the store's time zone
	Provider      string   `json:"provider"`     // upper case
	PaymentMethod string   `json:"paymentMethod"`
	Channel       *string  `json:"channel"` // sales channel of the orders; null = the store's own
	Currency      Currency `json:"currency"`
	Payments      int64    `json:"payments"`
	PaymentsMinor int64    `json:"paymentsMinor"` // without tips
	TipsMinor     int64    `json:"tipsMinor"`     // less the tips returned on this day
	Refunds       int64    `json:"refunds"`
	RefundsMinor  int64    `json:"refundsMinor"` // without tips, counted on the day of the refund
}

// CheckPaymentSums returns AMOUNT_TOO_LARGE if a sum exceeds MaxAmountMinor, and LIMIT_REACHED if there are more than
// MaxPaymentSums rows.
func CheckPaymentSums(sums []PaymentSum) error {
	if len(sums) > MaxPaymentSums {
		return Errorf(CodeLimitReached, "the period has more than %d rows; request a shorter period", MaxPaymentSums)
	}
	for _, s := range sums {
		if max(s.PaymentsMinor, s.RefundsMinor, s.TipsMinor, -s.TipsMinor) > MaxAmountMinor {
			return PeriodTooLarge()
		}
	}
	return nil
}
