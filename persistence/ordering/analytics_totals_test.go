package ordering_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestTotalsMatchRows checks that the totals, which concurrent changes of orders update, equal the
// sums of the rows.
func TestTotalsMatchRows(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 6, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	day := trading{T: t, db: db, store: r.Stores[0]}
	plenty := int64(1_000_000)
	for i := range 4 {
		product, err := db.CreateProduct(t.Context(), noon, r.Stores[0], app.Product{
			Name: fmt.Sprint("Dish ", i), PriceMinor: int64(500 + i), Currency: "EUR",
			Prices: map[app.Currency]int64{"USD": 700}, IsAvailable: true, StockQuantity: &plenty,
			OptionGroups: []app.OptionGroup{{Name: "Extras", MaxSelections: 9, Options: []app.Option{
				{Name: "Olives", PriceMinor: 150, Prices: map[app.Currency]int64{"USD": 160}, IsAvailable: true,
					MaxQuantity: 9},
				{Name: "Chili", PriceMinor: 33, Prices: map[app.Currency]int64{"USD": 0}, IsAvailable: true,
					MaxQuantity: 9},
			}}},
		}, nil)
		must(t, err)
		day.menu = append(day.menu, product)
	}
	for i := range 4 {
		customer, err := db.RegisterCustomer(t.Context(), noon.AddDate(0, 0, 6*i-12), r.Stores[0], app.Actor{},
			identity.NewCustomer{Email: fmt.Sprint(i, "@example.com"), PasswordHash: "-"}, time.Hour)
		must(t, err)
		day.customers = append(day.customers, customer.Customer.ID)
	}
	must(t, database.System().NewRaw(`SELECT id FROM store_views
		WHERE store_id = ?`, r.Stores[0]).Scan(t.Context(), &day.views))

	exec(t, database, `UPDATE stores SET loyalty_minor_per_point = '{"EUR": 1, "USD": 2}'`)
	exec(t, database, "UPDATE customers SET loyalty_points = 1000000")

	var workers sync.WaitGroup
	for seed := range uint64(6) {
		workers.Go(func() { day.trade(rand.New(rand.NewPCG(seed, 7)), 60) })
	}
	workers.Wait()
	must(t, db.Close()) // connections report their statistics when they end
	day.compare(database)
	if n := count(t, database, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n > 0 {
		t.Errorf("deadlocks: got %d, want 0", n)
	}
	if n := count(t, database, `SELECT count(*) FROM customers c WHERE kind = 'registered' AND loyalty_points <> 1000000
		+ (SELECT coalesce(sum(points), 0) FROM loyalty_entries l WHERE l.customer_id = c.id)`); n > 0 {
		t.Errorf("balances that differ from their ledgers: got %d, want 0", n)
	}
	if n := count(t, database, `SELECT count(*) FROM orders o WHERE loyalty_points > 0 AND CASE WHEN status = 'CANCELLED'
			OR total_minor > 0 AND paid_minor > 0 AND refunded_minor = paid_minor AND compensated_minor >= total_minor
			THEN 0 ELSE loyalty_points END + (SELECT sum(points) FROM loyalty_entries l WHERE l.order_id = o.id
				AND kind IN ('REDEEMED', 'RETURNED')) <> 0`); n > 0 {
		t.Errorf("orders with other points than those that are taken: got %d, want 0", n)
	}
	for _, table := range []string{"orders WHERE status = 'CANCELLED'", "refunds",
		"orders WHERE status <> 'CANCELLED' AND loyalty_minor > 0", "loyalty_entries WHERE kind = 'RETURNED'",
		"customer_returns WHERE seen_before < business_date AND customers > 0",
		"orders WHERE channel IS NOT NULL AND status <> 'CANCELLED'", "order_items WHERE product_id = ''",
		"order_items WHERE product_id <> '' AND is_priced",
		"refunds r JOIN orders o ON o.id = r.order_id WHERE o.channel IS NOT NULL"} {
		if count(t, database, "SELECT count(*) FROM "+table) < 5 {
			t.Errorf("the test made fewer than 5 %s", table)
		}
	}
}

// trading is a store in which workers change orders.
type trading struct {
	*testing.T
	db        *persistence.DB
	store     app.StoreID
	views     []app.StoreViewID
	menu      []app.Product
	customers []app.CustomerID
}

// trade places orders at random times, and applies valid and invalid changes to them. Sometimes it
// changes the store's clock.
func (d trading) trade(random *rand.Rand, steps int) {
	var orders []app.OrderID
	for range steps {
		now := noon.Add(time.Duration(random.IntN(20*24*60))*time.Minute).AddDate(0, 0, -10)
		if random.IntN(20) == 0 {
			_, err := d.db.ChangeSettings(d.Context(), now, d.store, app.Actor{}, 0, func(s *app.Settings) error {
				s.Timezone, s.BusinessDayCutoffHour = []string{"Europe/Berlin", "America/New_York",
					"Pacific/Kiritimati"}[random.IntN(3)], random.IntN(24)
				return nil
			})
			d.expect(err)
		}
		order, err := d.db.PlaceOrder(d.Context(), now, d.store, d.order(random), nil)
		d.expect(err)
		orders = append(orders, order.ID)
		for range random.IntN(3) {
			id := orders[random.IntN(len(orders))]
			if random.IntN(3) == 0 {
				payment, err := d.db.RecordPayment(d.Context(), now, d.store, id, app.NewPayment{
					Provider: "STRIPE", TransactionID: string(app.NewID[app.PaymentID](now)),
					Status: app.PaymentSucceeded, AmountMinor: 1000, TipMinor: 100, Currency: order.Currency,
				}, nil)
				if d.expect(err, app.CodeValidationFailed); err == nil {
					_, err = d.db.RefundPayment(d.Context(), now.AddDate(0, 0, 1), d.store, payment.ID,
						app.NewRefund{AmountMinor: 100 + random.Int64N(900), TipMinor: random.Int64N(101),
							Reason: "cold", ProviderRefundID: string(payment.ID)}, app.Actor{}, nil)
					d.expect(err, app.CodeRefundExceedsPayment)
				}
				continue
			}
			if random.IntN(2) == 0 {
				_, err := d.db.AmendOrder(d.Context(), now, d.store, id, d.amendment(random), nil)
				d.expect(err, app.CodeInvalidTransition, app.CodeConflict) // another customer of redeemed points
				continue
			}
			status := []app.OrderStatus{app.OrderConfirmed, app.OrderCompleted, app.OrderCancelled,
				app.OrderCancelled}[random.IntN(4)]
			_, err := d.db.ChangeOrderStatus(d.Context(), now, d.store, id, 0,
				app.OrderStatusChange{To: status, Reason: "test", MayCancel: true})
			d.expect(err, app.CodeInvalidTransition)
		}
	}
}

func (d trading) order(random *rand.Rand) app.NewOrder {
	in := app.NewOrder{
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePOS, StoreViewID: d.views[random.IntN(2)],
	}
	for range 1 + random.IntN(5) {
		dish := d.menu[random.IntN(len(d.menu))]
		item := app.NewOrderItem{ProductID: dish.ID, Quantity: 1 + random.Int64N(3)}
		for _, option := range dish.OptionGroups[0].Options[:random.IntN(3)] {
			item.Options = append(item.Options, app.NewOrderOption{OptionID: option.ID, Quantity: 1 + random.Int64N(2)})
		}
		in.Items = append(in.Items, item)
	}
	in.DiscountMinor = random.Int64N(100)
	// Orders of two channels have prices of their own and lines that are not on the menu.
	if channel := random.IntN(4); channel > 0 {
		name := fmt.Sprint("Channel ", channel%2)
		in.Channel, in.DeliveryFeeMinor = &name, new(random.Int64N(400))
		for i := range in.Items {
			if random.IntN(2) == 0 {
				in.Items[i].UnitPriceMinor = new(100 + random.Int64N(900))
			}
		}
		if random.IntN(2) == 0 {
			in.Items = append(in.Items, app.NewOrderItem{
				Name: "Bag", Quantity: 1 + random.Int64N(2), UnitPriceMinor: new(random.Int64N(50)),
			})
		}
	}
	switch n := random.IntN(10); {
	case n == 0:
	case n == 1:
		in.Guest = app.OrderCustomer{Name: "Somebody"}
	case n < 5:
		in.Guest = app.OrderCustomer{Name: "Ada", Email: fmt.Sprint("guest", n, "@example.com")}
	default:
		in.CustomerID = d.customers[random.IntN(len(d.customers))]
		if n < 8 {
			in.LoyaltyPoints = 1 + random.Int64N(100)
		}
	}
	return in
}

// amendment returns a change of items, of the customer or of both.
func (d trading) amendment(random *rand.Rand) app.OrderAmendment {
	in, change := d.order(random), app.OrderAmendment{
		DiscountMinor: new(random.Int64N(100)),
		Caller:        app.Principal{Realm: app.RealmAPIKey, Scopes: []app.Scope{app.ScopeWriteOrders}},
	}
	if random.IntN(3) > 0 {
		for _, item := range in.Items {
			amended := app.AmendedItem{Quantity: &item.Quantity, UnitPriceMinor: item.UnitPriceMinor}
			if amended.ProductID, amended.Options = &item.ProductID, &item.Options; item.Name != "" {
				amended.ProductID, amended.Options, amended.Name = nil, nil, &item.Name
			}
			change.Items = append(change.Items, amended)
		}
	}
	if random.IntN(3) > 0 {
		if change.CustomerID = in.CustomerID; in.CustomerID == "" {
			change.Guest = &in.Guest
		}
	}
	return change
}

func (d trading) expect(err error, codes ...app.Code) {
	if err != nil && !slices.Contains(codes, app.CodeOf(err)) {
		d.Error(err)
	}
}

// compare compares the analytics of several periods with the rows.
func (d trading) compare(db *persistencetest.Database) {
	d.Helper()
	rows := func(query string, p app.Period) (lines []string) {
		d.Helper()
		must(d.T, db.System().NewRaw(query, d.store, p.From.Format(time.DateOnly),
			p.To.Format(time.DateOnly)).Scan(d.Context(), &lines))
		return lines
	}
	for _, days := range [][2]int{{-400, -36}, {-40, 40}, {-20, 20}, {-9, -1}, {-3, 3}, {0, 0}, {1, 1}, {2, 8},
		{9, 30}} {
		p := app.Period{
			From: noon.Truncate(24*time.Hour).AddDate(0, 0, days[0]),
			To:   noon.Truncate(24*time.Hour).AddDate(0, 0, days[1]),
		}
		for zone, step := range map[string]int{"": 0, "Europe/Berlin": 3600, "Asia/Kathmandu": 900} {
			hours := step > 0
			if hours {
				exec(d.T, db, "UPDATE stores SET timezone = $1", zone)
			}
			sold, _, _, err := db.Sold(d.Context(), d.store, p, hours)
			must(d.T, err)
			got := []string{}
			for _, s := range sold {
				at := "-"
				if hours {
					at = fmt.Sprint(s.At.Unix())
				}
				got = append(got, fmt.Sprintln(s.Day.Format(time.DateOnly), at, s.Currency, s.Orders, s.CancelledOrders,
					s.GrossMinor, s.DiscountMinor,
					s.TaxMinor, s.DeliveryFeeMinor, s.RefundedMinor, s.ItemsSold))
			}
			moment := "'-'"
			if hours {
				moment = fmt.Sprintf("(floor(extract(epoch FROM at) / %[1]d) * %[1]d)::text", step)
			}
			want := rows(`SELECT concat_ws(' ', day, moment, currency, sum(sold), sum(cancelled), sum(sold * gross),
				sum(sold * discount), sum(sold * tax), sum(sold * fee), sum(refunded), sum(sold * items)) || E'\n'
				FROM (SELECT o.business_date AS day, o.created_at AS at, o.currency,
					CASE WHEN o.status = 'CANCELLED' THEN 0 ELSE 1 END AS sold,
					CASE WHEN o.status = 'CANCELLED' THEN 1 ELSE 0 END AS cancelled,
						o.subtotal_minor AS gross, o.discount_minor + o.loyalty_minor AS discount, o.tax_minor AS tax,
						o.delivery_fee_minor AS fee, 0 AS refunded,
						(SELECT sum(i.quantity) FROM order_items i WHERE i.order_id = o.id) AS items FROM orders o
						WHERE o.store_id = ?0
					UNION ALL SELECT business_date, created_at, currency, 0, 0, 0, 0, 0, 0, amount_minor - tip_minor, 0
					FROM refunds
					WHERE store_id = ?0) x, LATERAL (SELECT `+moment+` AS moment) m
				WHERE day BETWEEN ?1 AND ?2 GROUP BY day, moment, currency`, p)
			d.same(fmt.Sprintf("%v, hours %v", days, zone), want, got)
		}
		d.compareChannels(db, p, rows)
		products, err := db.ProductSales(d.Context(), d.store, p, ordering.ProductsCursor{}, 1000)
		must(d.T, err)
		got := []string{}
		for _, s := range products {
			product := ordering.ProductsCursorOf(s).ProductID // "" = ad hoc lines
			got = append(got, fmt.Sprint(s.Currency, " ", product, " ", s.Quantity, " ", s.NetMinor))
		}
		want := rows(`SELECT concat_ws(' ', o.currency, i.product_id, sum(i.quantity),
			sum(i.total_minor - i.discount_minor)) FROM orders o JOIN order_items i ON i.order_id = o.id
			WHERE o.store_id = ?0 AND o.status <> 'CANCELLED' AND o.business_date BETWEEN ?1 AND ?2
			GROUP BY o.currency, i.product_id`, p)
		d.same(fmt.Sprintf("%v, products", days), want, got)
		options, err := db.OptionSales(d.Context(), d.store, p, ordering.OptionsCursor{}, 1000)
		must(d.T, err)
		got = nil
		for _, s := range options {
			got = append(got, fmt.Sprint(
				s.Currency, " ", s.ProductID, " ", s.OptionID, " ", s.Quantity, " ", s.NetMinor))
		}
		want = rows(`SELECT concat_ws(' ', o.currency, i.product_id, c->>'optionId',
				sum((c->>'quantity')::bigint * i.quantity), sum((c->>'netMinor')::bigint))
			FROM orders o JOIN order_items i ON i.order_id = o.id, jsonb_array_elements(i.options) c
			WHERE o.store_id = ?0 AND o.status <> 'CANCELLED' AND o.business_date BETWEEN ?1 AND ?2
			GROUP BY o.currency, i.product_id, c->>'optionId'`, p)
		d.same(fmt.Sprintf("%v, options", days), want, got)
		counts, err := db.CustomerCounts(d.Context(), d.store, p)
		must(d.T, err)
		want = rows(`SELECT concat_ws(' ',
				(SELECT count(*) FROM customers WHERE store_id = ?0 AND business_date BETWEEN ?1 AND ?2),
				count(DISTINCT c.id) FILTER (WHERE c.business_date < ?1
					OR EXISTS (SELECT FROM orders e WHERE e.customer_id = c.id AND e.status <> 'CANCELLED'
						AND e.business_date < ?1)),
				count(*) FILTER (WHERE c.kind IS DISTINCT FROM 'registered'),
				count(*) FILTER (WHERE c.kind = 'registered'))
			FROM orders o LEFT JOIN customers c ON c.id = o.customer_id
			WHERE o.store_id = ?0 AND o.status <> 'CANCELLED' AND o.business_date BETWEEN ?1 AND ?2`, p)
		d.same(fmt.Sprintf("%v, customers", days), want,
			[]string{fmt.Sprint(counts.NewCustomers, counts.ReturningCustomers, counts.GuestOrders,
				counts.RegisteredOrders)})
	}
}

func (d trading) compareChannels(
	db *persistencetest.Database, p app.Period, rows func(query string, p app.Period) []string,
) {
	d.Helper()
	channels, _, err := db.ChannelSales(d.Context(), d.store, p)
	must(d.T, err)
	got := []string{}
	for _, s := range channels {
		channel := "-"
		if s.Channel != nil {
			channel = *s.Channel
		}
		got = append(got, fmt.Sprint(channel, " ", s.FulfillmentType, " ", s.Currency, " ", s.Orders, " ",
			s.CancelledOrders, " ", s.GrossMinor, " ", s.DiscountMinor, " ", s.TaxMinor, " ", s.DeliveryFeeMinor, " ",
			s.RefundedMinor, " ", s.ItemsSold))
	}
	want := rows(`SELECT concat_ws(' ', coalesce(o.channel, '-'), o.fulfillment_type, o.currency,
			sum(placed * sold), sum(placed * (1 - sold)), sum(placed * sold * o.subtotal_minor),
			sum(placed * sold * (o.discount_minor + o.loyalty_minor)), sum(placed * sold * o.tax_minor),
			sum(placed * sold * o.delivery_fee_minor), sum(refunded), sum(placed * sold * items))
		FROM (SELECT id, business_date AS day, 1 AS placed, 0 AS refunded FROM orders WHERE store_id = ?0
			UNION ALL SELECT order_id, business_date, 0, amount_minor - tip_minor FROM refunds WHERE store_id = ?0) x
		JOIN orders o ON o.id = x.id,
			LATERAL (SELECT CASE WHEN o.status = 'CANCELLED' THEN 0 ELSE 1 END AS sold,
				(SELECT sum(quantity) FROM order_items i WHERE i.order_id = o.id) AS items) y
		WHERE day BETWEEN ?1 AND ?2 GROUP BY o.channel, o.fulfillment_type, o.currency`, p)
	d.same(fmt.Sprintf("%v, channels", p), want, got)
}

// same compares lines regardless of their order.
func (d trading) same(name string, want, got []string) {
	d.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		d.Errorf("%s (-want +got): %s", name, diff)
	}
}
