package api

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// benchOwner is a connection as the owner of everything.
func benchOwner(b *testing.B, db *persistencetest.Database) *pgx.Conn {
	conn, err := pgx.Connect(b.Context(), db.OwnerURL)
	must(err)
	b.Cleanup(func() { conn.Close(context.WithoutCancel(b.Context())) })
	return conn
}

// apart is how far from each other orders are of which a million are placed in a year.
const apart = 31_500 * time.Millisecond

// benchID is an id as long as those of the service.
func benchID(prefix string, n int) string { return fmt.Sprintf("%s_%032d", prefix, n) }

// sumOrders are the statements that fill the tables of analytics from the orders of a store.
var sumOrders = []string{
	`INSERT INTO sales (store_id, business_date, quarter, channel, fulfillment_type, currency, orders, guest_orders,
			cancelled_orders, gross_minor, discount_minor, tax_minor, delivery_fee_minor, items_sold)
		SELECT o.store_id, o.business_date, date_bin('15 minutes', o.created_at, 'epoch'), coalesce(o.channel, ''),
			o.fulfillment_type, o.currency,
			count(*) FILTER (WHERE o.status <> 'CANCELLED'),
			count(*) FILTER (WHERE o.status <> 'CANCELLED' AND c.kind = 'guest'),
			count(*) FILTER (WHERE o.status = 'CANCELLED'),
			sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.subtotal_minor END),
			sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.discount_minor END),
			sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.tax_minor END),
			sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.delivery_fee_minor END),
			sum(CASE o.status WHEN 'CANCELLED' THEN 0 ELSE o.item_count END)
		FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.store_id = $1 GROUP BY 1, 2, 3, 4, 5, 6`,
	`INSERT INTO customer_days (store_id, customer_id, business_date, orders)
		SELECT store_id, customer_id, business_date, count(*) FROM orders
		WHERE store_id = $1 AND status <> 'CANCELLED' GROUP BY 1, 2, 3`,
	`INSERT INTO customer_returns (store_id, business_date, seen_before, customers)
		SELECT store_id, business_date, seen_before, count(*)
		FROM (SELECT d.store_id, d.business_date,
				coalesce(lag(d.business_date) OVER (PARTITION BY d.store_id, d.customer_id ORDER BY d.business_date),
					c.business_date) AS seen_before
			FROM customer_days d JOIN customers c ON c.id = d.customer_id WHERE d.store_id = $1) v GROUP BY 1, 2, 3`,
	`INSERT INTO product_sales (store_id, business_date, product_id, currency, quantity, net_minor)
		SELECT o.store_id, o.business_date, i.product_id, o.currency, sum(i.quantity),
			sum(i.total_minor - i.discount_minor)
		FROM order_items i JOIN orders o ON o.id = i.order_id
		WHERE o.store_id = $1 AND o.status <> 'CANCELLED' GROUP BY 1, 2, 3, 4`,
}

// fillOrders writes orders of a store, the last of them at noon, with five items each: nearly
// all are completed, one in fifty is cancelled, something is given back of one in a hundred.
// It adds up the tables of analytics, without their triggers, and returns the number of orders.
func fillOrders(b *testing.B, db *persistencetest.Database, store app.StoreID) int {
	orders := 150_000
	if *long {
		orders = 1_000_000
	}
	owner := benchOwner(b, db)
	exec := func(statement string, args ...any) {
		_, err := owner.Exec(b.Context(), statement, args...)
		must(err)
	}
	exec("SET session_replication_role = replica") // disables triggers and foreign keys: all references are valid
	exec(`CREATE FUNCTION bench_id(prefix text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE
		AS $$ SELECT prefix || '_' || lpad(n::text, 32, '0') $$`)
	at := fmt.Sprintf("$2::timestamptz - ($3::int - n) * interval '%g s'", apart.Seconds())
	exec(`INSERT INTO customers (id, store_id, kind, email, first_name, phone, business_date, created_at, updated_at)
		SELECT bench_id('cus', n), $1, CASE n % 3 WHEN 0 THEN 'registered' ELSE 'guest' END, n || '@example.com',
			'Guest', '', (`+at+`)::date, `+at+`, $2 FROM generate_series(0, $3::int / 20) n`, store, noon, orders)
	exec(`INSERT INTO products (id, store_id, name, price_minor, currency, created_at, updated_at)
		SELECT bench_id('prd', n), $1, 'Product ' || n, 100, 'EUR', $2, $2 FROM generate_series(0, 199) n`, store, noon)
	exec(`INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
		customer_name, customer_email, customer_phone,
			subtotal_minor, discount_minor, delivery_fee_minor, tax_minor, tax_included, total_minor, currency,
				paid_minor, note, item_count,
			business_date, promised_at, created_at, updated_at)
		SELECT bench_id('ord', n), $1, n, 'view',
			CASE WHEN n % 1000 = 0 THEN 'RECEIVED' WHEN n % 50 = 0 THEN 'CANCELLED' ELSE 'COMPLETED' END,
			CASE WHEN n <= 10 THEN 'DINE_IN' ELSE 'PICKUP' END, CASE WHEN n <= 10 THEN 'PHONE' ELSE 'WEB' END,
				bench_id('cus', (hashint4(n)::bigint & 2147483647) % ($3::int / 20)),
			chr(97 + n % 26) || 'da Number' || n, n || '@example.com', '+49' || 1000000 + n, 500, 0, 0, 33, true, 500,
				'EUR',
			CASE WHEN n <= 500 THEN 500 ELSE 0 END, '', 5, (`+at+`)::date, `+at+`, `+at+`, `+at+`
		FROM generate_series(1, $3::int) n`, store, noon, orders)
	exec(`INSERT INTO order_items (order_id, id, store_id, position, product_id, product_name, quantity,
		unit_price_minor,
		total_minor, discount_minor, tax_rate_ppm, business_date)
		SELECT bench_id('ord', n), bench_id('itm', p), $1, p, bench_id('prd', (n * (p + 1)) % 200), 'Product', 1, 100,
			100, 0, 70000,
			(`+at+`)::date
		FROM generate_series(1, $3::int) n, generate_series(0, 4) p ORDER BY n, p`, store, noon, orders)
	exec(`UPDATE order_items SET options = jsonb_build_array(jsonb_build_object('groupId', 'opg_1', 'groupName', 'Size',
			'optionId', 'opt_' || position, 'name', 'Large', 'quantity', 1, 'priceMinor', 20, 'netMinor', 20))
		WHERE store_id = $1`, store)
	exec(`INSERT INTO option_sales SELECT store_id, business_date, product_id, 'opg_1', 'opt_' || position, 'EUR',
		'Size',
			'Large', count(*), 20 * count(*) FROM order_items WHERE store_id = $1 GROUP BY 1, 2, 3, 4, 5`, store)
	exec(`INSERT INTO refunds (id, store_id, payment_id, order_id, provider, amount_minor, currency, reason,
		provider_refund_id, business_date, created_at)
		SELECT bench_id('ref', n), $1, bench_id('pay', n), bench_id('ord', n), 'STRIPE', 100, 'EUR', 'cold', 're_' || n,
			(`+at+`)::date, `+at+` FROM generate_series(100, $3::int, 100) n`, store, noon, orders)
	exec("DROP FUNCTION bench_id")
	for _, statement := range sumOrders {
		exec(statement, store)
	}
	for _, table := range []string{"customers", "products", "orders", "order_items", "refunds", "sales",
		"product_sales", "option_sales", "customer_returns", "customer_days"} {
		exec("VACUUM ANALYZE " + table)
	}
	return orders
}

// BenchmarkOrdersDepth measures the page of GET /orders after the newest 100,000 orders
// against the first page.
func BenchmarkOrdersDepth(b *testing.B) {
	const depth = 100_000
	workers := 2 * runtime.GOMAXPROCS(0)
	server, db, user, stores := benchServer(b, 1)
	orders := fillOrders(b, db, stores[0])
	token := benchToken(b, server, user)
	last := orders - depth + 1
	cursor := server.cursors.seal("/orders\n\n"+string(stores[0])+"\n",
		timePosition(app.At(noon.Add(time.Duration(last-orders)*apart)), benchID("ord", last)))
	page := func(query string, newest int) func() {
		get := requester(b, server, workers, "GET", "/orders"+query, token, "")
		var page struct{ Data []app.Order }
		must(json.Unmarshal([]byte(get()), &page))
		if len(page.Data) != 20 || page.Data[0].Number != fmt.Sprint(newest) {
			b.Fatalf("%s: got %d orders, first %+v, want 20, first number %d", query, len(page.Data),
				page.Data[:min(1, len(page.Data))], newest)
		}
		return forget(get)
	}
	against(b, workers, 100, "deep-pages", page("?cursor="+cursor, last-1), page("", orders))
}

// BenchmarkManyOrders measures lists, searches and a month of analytics of a store with very
// many orders, one request after the other, against the 50 ms that each may take.
func BenchmarkManyOrders(b *testing.B) {
	const most = 50 * time.Millisecond
	server, db, user, stores := benchServer(b, 1)
	fillOrders(b, db, stores[0])
	token := benchToken(b, server, user)
	const month = "from=2026-02-01&to=2026-02-28"
	for _, path := range []string{
		"/orders", "/orders?limit=100",
		"/orders?status=RECEIVED&status=CONFIRMED", "/orders?status=CANCELLED", "/orders?fulfillmentType=DINE_IN",
		"/orders?fulfillmentType=DELIVERY",
		"/orders?source=PHONE", "/orders?customerId=" + benchID("cus", 17), "/orders?orderId=4711",
		"/orders?businessDate=2026-02-01",
		"/orders?createdTo=2026-02-01T00:00:00Z", "/orders?updatedSince=2026-03-14T00:00:00Z",
		"/orders?needsRefund=true", "/orders?needsRefund=false",
		"/orders?q=4711", "/orders?q=number4711", "/orders?q=4711@example", "/orders?q=%2B491004711", "/orders?q=b",
		"/orders?q=nobody",
		"/analytics/summary?" + month, "/analytics/sales?" + month, "/analytics/sales?granularity=hour&" + month,
		"/analytics/products?" + month, "/analytics/options?" + month, "/analytics/channels?" + month,
		"/analytics/customers?" + month,
	} {
		b.Run("GET "+path, func(b *testing.B) {
			get := requester(b, server, 1, "GET", path, token, "")
			get()
			var m meter
			for b.Loop() {
				m.round(1, 1, forget(get))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1e3*m.at(50).Seconds(), "median-ms")
			b.ReportMetric(1e3*m.at(99).Seconds(), "p99-ms")
			b.ReportMetric(m.at(50).Seconds()/most.Seconds(), "of-50ms")
		})
	}
}
