package ordering_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// The summary equals the sums of the rows, also for refunds on later days and for payments around the cutoff.
func TestPaymentSumsMatchRows(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	exec(t, c.db, "UPDATE stores SET business_day_cutoff_hour = 4 WHERE id = $1", c.store)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(names ...string) string { return names[random.IntN(len(names))] }
	for i := range 60 {
		at := noon.Add(time.Duration(random.IntN(4*24*60)) * time.Minute)
		in := tipped(fmt.Sprint("pi_", i), 1000+random.Int64N(1000), random.Int64N(300))
		in.Provider, in.PaymentMethod = pick("STRIPE", "CASH"), pick("card", "wallet", "cash")
		if i%7 == 0 {
			in.Status, in.ErrorCode = app.PaymentFailed, "declined"
		}
		payment, err := c.db.RecordPayment(t.Context(), at, c.store, c.order.ID, in, nil)
		must(t, err)
		if i%3 == 1 && in.Status == app.PaymentSucceeded {
			_, err := c.db.RefundPayment(t.Context(), at.AddDate(0, 0, random.IntN(3)), c.store, payment.ID,
				app.NewRefund{AmountMinor: 100 + in.TipMinor/2, TipMinor: in.TipMinor / 2,
					ProviderRefundID: string(payment.ID)}, app.Actor{}, nil)
			must(t, err)
		}
	}
	for _, p := range []app.Period{period(t, "2026-03-01", "2026-03-31"), period(t, "2026-03-15", "2026-03-16"),
		period(t, "2026-03-14", "2026-03-14"), period(t, "2025-01-01", "2025-12-31")} {
		sums, clock, err := c.db.PaymentSums(t.Context(), c.store, p)
		must(t, err)
		if clock.Zone.String() != "Europe/Berlin" {
			t.Errorf("time zone: got %s, want Europe/Berlin", clock.Zone)
		}
		want := []string{}
		must(t, c.db.System().NewRaw(`SELECT concat_ws(' ', day, provider, method, sum(n), sum(paid), sum(tip),
				sum(refunds), sum(refunded)) FROM (
			SELECT ((created_at AT TIME ZONE 'Europe/Berlin') - interval '4 hours')::date AS day, provider,
				payment_method AS method, 1 AS n, amount_minor - tip_minor AS paid, tip_minor AS tip, 0 AS refunds,
				0 AS refunded FROM payments WHERE status <> 'FAILED'
			UNION ALL SELECT ((r.created_at AT TIME ZONE 'Europe/Berlin') - interval '4 hours')::date, p.provider,
				p.payment_method, 0, 0, -r.tip_minor, 1, r.amount_minor - r.tip_minor
			FROM refunds r JOIN payments p ON p.id = r.payment_id) x
			WHERE day BETWEEN ? AND ? GROUP BY day, provider, method`, p.From.Format(time.DateOnly),
			p.To.Format(time.DateOnly)).Scan(t.Context(), &want))
		got := []string{}
		for _, s := range sums {
			if s.Currency != "EUR" || s.Channel != nil {
				t.Errorf("sum: got %+v, want EUR without a channel", s)
			}
			got = append(got, fmt.Sprint(s.BusinessDate, " ", s.Provider, " ", s.PaymentMethod, " ", s.Payments, " ",
				s.PaymentsMinor, " ", s.TipsMinor, " ", s.Refunds, " ", s.RefundsMinor))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sums of %v (-want +got):\n%s", p, diff)
		}
	}
}

// Providers and methods are free texts: a store with very many of them is refused, as are sums that are too large.
func TestPaymentSumsAreBounded(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	other := open(t, c.db, "other.example")
	insert := `INSERT INTO payments (id, store_id, order_id, provider, transaction_id, status, amount_minor, currency,
			payment_method, card_last4, error_code, business_date, created_at)
		SELECT 'pay_' || n, $1, $2, 'P', $3::text || n, 'SUCCEEDED', $4, 'EUR', CASE WHEN $5 THEN n::text ELSE '' END,
			'', '', '2026-03-01'::date + n % 10, '2026-03-01' FROM generate_series($6::int, $7::int) n`
	exec(t, c.db, insert, c.store, c.order.ID, "a", 1, true, 1, app.MaxPaymentSums)
	march := period(t, "2026-03-01", "2026-03-31")
	sums, _, err := c.db.PaymentSums(t.Context(), c.store, march)
	if must(t, err); len(sums) != app.MaxPaymentSums {
		t.Errorf("sums: got %d, want %d", len(sums), app.MaxPaymentSums)
	}
	exec(t, c.db, insert, c.store, c.order.ID, "b", 1, true, app.MaxPaymentSums+1, app.MaxPaymentSums+1)
	if _, _, err := c.db.PaymentSums(t.Context(), c.store, march); app.CodeOf(err) != app.CodeLimitReached {
		t.Errorf("one row more: got %v, want %s", err, app.CodeLimitReached)
	}
	sums, _, err = c.db.PaymentSums(t.Context(), other.Stores[0], march)
	if must(t, err); len(sums) != 0 {
		t.Errorf("sums of another store: got %d, want none", len(sums))
	}
	exec(t, c.db, insert, other.Stores[0], c.order.ID, "c", app.MaxAmountMinor, false, 20001, 22000)
	if _, _, err := c.db.PaymentSums(t.Context(), other.Stores[0], march); app.CodeOf(err) != app.CodeAmountTooLarge {
		t.Errorf("large amounts: got %v, want %s", err, app.CodeAmountTooLarge)
	}
}
