package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestAnalytics(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // with an order of two pizzas by a guest at noon of the 14th
	eur, usd := w.stores["own"].view, app.StoreViewID("")
	w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM store_views WHERE store_id = $1 AND id <> $2",
		w.stores["own"].id, eur.ID).Scan(&usd))
	var pasta app.Product
	w.do("POST", "/products", w.tokens["OWNER"],
		object{"name": "Pasta", "priceMinor": 800, "currency": "EUR", "prices": object{"USD": 900}}).ok(201, &pasta)
	customer := w.addCustomer("own", "grace@example.com").Customer
	token := func() string { return w.token("OWNER", w.stores["own"].id) }
	order := func(at time.Time, change object) (placed orderOut) {
		t.Helper()
		w.now = at
		w.do("POST", "/orders", token(), altered(w.orderBody("own"), change)).ok(201, &placed)
		return placed
	}
	items := func(product app.ProductID, quantity int) []any {
		return []any{object{"productId": product, "quantity": quantity}}
	}
	night := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC) // 00:30 of the 29th in Berlin
	order(night, object{"items": items(pasta.ID, 3), "discountMinor": 100, "customer": nil, "customerId": customer.ID})
	order(night.Add(time.Hour), object{"storeViewId": usd})   // 01:30
	order(night.Add(2*time.Hour), object{"storeViewId": usd}) // 03:30
	cancelled := order(night.Add(3*time.Hour), object{"items": items(pasta.ID, 50)})
	_, err := w.db.System().DB.ExecContext(t.Context(), "UPDATE orders SET status = 'CANCELLED' WHERE id = $1",
		cancelled.ID)
	w.must(err)
	order(time.Date(2026, 3, 31, 22, 30, 0, 0, time.UTC), nil) // in April

	get := func(path, query string, into any) *response {
		t.Helper()
		return w.do("GET", "/analytics/"+path+"?"+query, w.key("own", app.ScopeReadAnalytics), nil).ok(200, into)
	}
	const march = "from=2026-03-01&to=2026-03-31"
	var sums []app.Sales
	a := get("summary", march, &sums)
	want := []app.Sales{
		{
			Currency: "EUR", Orders: 2, CancelledOrders: 1, GrossMinor: 4300, DiscountMinor: 100, NetMinor: 4200,
			TaxMinor: 124 + 150, AverageOrderMinor: 2100, ItemsSold: 5,
		},
		{
			Currency: "USD", Orders: 2, GrossMinor: 4400, NetMinor: 4400, TaxMinor: 288, AverageOrderMinor: 2200,
			ItemsSold: 4,
		},
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("sums of March (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"from": "2026-03-01", "to": "2026-03-31", "timezone": "Europe/Berlin",
		"requestId": a.Header().Get("X-Request-Id")}, a.body.Meta); diff != "" {
		t.Errorf("metadata of March (-want +got):\n%s", diff)
	}
	get("summary", "from=2026-02-01&to=2026-02-28", &sums)
	if diff := cmp.Diff([]app.Sales{{Currency: "EUR"}, {Currency: "USD"}}, sums); diff != "" {
		t.Errorf("sums without sales (-want +got):\n%s", diff)
	}

	for granularity, n := range map[string]int{"": 31, "&granularity=day": 31, "&granularity=hour": 31*24 - 1,
		"&granularity=week": 6, "&granularity=month": 1} {
		var buckets []app.SalesBucket
		get("sales", march+granularity, &buckets)
		var orders, net, cancelled int64
		for _, b := range buckets {
			orders, net, cancelled = orders+b.Orders, net+b.NetMinor, cancelled+b.CancelledOrders
		}
		if len(buckets) != 2*n || orders != 4 || net != 8600 || cancelled != 1 {
			t.Errorf("%q: got %d buckets, %d orders, %d cancelled, net %d, want %d, 4, 1 and 8600", granularity,
				len(buckets), orders, cancelled, net, 2*n)
		}
	}
	var hours []app.SalesBucket
	get("sales", "from=2026-03-29&to=2026-03-29&granularity=hour", &hours)
	sold := ""
	for _, b := range hours {
		if b.Orders+b.CancelledOrders > 0 {
			sold += fmt.Sprintf("%s %s %d ", b.Bucket, b.Currency, b.NetMinor)
		}
	}
	wantSold := "2026-03-29T00:00:00+01:00 EUR 2300 2026-03-29T01:00:00+01:00 USD 2200 " +
		"2026-03-29T03:00:00+02:00 USD 2200 2026-03-29T04:00:00+02:00 EUR 0 "
	if len(hours) != 46 || sold != wantSold {
		t.Errorf("hours of a day with 23 hours: got %d buckets, sales %s, want 46 and %s", len(hours), sold, wantSold)
	}

	pizza := w.stores["own"].product
	wantProducts := []app.ProductSales{
		{ProductID: new(pasta.ID), ProductName: "Pasta", Currency: "EUR", Quantity: 3, NetMinor: 2300},
		{ProductID: new(pizza.ID), ProductName: pizza.Name, Currency: "EUR", Quantity: 2, NetMinor: 1900},
		{ProductID: new(pizza.ID), ProductName: pizza.Name, Currency: "USD", Quantity: 4, NetMinor: 4400},
	}
	var products []app.ProductSales
	cursor := ""
	for range 5 {
		var page []app.ProductSales
		a := get("products", march+"&limit=1"+cursor, &page)
		products = append(products, page...)
		next, more := a.body.Meta["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	if diff := cmp.Diff(wantProducts, products); diff != "" {
		t.Errorf("products sold in March (-want +got):\n%s", diff)
	}
	w.do("GET", "/analytics/products?from=2026-03-02&to=2026-03-31"+cursor, token(), nil).
		refused(app.CodeValidationFailed, "cursor")
	// The sales of deleted products remain.
	w.do("DELETE", "/products/"+string(pasta.ID), token(), nil).ok(204, nil)
	get("products", march, &products)
	if diff := cmp.Diff(wantProducts, products); diff != "" {
		t.Errorf("products sold, one of them deleted (-want +got):\n%s", diff)
	}

	// Guests without email and phone number are no customers. Grace registered in March.
	var counts app.CustomerCounts
	get("customers", march, &counts)
	if diff := cmp.Diff(app.CustomerCounts{NewCustomers: 2, GuestOrders: 3, RegisteredOrders: 1}, counts); diff != "" {
		t.Errorf("customers in March (-want +got):\n%s", diff)
	}
	order(time.Date(2026, 4, 2, 12, 0, 0, 0, time.UTC), object{"customer": nil, "customerId": customer.ID})
	order(time.Date(2026, 4, 3, 12, 0, 0, 0, time.UTC), object{"customer": nil, "customerId": customer.ID})
	get("customers", "from=2026-04-01&to=2026-04-30", &counts)
	if diff := cmp.Diff(app.CustomerCounts{ReturningCustomers: 1, GuestOrders: 1, RegisteredOrders: 2},
		counts); diff != "" {
		t.Errorf("customers in April (-want +got):\n%s", diff)
	}
}

func TestBadPeriods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"summary", "sales", "products", "channels", "customers"} {
		for query, faults := range map[string]string{
			"": "from|to", "from=2026-03-01": "to", "to=2026-03-01": "from", "from=2026-03-01&to=2026-02-28": "to",
			"from=2025-01-01&to=2026-01-02": "to",
			"from=2026-02-29&to=2026-03-01": "from", "from=2026-3-1&to=2026-03-01": "from",
			"from=&to=2026-03-01": "from", "from=x&to=y": "from|to",
			"from=2026-03-01T00:00:00Z&to=2026-03-01": "from", "from=1969-12-31&to=1970-01-01": "from",
			"from=0001-01-01&to=9999-12-31":               "from",
			"from=2026-03-01&to=2026-03-01&to=2026-03-02": "to", "from=2026-03-01&to=2026-03-01&zone=UTC": "zone",
			"from=%00&to=2026-03-01":                    "from",
			"from=2026-03-01&to=2026-03-01&storeId=%27": "storeId",
		} {
			w.do("GET", "/analytics/"+path+"?"+query, w.tokens["OWNER"], nil).
				refused(app.CodeValidationFailed, strings.Split(faults, "|")...)
		}
		w.do("GET", "/analytics/"+path+"?from=9999-12-31&to=9999-12-31", w.tokens["OWNER"], nil).ok(200, nil)
		w.do("GET", "/analytics/"+path+"?from=2026-01-01&to=2027-01-01", w.tokens["OWNER"], nil).ok(200, nil)
		// The query is validated before the store.
		w.do("GET", "/analytics/"+path+"?from=2026-03-02&to=2026-03-01&storeId="+string(w.stores["sibling"].id),
			w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "to")
	}
	const day = "from=2026-03-14&to=2026-03-14"
	for query, fault := range map[string]string{"sales?granularity=minute": "granularity",
		"sales?granularity=Day": "granularity", "summary?granularity=day": "granularity",
		"products?limit=0": "limit", "products?cursor=x": "cursor",
	} {
		w.run(query, func(t *testing.T) {
			w.do("GET", "/analytics/"+query+"&"+day, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, fault)
		})
	}
	w.do("GET", "/analytics/revenue?"+day, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	// The time zones with the largest offsets, on the first and the last valid day.
	for _, zone := range []string{"Pacific/Kiritimati", "Etc/GMT+12"} {
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{"timezone": zone, "businessDayCutoffHour": 23}).
			ok(200, nil)
		for _, path := range []string{"summary", "sales", "products", "channels", "customers"} {
			for _, day := range []string{"1970-01-01", "9999-12-31"} {
				w.do("GET", "/analytics/"+path+"?from="+day+"&to="+day, w.tokens["OWNER"], nil).ok(200, nil)
			}
		}
	}
}

// A plot has a row per bucket and currency, those of the sales included: a period with too many rows is refused.
func TestSalesPlotIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // with views in two currencies
	plot := func(granularity string) *response {
		t.Helper()
		return w.do("GET", "/analytics/sales?from=2026-01-01&to=2026-12-31&granularity="+granularity, w.tokens["OWNER"], nil)
	}
	w.exec("UPDATE sales SET currency = 'GBP' WHERE store_id = $1", w.stores["own"].id)
	plot("hour").refused(app.CodeLimitReached)
	var rows []app.SalesBucket
	plot("day").ok(200, &rows)
	if want := 3 * 365; len(rows) != want {
		t.Errorf("a year by day: got %d rows, want %d", len(rows), want)
	}
}
