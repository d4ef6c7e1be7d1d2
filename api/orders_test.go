package api

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestPlaceAndShowAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{
		"items":           []any{object{"productId": w.stores["own"].product.ID, "quantity": 2}},
		"fulfillmentType": "DELIVERY", "source": "WEB",
		"customer":        object{"name": "Ada", "email": "ada@example.com", "phone": "+4915112345678"},
		"deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"}, "discountMinor": 100,
		"expectedTotalMinor": 2050, "note": "No <onions> & ☕\u2028",
	}
	var placed orderOut
	w.do("POST", "/orders", w.tokens["MANAGER"], body).ok(201, &placed)
	want := orderOut{
		Order: app.Order{
			ID: placed.ID, Number: "2", StoreID: w.stores["own"].id, StoreViewID: w.stores["own"].view.ID,
			Status:          app.OrderReceived,
			FulfillmentType: app.FulfillmentDelivery, Source: app.SourceWeb,
			Customer: app.OrderCustomer{
				ID: placed.Customer.ID, Name: "Ada", Email: "ada@example.com", Phone: "+4915112345678",
			},
			Items: []app.OrderItem{{ID: placed.Items[0].ID, QuotedItem: app.QuotedItem{
				ProductID: new(w.stores["own"].product.ID), ProductName: w.stores["own"].product.Name, SKU: "P1",
				Quantity:       2,
				UnitPriceMinor: 950, TotalMinor: 1900, TaxRatePPM: 70_000, Options: []app.OrderOption{},
			}}},
			Taxes:         []app.Tax{{RatePPM: 70_000, BaseMinor: 1916, TaxMinor: 134}},
			SubtotalMinor: 1900, DiscountMinor: 100, DeliveryFeeMinor: 250, TaxMinor: placed.TaxMinor, TotalMinor: 2050,
			TaxIncluded: true, Currency: "EUR", Metadata: map[string]string{},
			PaymentStatus: app.PaymentUnpaid, OutstandingMinor: 2050, Note: "No <onions> & ☕\u2028",
			DeliveryAddress: &app.DeliveryAddress{Line1: "1 Road", City: "Berlin", Country: "DE"},
			BusinessDate:    "2026-03-14", Version: 1, CreatedAt: app.At(noon), UpdatedAt: app.At(noon),
			PromisedAt: app.At(noon.Add(20 * time.Minute)),
		},
		AllowedTransitions: []app.OrderStatus{
			app.OrderConfirmed, app.OrderPreparing, app.OrderReady, app.OrderOutForDelivery, app.OrderCompleted,
			app.OrderCancelled,
		},
	}
	if diff := cmp.Diff(want, placed); diff != "" || placed.TaxMinor != 134 {
		t.Errorf("placed order (-want +got), with taxMinor 134: %s", diff)
	}
	a := w.do("GET", "/orders/"+string(placed.ID), w.tokens["STAFF"], nil)
	var shown orderOut
	a.ok(200, &shown)
	want.AllowedTransitions = want.AllowedTransitions[:5] // STAFF cannot cancel
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error("order for STAFF (-want +got):", diff)
	}
	if !strings.Contains(a.Body.String(), `"createdAt":"2026-03-14T12:00:00.000Z"`) ||
		!strings.Contains(a.Body.String(), `"previousStatus":null`) {
		t.Errorf("got %s, want times in milliseconds and previousStatus null", a.Body)
	}
}

func TestOrderDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var placed orderOut
	w.do("POST", "/orders", w.tokens["STAFF"], w.orderBody("own")).ok(201, &placed)
	if placed.Source != app.SourcePOS || placed.Currency != "EUR" || placed.DeliveryAddress != nil {
		t.Errorf("defaults: got %+v, want source POS, currency EUR and no address", placed)
	}
	views := map[app.Currency]app.StoreViewID{}
	rows, err := w.db.System().DB.QueryContext(t.Context(), "SELECT currency, id FROM store_views WHERE store_id = $1",
		w.stores["own"].id)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var currency app.Currency
		var id app.StoreViewID
		w.must(rows.Scan(&currency, &id))
		views[currency] = id
	}
	w.must(rows.Err())
	w.do("POST", "/orders", w.tokens["STAFF"],
		altered(w.orderBody("own"), object{"storeViewId": views["USD"], "discountMinor": 0})).ok(201, &placed)
	if placed.Currency != "USD" || placed.TotalMinor != 2200 || placed.Items[0].ProductName != "Pizza" {
		t.Errorf("order in the other view: got %+v, want Pizza for 2200 USD", placed)
	}
	known := w.stores["own"].order.Customer
	var again orderOut
	w.do("POST", "/orders", w.tokens["STAFF"],
		altered(w.orderBody("own"), object{"customer": nil, "customerId": *known.ID})).ok(201, &again)
	if diff := cmp.Diff(known, again.Customer); diff != "" {
		t.Errorf("order of a known customer (-want +got): %s", diff)
	}
	w.do("POST", "/orders", w.tokens["STAFF"], altered(w.orderBody("own"), object{"discountMinor": 1})).
		refused(app.CodeInsufficientRole)
	w.do("POST", "/orders", w.tokens["MANAGER"], altered(w.orderBody("own"), object{"discountMinor": 1})).ok(201, nil)
}

// TestTransitionsOfReaders checks that a caller without the permission to change orders gets no transitions.
func TestTransitionsOfReaders(t *testing.T) {
	t.Parallel()
	order := app.Order{Status: app.OrderReceived, FulfillmentType: app.FulfillmentPickup}
	for realm, scopes := range map[app.Realm][]app.Scope{app.RealmCustomer: nil,
		app.RealmAPIKey: {app.ScopeReadOrders}} {
		if out := orderFor(app.Principal{Realm: realm, Scopes: scopes}, order); len(out.AllowedTransitions) > 0 {
			t.Errorf("%s: got the transitions %v, want none", realm, out.AllowedTransitions)
		}
	}
	writer := app.Principal{Realm: app.RealmAPIKey, Scopes: []app.Scope{app.ScopeWriteOrders}}
	if out := orderFor(writer, order); !slices.Contains(out.AllowedTransitions, app.OrderCancelled) {
		t.Errorf("API key with write:orders: got the transitions %v, want also CANCELLED", out.AllowedTransitions)
	}
}

func TestIdempotencyOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, body := range map[string]object{
		"/orders":   altered(w.orderBody("own"), object{"note": "<b> & \u2028 ☕"}),
		"/webhooks": altered(webhookBody(), object{"url": "https://example.com/?a=<b>&c"}),
	} {
		key := header("Idempotency-Key", "k1")
		first := w.do("POST", path, w.tokens["OWNER"], body, key).ok(201, nil)
		again := w.do("POST", path, w.tokens["OWNER"], body, key).ok(201, nil)
		if first.Body.String() != again.Body.String() ||
			first.Header().Get("X-Request-Id") == again.Header().Get("X-Request-Id") {
			t.Errorf("repeated request: got %s, want %s with another request id", again.Body, first.Body)
		}
		const replayed = "Idempotent-Replayed"
		if first.Header().Get(replayed) != "" || again.Header().Get(replayed) != "true" {
			t.Errorf("%s: got %q, and %q for the repeated request, want none and true", replayed,
				first.Header().Get(replayed), again.Header().Get(replayed))
		}
		other := altered(body, object{"storeId": w.stores["own"].id})
		w.do("POST", path, w.tokens["OWNER"], other, key).refused(app.CodeIdempotencyKeyReused)
		invalid := altered(body, object{"x": 1})
		w.do("POST", path, w.tokens["OWNER"], invalid, key).refused(app.CodeValidationFailed, "x")
		// Another caller's key, another key and no key create new orders.
		ids := map[string]bool{}
		for _, a := range []*response{
			first, w.do("POST", path, w.tokens["ADMIN"], body, key),
			w.do("POST", path, w.tokens["OWNER"], body, header("Idempotency-Key", "k2")),
			w.do("POST", path, w.tokens["OWNER"], body),
		} {
			var row struct{ ID string }
			a.ok(201, &row)
			ids[row.ID] = true
		}
		if len(ids) != 4 {
			t.Errorf("%s: got the ids %v, want 4", path, ids)
		}
		for _, bad := range []string{"", " ", "a b", "é", "tab\t", strings.Repeat("x", 256)} {
			w.do("POST", path, w.tokens["OWNER"], body, header("Idempotency-Key", bad)).
				refused(app.CodeValidationFailed, "Idempotency-Key")
		}
		w.do("POST", path, w.tokens["OWNER"], body, key, key).refused(app.CodeValidationFailed, "Idempotency-Key")
		w.do("POST", path, w.tokens["OWNER"], body, header("Idempotency-Key", strings.Repeat("~", 255))).ok(201, nil)
	}
	// A key of a refused request is free again.
	bad := altered(w.orderBody("own"), object{"expectedTotalMinor": 1})
	w.do("POST", "/orders", w.tokens["OWNER"], bad, header("Idempotency-Key", "k3")).refused(app.CodeTotalMismatch)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own"), header("Idempotency-Key", "k3")).ok(201, nil)
}

func TestRacingRequestsWithOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := w.orderBody("own")
	responses := make(chan *response, 12)
	var wait sync.WaitGroup
	for range cap(responses) {
		wait.Go(func() {
			responses <- w.do("POST", "/orders", w.tokens["OWNER"], body, header("Idempotency-Key",
				"k"))
		})
	}
	wait.Wait()
	close(responses)
	ids := map[string]bool{}
	for a := range responses {
		if a.Code == 409 {
			if a.refused(app.CodeIdempotencyKeyInUse).Header().Get("Retry-After") != "1" {
				t.Errorf("got the headers %v, want Retry-After 1", a.Header())
			}
			continue
		}
		var placed orderOut
		a.ok(201, &placed)
		ids[string(placed.ID)] = true
	}
	if len(ids) != 1 {
		t.Errorf("got %d orders, want 1", len(ids))
	}
}

// Neither a response nor the log contains the secrets of a request, valid or not.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const swordfish = "swordfish swordfish swordfish swordfish"
	responses := []*response{
		w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), object{"secret": swordfish})).ok(201, nil),
		w.do("POST", "/webhooks", w.tokens["OWNER"],
			altered(webhookBody(), object{"secret": swordfish, "url": "http://x"})).refused(app.CodeValidationFailed),
		w.do("POST", "/webhooks", w.tokens["OWNER"],
			altered(webhookBody(), object{"secret": swordfish + strings.Repeat("!",
				300)})).refused(app.CodeValidationFailed),
		w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), object{"secret": []string{swordfish}})).
			refused(app.CodeValidationFailed),
		w.do("POST", "/auth/login", "", credentials("a@example.com", swordfish)).refused(app.CodeInvalidCredentials),
		w.do("POST", "/auth/login", "", object{"email": 1, "password": swordfish}).refused(app.CodeValidationFailed),
		w.do("POST", "/auth/login", "", `{"password":"`+swordfish+`"`).refused(app.CodeValidationFailed),
		w.do("GET", "/products?access_token="+strings.ReplaceAll(swordfish, " ", "+"), w.tokens["OWNER"], nil).
			refused(app.CodeValidationFailed),
		w.do("GET", "/products", "swordfish", nil).refused(app.CodeTokenInvalid),
		w.do("GET", "/webhooks", w.tokens["OWNER"], nil).ok(200, nil),
	}
	for _, a := range responses {
		if strings.Contains(a.Body.String(), "swordfish") || strings.Contains(a.Body.String(), `"secret":`) {
			t.Errorf("%s: the response contains a secret: %s", a.what, a.Body)
		}
	}
	if log := w.log.String(); strings.Contains(log, "swordfish") || strings.Contains(log, webhookSecret) ||
		len(log) < 500 {
		t.Errorf("log: got %s, want at least 500 bytes without secrets", log)
	}
	var kept int
	w.must(w.db.System().DB.QueryRowContext(t.Context(),
		`SELECT count(*) FROM subscriptions s
		WHERE position('swordfish' IN encode(s.secret, 'escape')) > 0 OR s.url LIKE '%swordfish%'`).Scan(&kept))
	if kept > 0 {
		t.Errorf("got %d subscriptions with a secret in plain text, want 0", kept)
	}
}
