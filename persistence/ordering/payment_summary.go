package ordering

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// paymentSumsQuery sums succeeded payments by the day on which they were recorded, and refunds by their own day. Its
// sums are capped like those of analytics; the tips of a day are negative if more was returned than received.
var paymentSumsQuery = strings.NewReplacer(
	"{paid}", capped("paid"), "{refunded}", capped("refunded"),
	"{tips}", fmt.Sprintf("greatest(least(sum(tip), %[1]d), -%[1]d)::bigint", app.MaxAmountMinor+1),
).Replace(`
	SELECT business_date::text AS business_date, provider, payment_method, channel, currency,
		sum(payments)::bigint AS payments, {paid} AS payments_minor, {tips} AS tips_minor,
		sum(refunds)::bigint AS refunds, {refunded} AS refunds_minor
	FROM (
		SELECT business_date, provider, payment_method, channel, currency, 1 AS payments,
			amount_minor - tip_minor AS paid, tip_minor AS tip, 0 AS refunds, 0 AS refunded
		FROM payments
		WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2 AND status = 'SUCCEEDED'
		UNION ALL
		SELECT r.business_date, p.provider, p.payment_method, p.channel, r.currency, 0, 0, -r.tip_minor, 1,
			r.amount_minor - r.tip_minor
		FROM refunds r JOIN payments p ON p.store_id = r.store_id AND p.id = r.payment_id
		WHERE r.store_id = ?0 AND r.business_date >= ?1 AND r.business_date <= ?2
	) m
	GROUP BY m.business_date, provider, payment_method, m.channel, currency
	ORDER BY m.business_date, provider, payment_method, m.channel NULLS FIRST, currency LIMIT ?3`)

// PaymentSums sums a store's payments and refunds in a period by business day, provider, method, channel and currency,
// in this order, and returns the store's clock. It returns NOT_FOUND if there is no such store, AMOUNT_TOO_LARGE if a
// sum exceeds app.MaxAmountMinor, and LIMIT_REACHED for more than app.MaxPaymentSums rows.
func (db *DB) PaymentSums(
	ctx context.Context, store app.StoreID, period app.Period,
) ([]app.PaymentSum, Clock, error) {
	sums := []app.PaymentSum{}
	var clock Clock
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		if clock, err = clockOf(ctx, tx, store); err != nil {
			return err
		}
		sums = sums[:0]
		return tx.NewRaw(paymentSumsQuery, store, day(period.From), day(period.To), app.MaxPaymentSums+1).
			Scan(ctx, &sums)
	})
	if err == nil {
		err = app.CheckPaymentSums(sums)
	}
	return sums, clock, err
}
