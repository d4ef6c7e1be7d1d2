package ordering_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// year inserts a year of orders into two stores. The orders have one to three items and two
// currencies; every seventh order is cancelled.
func (r restaurant) year(t *testing.T, db *persistencetest.Database, orders int) {
	t.Helper()
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{
		`INSERT INTO products (id, store_id, name, price_minor, currency, created_at, updated_at)
			SELECT 'prd_' || s || '_' || n, st, 'Dish ' || n, 100, 'EUR', now(), now()
			FROM unnest(ARRAY[$2, $3]) WITH ORDINALITY AS x (st, s), generate_series(0, 40) n
			WHERE $1::bigint > 0 AND $4::timestamptz IS NOT NULL`,
		`INSERT INTO customers (id, store_id, kind, first_name, business_date, created_at, updated_at)
			SELECT 'cus_' || s || '_' || n, st, CASE WHEN n % 3 = 0 THEN 'registered' ELSE 'guest' END, 'C' || n,
				(at - interval '4 hours')::date, at, now()
			FROM unnest(ARRAY[$2, $3]) WITH ORDINALITY AS x (st, s), generate_series(0, $1::bigint / 5) n,
				LATERAL (SELECT $4::timestamptz + n * interval '1 day' / ($1::bigint / 5 / 365.0) AS at) a`,
		`INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
			customer_name, customer_email, customer_phone,
				subtotal_minor, discount_minor, delivery_fee_minor, tax_minor, tax_included, total_minor, currency,
				note, business_date, item_count, promised_at, created_at, updated_at)
			SELECT 'ord_' || s || '_' || n, st, n, 'view_1', CASE n % 7 WHEN 0 THEN 'CANCELLED' ELSE 'COMPLETED' END,
				'PICKUP', 'POS', 'cus_' || s || '_' || n * 7919 % ($1::bigint / 5), '', '', '',
				100 * (1 + n % 3), n % 90, n % 11, n % 13, true, 100 * (1 + n % 3) - n % 90 + n % 11,
				CASE n % 4 WHEN 0 THEN 'USD' ELSE 'EUR' END, '',
				(at - interval '4 hours')::date, 1 + n % 3, at, at, at
			FROM unnest(ARRAY[$2, $3]) WITH ORDINALITY AS x (st, s), generate_series(1, $1::bigint) n,
				LATERAL (SELECT $4::timestamptz + n * interval '365 days' / $1::bigint AS at) a`,
		`INSERT INTO order_items (order_id, id, store_id, position, product_id, product_name, quantity,
			unit_price_minor,
			total_minor, discount_minor, tax_rate_ppm, business_date)
			SELECT o.id, 'itm_' || p, o.store_id, p, 'prd_' || s || '_' || (o.number * 7 + p * p) % 41, 'Dish', 1,
				100, 100,
				CASE p WHEN 0 THEN o.discount_minor ELSE 0 END, 0, o.business_date
			FROM unnest(ARRAY[$2, $3]) WITH ORDINALITY AS x (st, s)
			JOIN orders o ON o.store_id = st, generate_series(0, o.item_count - 1) p
			WHERE $1::bigint > 0 AND $4::timestamptz IS NOT NULL`,
		`INSERT INTO payments (id, store_id, order_id, provider, transaction_id, status, amount_minor, currency,
			payment_method, card_last4, error_code, business_date, created_at)
			SELECT 'pay_' || id, store_id, id, 'CASH', id, 'SUCCEEDED', 100, currency, 'cash', '', '', business_date,
				created_at
			FROM orders WHERE store_id IN ($2, $3) AND $1::bigint > 0 AND $4::timestamptz IS NOT NULL`,
	} {
		_, err := owner.ExecContext(t.Context(), statement, orders, r.Stores[0], r.Stores[1],
			time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		must(t, err)
	}
	// A concurrent snapshot delays the time from which VACUUM marks the rows as visible to all.
	for visible := false; !visible; {
		_, err = owner.ExecContext(t.Context(),
			`VACUUM ANALYZE orders, customers, products, payments, sales, product_sales, customer_returns,
				customer_days`)
		must(t, err)
		must(t, owner.QueryRowContext(t.Context(), `SELECT bool_and(relallvisible = relpages) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relname IN ('orders', 'customers')`).Scan(&visible))
	}
}

// refundSome refunds the payments of every tenth order of both stores on the day of the order.
func (r restaurant) refundSome(t *testing.T, db *persistencetest.Database) {
	t.Helper()
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), `INSERT INTO refunds (id, store_id, payment_id, order_id, provider,
			amount_minor, currency, reason, provider_refund_id, business_date, created_at)
		SELECT 'rfd_' || p.id, p.store_id, p.id, p.order_id, p.provider, 1, p.currency, '', p.id, p.business_date,
			p.created_at
		FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.store_id IN ($1, $2) AND o.number % 10 = 0`,
		r.Stores[0], r.Stores[1])
	must(t, err)
	_, err = owner.ExecContext(t.Context(), "VACUUM ANALYZE refunds")
	must(t, err)
}

func period(t *testing.T, from, to string) app.Period {
	t.Helper()
	p, err := app.ParsePeriod(from, to)
	must(t, err)
	return p
}

// TestAnalyticsMatchRows compares the queries with sums that the test computes from the rows.
func TestAnalyticsMatchRows(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.year(t, db, 2000)
	_, err := db.ChangeSettings(t.Context(), noon, r.Stores[0], app.Actor{}, 0, func(s *app.Settings) error {
		s.Timezone, s.BusinessDayCutoffHour = "UTC", 4
		return nil
	})
	must(t, err)
	march := period(t, "2026-03-01", "2026-03-31")

	wantSales, wantHours := map[app.Currency]app.Sales{}, map[time.Time]int64{}
	wantProducts := map[ordering.ProductsCursor]app.ProductSales{}
	products := map[ordering.ProductsCursor]*app.ProductSales{}
	var wantCounts app.CustomerCounts
	returning := map[string]bool{}
	rows, err := db.System().DB.QueryContext(t.Context(), `
		SELECT o.currency, o.status, o.subtotal_minor, o.discount_minor, o.tax_minor, o.delivery_fee_minor,
			o.created_at, i.product_id, i.quantity, i.total_minor - i.discount_minor,
			i.position, c.id, c.kind, (c.created_at - interval '4 hours')::date < '2026-03-01' OR EXISTS (
				SELECT FROM orders e WHERE e.customer_id = c.id AND e.status <> 'CANCELLED'
					AND (e.created_at - interval '4 hours')::date < '2026-03-01')
		FROM orders o JOIN order_items i ON i.order_id = o.id JOIN customers c ON c.id = o.customer_id
		WHERE o.store_id = $1
			AND (o.created_at - interval '4 hours')::date BETWEEN '2026-03-01' AND '2026-03-31'`, r.Stores[0])
	must(t, err)
	defer rows.Close()
	begin, end := time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 4, 0, 0, 0, time.UTC)
	for rows.Next() {
		var status, customer, kind string
		var product app.ProductID
		var currency app.Currency
		var gross, discount, tax, fee, quantity, net, position int64
		var at time.Time
		var seen bool
		must(t, rows.Scan(&currency, &status, &gross, &discount, &tax, &fee, &at, &product, &quantity, &net, &position,
			&customer, &kind, &seen))
		s := wantSales[currency]
		s.Currency = currency
		switch {
		case status == "CANCELLED" && position == 0:
			s.CancelledOrders++
		case status == "CANCELLED":
		default:
			s.ItemsSold += quantity
			key := ordering.ProductsCursor{ProductID: product, Currency: currency}
			if products[key] == nil {
				products[key] = &app.ProductSales{
					ProductID: new(product), ProductName: "Dish " + strings.SplitN(string(product), "_", 3)[2],
					Currency: currency,
				}
			}
			products[key].Quantity += quantity
			products[key].NetMinor += net
			if position > 0 {
				break
			}
			s.Orders++
			s.GrossMinor, s.DiscountMinor = s.GrossMinor+gross, s.DiscountMinor+discount
			s.TaxMinor, s.DeliveryFeeMinor = s.TaxMinor+tax, s.DeliveryFeeMinor+fee
			s.NetMinor = s.GrossMinor - s.DiscountMinor
			s.AverageOrderMinor = (s.NetMinor*2 + s.Orders) / (s.Orders * 2)
			wantHours[at.UTC().Truncate(time.Hour)]++
			if kind == "guest" {
				wantCounts.GuestOrders++
			} else {
				wantCounts.RegisteredOrders++
			}
			if seen {
				returning[customer] = true
			}
		}
		wantSales[currency] = s
	}
	must(t, rows.Err())
	for _, p := range products {
		wantProducts[ordering.ProductsCursorOf(*p)] = *p
	}
	wantCounts.ReturningCustomers = int64(len(returning))
	wantCounts.NewCustomers = int64(count(t, db, `SELECT count(*) FROM customers
		WHERE store_id = $1 AND created_at >= $2 AND created_at < $3`, r.Stores[0], begin, end))

	sold, currencies, clock, err := db.Sold(t.Context(), r.Stores[0], march, false)
	must(t, err)
	if slices.Sort(currencies); clock.Cutoff != 4 || clock.Zone != time.UTC ||
		!slices.Equal(currencies, []app.Currency{"EUR", "USD"}) {
		t.Errorf("Sold: got clock %v and currencies %v, want cutoff 4 in UTC and [EUR USD]", clock, currencies)
	}
	sums, err := app.Sum(sold, currencies)
	must(t, err)
	if diff := cmp.Diff([]app.Sales{wantSales["EUR"], wantSales["USD"]}, sums); diff != "" {
		t.Errorf("sales (-want +got):\n%s", diff)
	}
	if sums[0].CancelledOrders == 0 {
		t.Error("the sample contains no cancelled order")
	}
	byQuarter, _, _, err := db.Sold(t.Context(), r.Stores[0], march, true)
	must(t, err)
	hours, err := march.Plot(byQuarter, currencies, app.Hourly, clock.Zone, clock.Cutoff)
	must(t, err)
	gotHours := map[time.Time]int64{}
	for _, b := range hours {
		at, err := time.Parse(time.RFC3339, b.Bucket)
		must(t, err)
		if b.Orders > 0 {
			gotHours[at] += b.Orders
		}
	}
	if diff := cmp.Diff(wantHours, gotHours); diff != "" {
		t.Errorf("orders by hour (-want +got):\n%s", diff)
	}
	if want := 2 * 24 * 31; len(hours) != want {
		t.Errorf("hours: got %d, want %d", len(hours), want)
	}

	// Pages of seven contain each product once, in the order of the list.
	var after ordering.ProductsCursor
	var last ordering.ProductsCursor
	got := map[ordering.ProductsCursor]app.ProductSales{}
	for {
		page, err := db.ProductSales(t.Context(), r.Stores[0], march, after, 7)
		must(t, err)
		for _, p := range page {
			at := ordering.ProductsCursorOf(p)
			if _, twice := got[at]; twice || last.Currency > at.Currency || last.Currency == at.Currency &&
				(last.NetMinor < at.NetMinor || last.NetMinor == at.NetMinor && last.ProductID >= at.ProductID) {
				t.Errorf("got product %+v after %+v, want the next one in the order of the list", at, last)
			}
			got[at], last = p, at
		}
		if len(page) < 7 {
			break
		}
		after = ordering.ParseProductsCursor(last.String())
	}
	if diff := cmp.Diff(wantProducts, got); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if len(got) < 60 {
		t.Errorf("the sample contains %d products, want at least 60", len(got))
	}
	counts, err := db.CustomerCounts(t.Context(), r.Stores[0], march)
	must(t, err)
	if diff := cmp.Diff(wantCounts, counts); diff != "" {
		t.Errorf("customers (-want +got):\n%s", diff)
	}
	if counts.NewCustomers == 0 || counts.ReturningCustomers == 0 {
		t.Errorf("the sample lacks new or returning customers: %+v", counts)
	}
}

// TestAnalyticsUseIndexes checks that the queries read the totals of the period, and neither orders
// nor other periods.
func TestAnalyticsUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.year(t, db, 8_000)
	r.refundSome(t, db)
	march := period(t, "2026-03-01", "2026-03-31")
	plans, err := db.ExplainAnalytics(t.Context(), r.Stores[0], march)
	must(t, err)
	for name, indexes := range map[string][]string{
		"days": {"sales_pkey", "refunds_by_day"}, "hours": {"sales_pkey", "refunds_by_day"},
		"channels":  {"sales_pkey", "refunds_by_day", "orders_pkey"},
		"products":  {"product_sales_pkey"},
		"payments":  {"payments_by_day"},
		"customers": {"sales_pkey", "customer_returns_pkey", "Index Only Scan using customers_by_day"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, index := range indexes {
				if !strings.Contains(plans[name], index) {
					t.Errorf("plan of %s does not use %s:\n%s", name, index, plans[name])
				}
			}
			if strings.Contains(strings.ReplaceAll(plans[name], "Seq Scan on products", ""), "Seq Scan") ||
				name != "channels" && strings.Contains(plans[name], "on orders") {
				t.Errorf("plan: got a scan of all rows or of orders, want neither:\n%s", plans[name])
			}
		})
	}
}

// TestAnalyticsRejectLargeSums checks that sums above app.MaxAmountMinor are refused.
func TestAnalyticsRejectLargeSums(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil)
	must(t, err)
	for _, statement := range []string{
		`INSERT INTO orders (id, number, subtotal_minor, total_minor, discount_minor, delivery_fee_minor, tax_minor,
			tax_included, store_id, store_view_id, status, fulfillment_type, source,
				customer_id, customer_name, customer_email, customer_phone, currency, note, business_date, item_count,
				promised_at, created_at, updated_at)
			SELECT 'ord_' || n, 1 + n, $1, $1, 0, 0, 0, true, store_id, store_view_id, status, fulfillment_type, source,
				customer_id, customer_name, customer_email, customer_phone, currency, note, business_date, item_count,
				promised_at, created_at, updated_at
			FROM orders, generate_series(1, 2000) n`,
		`INSERT INTO order_items (order_id, id, store_id, position, product_id, product_name, quantity,
			unit_price_minor,
			total_minor, discount_minor, tax_rate_ppm, business_date)
			SELECT 'ord_' || n, id, store_id, position, product_id, product_name, 1, $1, $1, 0, 0, business_date
			FROM order_items, generate_series(1, 2000) n`,
	} {
		exec(t, db, statement, int64(app.MaxAmountMinor))
	}
	whole := period(t, "2026-01-01", "2026-12-31")
	sold, _, _, err := db.Sold(t.Context(), r.Stores[0], whole, false)
	must(t, err)
	if _, err := app.Sum(sold, nil); app.CodeOf(err) != app.CodeAmountTooLarge {
		t.Errorf("Sum: got error %v, want %s", err, app.CodeAmountTooLarge)
	}
	_, err = db.ProductSales(t.Context(), r.Stores[0], whole, ordering.ProductsCursor{}, 10)
	if app.CodeOf(err) != app.CodeAmountTooLarge {
		t.Errorf("ProductSales: got error %v, want %s", err, app.CodeAmountTooLarge)
	}
}

// A refund counts on the day of the refund, not on the day of the order.
func TestSoldCountsRefundsOnDayOfRefund(t *testing.T) {
	t.Parallel()
	till := newTill(t)
	payment, _, err := till.pay(aPayment("pi_1", 1900))
	must(t, err)
	tomorrow := noon.AddDate(0, 0, 1)
	for id, at := range map[string]time.Time{"re_1": noon, "re_2": tomorrow, "re_3": tomorrow} {
		_, err := till.db.RefundPayment(t.Context(), at, till.store, payment.ID,
			app.NewRefund{AmountMinor: 100, Reason: "cold", ProviderRefundID: id}, app.Actor{}, nil)
		must(t, err)
	}
	for _, hours := range []bool{false, true} {
		sold, _, _, err := till.db.Sold(t.Context(), till.store, period(t, "2026-03-14", "2026-03-15"), hours)
		must(t, err)
		got := map[string][3]int64{}
		for _, s := range sold {
			day := s.Day.Format(time.DateOnly)
			sum := got[day]
			got[day] = [3]int64{sum[0] + s.Orders, sum[1] + s.CancelledOrders, sum[2] + s.RefundedMinor}
		}
		if diff := cmp.Diff(map[string][3]int64{"2026-03-14": {1, 0, 100}, "2026-03-15": {0, 0, 200}},
			got); diff != "" {
			t.Errorf("orders, cancelled orders and refunds by day, with hours %v (-want +got): %s", hours, diff)
		}
	}
}
