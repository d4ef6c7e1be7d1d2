package api

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// BenchmarkPlaceOrder measures POST /orders with five items and two options each against the bare transaction: the
// same statements, prepared, through pgx alone. The orders of a store wait for each other,
// since its numbers have no gaps, so both take several stores in turns.
func BenchmarkPlaceOrder(b *testing.B) {
	const stores = 8
	workers := 2 * runtime.GOMAXPROCS(0)
	server, db, _, ids := benchServer(b, stores)
	conns := make(chan *pgx.Conn, workers)
	for range workers {
		conns <- benchConn(b, db)
	}
	var place, bare [stores]func()
	for i, store := range ids {
		issued, err := db.IssueAPIKey(b.Context(), noon, store,
			app.NewAPIKey{Name: "bench", Scopes: []app.Scope{app.ScopeWriteOrders}})
		must(err)
		order := requester(b, server, workers, "POST", "/orders", issued.Key.Reveal(), fiveItems(b, db, store))
		var placed struct{ Data app.Order }
		must(json.Unmarshal([]byte(order()), &placed))
		again := recordedOrder(b, db, placed.Data)
		place[i] = forget(order)
		bare[i] = func() {
			conn := <-conns
			defer func() { conns <- conn }()
			must(again.place(b.Context(), conn))
		}
	}
	against(b, workers, 200, "orders", inTurns(place[:]), inTurns(bare[:]))
}

func inTurns(calls []func()) func() {
	var next atomic.Int64
	return func() { calls[next.Add(1)%int64(len(calls))]() }
}

// fiveItems makes a menu in a store, and the body of an order of all of it.
func fiveItems(b *testing.B, db *persistencetest.Database, store app.StoreID) string {
	items := make([]map[string]any, 5)
	for i := range items {
		product, err := db.CreateProduct(b.Context(), noon, store, app.Product{
			Name: fmt.Sprintf("Pizza %d", i), PriceMinor: 950 + int64(i), Currency: "EUR", IsAvailable: true,
			OptionGroups: benchOptions(),
		}, nil)
		must(err)
		options := []any{}
		for _, group := range product.OptionGroups {
			options = append(options, map[string]any{"optionId": group.Options[i%len(group.Options)].ID})
		}
		items[i] = map[string]any{"productId": product.ID, "quantity": i + 1, "options": options}
	}
	body, err := json.Marshal(map[string]any{
		"items": items, "fulfillmentType": "PICKUP",
		"customer": map[string]any{"name": "Ada Lovelace", "email": "ada@example.com"},
	})
	must(err)
	return string(body)
}

// benchOptions are three sizes and eight extras.
func benchOptions() []app.OptionGroup {
	groups := []app.OptionGroup{
		{Name: "Size", MinSelections: 1, MaxSelections: 1, Options: make([]app.Option, 3)},
		{Name: "Extras", MaxSelections: 4, Options: make([]app.Option, 8)},
	}
	for g := range groups {
		groups[g].Translations = map[string]app.OptionText{"en": {Name: groups[g].Name}}
		for o := range groups[g].Options {
			name := fmt.Sprint(groups[g].Name, " ", o)
			groups[g].Options[o] = app.Option{
				Name: name, Translations: map[string]app.OptionText{"en": {Name: name}}, PriceMinor: 50 * int64(o),
				Prices: map[app.Currency]int64{"USD": 55 * int64(o)}, IsAvailable: true, MaxQuantity: 2,
			}
		}
	}
	return groups
}

// BenchmarkMenu measures a page of 100 of a menu of 1,000 products with options against its bare query, whose rows are
// read but not decoded.
func BenchmarkMenu(b *testing.B) {
	const products, limit = 1000, 100
	workers := 2 * runtime.GOMAXPROCS(0)
	server, db, user, stores := benchServer(b, 1)
	for i := range products {
		_, err := db.CreateProduct(b.Context(), noon, stores[0], app.Product{
			Name: fmt.Sprint("Dish ", i), Description: "Tomatoes, mozzarella, basil", Category: fmt.Sprint("Course ", i%10),
			PriceMinor: 950, Currency: "EUR", Prices: map[app.Currency]int64{"USD": 1100}, IsAvailable: true,
			Translations: map[string]app.ProductText{"en": {Name: "Dish", Description: "Tomato, mozzarella, basil"}},
			OptionGroups: benchOptions(), Position: int64(i),
		}, nil)
		must(err)
	}
	page := requester(b, server, workers, "GET", fmt.Sprint("/products?sort=position&limit=", limit),
		benchToken(b, server, user), "")
	var shown struct{ Data []app.Product }
	must(json.Unmarshal([]byte(page()), &shown))
	if len(shown.Data) != limit || len(shown.Data[0].OptionGroups) != 2 {
		b.Fatalf("got %d products, want %d with two groups each", len(shown.Data), limit)
	}
	conns := make(chan *pgx.Conn, workers)
	for range workers {
		conns <- benchConn(b, db)
	}
	against(b, workers, 100, "pages", forget(page), func() {
		conn := <-conns
		defer func() { conns <- conn }()
		must(barePage(b.Context(), conn, stores[0], limit))
	})
}

func barePage(ctx context.Context, conn *pgx.Conn, store app.StoreID, limit int) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('comanda.store_id', $1, true)", store); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id, store_id, sku, name, description, category, image_url, price_minor,
				currency, prices, translations, tax_rate_ppm, is_available, stock_quantity, sold_out_until, option_groups,
				position, version, created_at, updated_at, deleted_at
			FROM products WHERE store_id = $1 AND deleted_at IS NULL
			ORDER BY category COLLATE "C", position, id LIMIT $2`, store, limit+1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			rows.RawValues()
		}
		return rows.Err()
	})
}

// benchConn is a connection like those of the service.
func benchConn(b *testing.B, db *persistencetest.Database) *pgx.Conn {
	config, err := pgx.ParseConfig(db.URL)
	must(err)
	config.RuntimeParams["role"] = "comanda_app"
	config.RuntimeParams["timezone"] = "UTC"
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	conn, err := pgx.ConnectConfig(b.Context(), config)
	must(err)
	b.Cleanup(func() { conn.Close(context.WithoutCancel(b.Context())) })
	return conn
}

// recorded is an order that was placed, to be placed again by its statements alone.
type recorded struct {
	order    app.Order
	products []app.ProductID
	inserts  []insert // of the order, its items, its event and its history, in this order
}

// insert writes rows of the past again.
type insert struct {
	statement string
	columns   []string
	args      []any // row by row
}

// recordedOrder reads back what placing an order has written.
func recordedOrder(b *testing.B, db *persistencetest.Database, order app.Order) recorded {
	owner := benchOwner(b, db)
	r := recorded{order: order}
	for _, item := range order.Items {
		r.products = append(r.products, item.ProductID)
	}
	for _, from := range []string{"orders WHERE id = $1", "order_items WHERE order_id = $1",
		"outbox WHERE type = 'order.created' AND body LIKE '%' || $1 || '%'", "order_history WHERE order_id = $1"} {
		table, _, _ := strings.Cut(from, " ")
		var i insert
		must(owner.QueryRow(b.Context(),
			`SELECT array_agg(column_name::text ORDER BY ordinal_position) FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`, table).Scan(&i.columns))
		rows, err := owner.Query(b.Context(), "SELECT "+strings.Join(i.columns, ", ")+" FROM "+from, order.ID)
		must(err)
		var places []string
		for rows.Next() {
			values, err := rows.Values()
			must(err)
			row := make([]string, len(values))
			for c, value := range values {
				i.args = append(i.args, value)
				row[c] = fmt.Sprintf("$%d", len(i.args))
			}
			places = append(places, "("+strings.Join(row, ", ")+")")
		}
		must(rows.Err())
		i.statement = "INSERT INTO " + table + " (" + strings.Join(i.columns, ", ") + ") VALUES " + strings.Join(places,
			", ")
		r.inserts = append(r.inserts, i)
	}
	return r
}

// again returns the arguments with other values in some columns.
func (i insert) again(other map[string]any) []any {
	args := make([]any, len(i.args))
	for n, arg := range i.args {
		if value, ok := other[i.columns[n%len(i.columns)]]; ok {
			arg = value
		}
		args[n] = arg
	}
	return args
}

// place runs what [persistence.DB.PlaceOrder] runs, for the same customer.
func (r recorded) place(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('comanda.store_id', $1, true)", r.order.StoreID); err != nil {
			return err
		}
		read := func(statement string, args ...any) (values []any, err error) {
			rows, err := tx.Query(ctx, statement, args...)
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			for rows.Next() {
				if values, err = rows.Values(); err != nil {
					return nil, err
				}
			}
			return values, rows.Err()
		}
		if _, err := read(`SELECT s.timezone, s.business_day_cutoff_hour, s.tax_rate_ppm, s.tax_included,
			s.tax_delivery_fee, s.delivery_fees,
				v.id, v.code, v.locale, v.currency, v.is_default
			FROM stores s JOIN store_views v ON v.store_id = s.id WHERE s.id = $1 AND v.id = $2`, r.order.StoreID,
			r.order.StoreViewID); err != nil {
			return err
		}
		if _, err := read(`SELECT id, name, price_minor, currency, prices, translations, tax_rate_ppm, is_available,
			stock_quantity, sold_out_until, sku, option_groups
			FROM products WHERE store_id = $1 AND deleted_at IS NULL AND id = ANY ($2) ORDER BY id`, r.order.StoreID,
			r.products); err != nil {
			return err
		}
		now := time.Now()
		if _, err := read(`INSERT INTO customers AS c (id, store_id, kind, email, first_name, phone, total_orders,
			created_at, updated_at)
			VALUES ($1, $2, 'guest', $3, $4, $5, 1, $6, $6)
			ON CONFLICT (store_id, kind, lower(email)) WHERE email <> ''
			DO UPDATE SET total_orders = c.total_orders + 1 RETURNING id`,
			app.NewID[app.CustomerID](now), r.order.StoreID, r.order.Customer.Email, r.order.Customer.Name,
			r.order.Customer.Phone, now); err != nil {
			return err
		}
		number, err := read(`INSERT INTO order_numbers AS n (store_id, last) VALUES ($1, 1)
			ON CONFLICT (store_id) DO UPDATE SET last = n.last + 1 RETURNING last`, r.order.StoreID)
		if err != nil {
			return err
		}
		order, event := app.NewID[app.OrderID](now), app.NewID[app.EventID](now)
		for i, other := range []map[string]any{
			{"id": order, "number": number[0]}, {"order_id": order}, {"id": event},
			{"order_id": order, "event_id": event},
		} {
			if _, err := tx.Exec(ctx, r.inserts[i].statement, r.inserts[i].again(other)...); err != nil {
				return err
			}
		}
		return nil
	})
}

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

// fillOrders writes orders of a store, the last of them at noon, with five items each: nearly
// all are completed, one in fifty is cancelled, something is given back of one in a hundred.
// What analytics add up is made of them as on the day on which it was introduced. It returns
// how many.
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
	migrate := func(direction string) {
		statements, err := migrations.Files.ReadFile("20261121000035_sales.tx." + direction + ".sql")
		must(err)
		_, err = owner.Exec(b.Context(), string(statements))
		must(err)
	}
	migrate("down")
	exec("SET session_replication_role = replica") // disables foreign keys: all references are valid
	exec(`CREATE FUNCTION bench_id(prefix text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE
		AS $$ SELECT prefix || '_' || lpad(n::text, 32, '0') $$`)
	at := fmt.Sprintf("$2::timestamptz - ($3::int - n) * interval '%g s'", apart.Seconds())
	exec(`INSERT INTO customers (id, store_id, kind, email, first_name, phone, created_at, updated_at)
		SELECT bench_id('cus', n), $1, CASE n % 3 WHEN 0 THEN 'registered' ELSE 'guest' END, n || '@example.com',
			'Guest', '', `+at+`, $2 FROM generate_series(0, $3::int / 20) n`, store, noon, orders)
	exec(`INSERT INTO products (id, store_id, name, price_minor, currency, created_at, updated_at)
		SELECT bench_id('prd', n), $1, 'Product ' || n, 100, 'EUR', $2, $2 FROM generate_series(0, 199) n`, store, noon)
	exec(`INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
		customer_name, customer_email, customer_phone,
			subtotal_minor, discount_minor, delivery_fee_minor, tax_minor, tax_included, total_minor, currency,
				paid_minor, note, item_count,
			business_date, created_at, updated_at)
		SELECT bench_id('ord', n), $1, n, 'view',
			CASE WHEN n % 1000 = 0 THEN 'RECEIVED' WHEN n % 50 = 0 THEN 'CANCELLED' ELSE 'COMPLETED' END,
			CASE WHEN n <= 10 THEN 'DINE_IN' ELSE 'PICKUP' END, CASE WHEN n <= 10 THEN 'PHONE' ELSE 'WEB' END,
				bench_id('cus', (hashint4(n)::bigint & 2147483647) % ($3::int / 20)),
			chr(97 + n % 26) || 'da Number' || n, n || '@example.com', '+49' || 1000000 + n, 500, 0, 0, 33, true, 500,
				'EUR',
			CASE WHEN n <= 500 THEN 500 ELSE 0 END, '', 5, (`+at+`)::date, `+at+`, `+at+`
		FROM generate_series(1, $3::int) n`, store, noon, orders)
	exec(`INSERT INTO order_items (order_id, store_id, position, product_id, product_name, quantity, unit_price_minor,
		total_minor, discount_minor, tax_rate_ppm, business_date)
		SELECT bench_id('ord', n), $1, p, bench_id('prd', (n * (p + 1)) % 200), 'Product', 1, 100, 100, 0, 70000,
			(`+at+`)::date
		FROM generate_series(1, $3::int) n, generate_series(0, 4) p ORDER BY n, p`, store, noon, orders)
	exec(`UPDATE order_items SET options = jsonb_build_array(jsonb_build_object('groupId', 'opg_1', 'groupName', 'Size',
			'optionId', 'opt_' || position, 'name', 'Large', 'quantity', 1, 'priceMinor', 20, 'netMinor', 20))
		WHERE store_id = $1`, store)
	exec(`INSERT INTO option_sales SELECT store_id, business_date, product_id, 'opg_1', 'opt_' || position, 'EUR', 'Size',
			'Large', count(*), 20 * count(*) FROM order_items WHERE store_id = $1 GROUP BY 1, 2, 3, 4, 5`, store)
	exec(`INSERT INTO refunds (id, store_id, payment_id, order_id, amount_minor, currency, reason, provider_refund_id,
		business_date, created_at)
		SELECT bench_id('ref', n), $1, bench_id('pay', n), bench_id('ord', n), 100, 'EUR', 'cold', 're', (`+at+`)::date,
			`+at+` FROM generate_series(100, $3::int, 100) n`, store, noon, orders)
	exec("DROP FUNCTION bench_id")
	migrate("up")
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
		var answer struct{ Data []app.Order }
		must(json.Unmarshal([]byte(get()), &answer))
		if len(answer.Data) != 20 || answer.Data[0].Number != fmt.Sprint(newest) {
			b.Fatalf("%s: got %d orders, first %+v, want 20, first number %d", query, len(answer.Data),
				answer.Data[:min(1, len(answer.Data))], newest)
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
		"/analytics/products?" + month, "/analytics/options?" + month, "/analytics/customers?" + month,
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
