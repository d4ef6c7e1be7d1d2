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

// BenchmarkAmendOrder measures PATCH /orders/{id}, which changes the quantity of one of five items, against POST
// /orders of such orders: bare is the latter.
func BenchmarkAmendOrder(b *testing.B) {
	const stores, each = 8, 4 // open orders
	workers := 2 * runtime.GOMAXPROCS(0)
	server, db, _, ids := benchServer(b, stores)
	send := sender(b, server, workers)
	open := make(chan *amendable, stores*each)
	var place [stores]func()
	for i, store := range ids {
		issued, err := db.IssueAPIKey(b.Context(), noon, store,
			app.NewAPIKey{Name: "bench", Scopes: []app.Scope{app.ScopeWriteOrders}})
		must(err)
		order := requester(b, server, workers, "POST", "/orders", issued.Key.Reveal(), fiveItems(b, db, store))
		place[i] = forget(order)
		for range each {
			var placed struct{ Data app.Order }
			must(json.Unmarshal([]byte(order()), &placed))
			open <- &amendable{placed.Data, issued.Key.Reveal()}
		}
	}
	against(b, workers, 200, "amendments", func() {
		o := <-open
		defer func() { open <- o }()
		send("PATCH", "/orders/"+string(o.ID), o.key, o.change(), ifMatch(o.Version))
		o.Version++
	}, inTurns(place[:]))
}

// amendable is an open order and a key that may change it.
type amendable struct {
	app.Order
	key string
}

// change is the body of a change of the first item's quantity, which differs from the present one.
func (o *amendable) change() string {
	items := make([]map[string]any, len(o.Items))
	for i, item := range o.Items {
		items[i] = map[string]any{"id": item.ID}
	}
	items[0]["quantity"] = 2 + o.Version%2
	body, err := json.Marshal(map[string]any{"items": items})
	must(err)
	return string(body)
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
// read but not decoded. The default view has the products' own texts and prices; the other view has translations and
// another currency.
func BenchmarkMenu(b *testing.B) {
	const products, limit = 1000, 100
	workers := 2 * runtime.GOMAXPROCS(0)
	server, db, user, stores := benchServer(b, 1)
	other, err := db.AddView(b.Context(), noon, stores[0], app.Actor{},
		app.StoreView{Code: "en_gb", Locale: "en-GB", Currency: "USD"}, nil)
	must(err)
	for i := range products {
		_, err := db.CreateProduct(b.Context(), noon, stores[0], app.Product{
			Name: fmt.Sprint("Dish ", i), Description: "Tomatoes, mozzarella, basil",
			Category:   fmt.Sprint("Course ", i%10),
			PriceMinor: 950, Currency: "EUR", Prices: map[app.Currency]int64{"USD": 1100}, IsAvailable: true,
			Translations: map[string]app.ProductText{"en": {Name: "Dish", Description: "Tomato, mozzarella, basil"}},
			OptionGroups: benchOptions(), Position: int64(i),
		}, nil)
		must(err)
	}
	conns := make(chan *pgx.Conn, workers)
	for range workers {
		conns <- benchConn(b, db)
	}
	token := benchToken(b, server, user)
	for _, view := range []struct {
		name, query string
		price       int64
	}{{"default", "", 950}, {"other", fmt.Sprint("&storeViewId=", other.ID), 1100}} {
		b.Run(view.name, func(b *testing.B) {
			page := requester(b, server, workers, "GET",
				fmt.Sprint("/products?sort=position&limit=", limit, view.query), token, "")
			var shown struct{ Data []app.Product }
			must(json.Unmarshal([]byte(page()), &shown))
			if first := shown.Data[0]; len(shown.Data) != limit || len(first.OptionGroups) != 2 ||
				first.PriceMinor != view.price {
				b.Fatalf("got %d products, the first %+v, want %d with two groups and the price %d", len(shown.Data),
					first, limit, view.price)
			}
			against(b, workers, 100, "pages", forget(page), func() {
				conn := <-conns
				defer func() { conns <- conn }()
				must(barePage(b.Context(), conn, stores[0], limit))
			})
		})
	}
}

func barePage(ctx context.Context, conn *pgx.Conn, store app.StoreID, limit int) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('comanda.store_id', $1, true)", store); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id, store_id, sku, name, description, category, image_url, price_minor,
				currency, prices, translations, tax_rate_ppm, is_available, stock_quantity, sold_out_until,
				option_groups,
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
		r.products = append(r.products, *item.ProductID)
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
			business_date, created_at, updated_at)
			VALUES ($1, $2, 'guest', $3, $4, $5, 1, $6::timestamptz, $6, $6)
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
