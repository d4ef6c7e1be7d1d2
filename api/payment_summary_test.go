package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestSummarizePayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/orders/" + string(w.stores["own"].order.ID) + "/payments"
	for _, change := range []object{
		{"amountMinor": 500}, {"amountMinor": 300, "provider": "CASH", "paymentMethod": "cash"},
		{"status": "FAILED", "errorCode": "card_declined"}, {"amountMinor": 1200, "tipMinor": 200},
	} {
		w.now = w.now.Add(time.Second)
		w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), change)).ok(201, nil)
	}
	var payments []app.Payment
	w.do("GET", "/payments?provider=STRIPE&status=SUCCEEDED", w.tokens["STAFF"], nil).ok(200, &payments)
	w.now = w.now.AddDate(0, 0, 2)
	manager := w.token("MANAGER", w.stores["own"].id)
	w.do("POST", "/payments/"+string(payments[0].ID)+"/refunds", manager,
		altered(refundBody(150), object{"tipMinor": 50})).ok(201, nil)
	path = "/payments/summary?from=2026-03-14&to=2026-03-16"
	a := w.do("GET", path, manager, nil).ok(200, nil)
	var got []map[string]any
	w.read(a.body.Data, &got)
	row := func(day, provider, method string, numbers ...float64) map[string]any {
		return map[string]any{
			"businessDate": day, "provider": provider, "paymentMethod": method, "channel": nil, "currency": "EUR",
			"payments": numbers[0], "paymentsMinor": numbers[1], "tipsMinor": numbers[2], "refunds": numbers[3],
			"refundsMinor": numbers[4],
		}
	}
	want := []map[string]any{
		row("2026-03-14", "CASH", "cash", 1, 300, 0, 0, 0), row("2026-03-14", "STRIPE", "card", 2, 1500, 200, 0, 0),
		row("2026-03-16", "STRIPE", "card", 0, 0, -50, 1, 100),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got): %s", diff)
	}
	delete(a.body.Meta, "requestId")
	meta := map[string]any{"from": "2026-03-14", "to": "2026-03-16", "timezone": "Europe/Berlin"}
	if diff := cmp.Diff(meta, a.body.Meta); diff != "" {
		t.Errorf("meta (-want +got): %s", diff)
	}
	w.do("GET", path, w.token("STAFF", w.stores["own"].id), nil).refused(app.CodeInsufficientRole)
	w.do("GET", path, w.key("own", app.ScopeReadOrders), nil).ok(200, nil)
	w.do("GET", path, w.key("own", app.ScopeReadAnalytics), nil).refused(app.CodeInsufficientScope)
	for query, member := range map[string]string{
		"from=2026-03-14": "to", "to=2026-03-14": "from", "from=2026-03-14&to=2026-03-13": "to",
		"from=2025-01-01&to=2026-01-02": "to", "from=14.3.2026&to=2026-03-14": "from",
		"from=1969-12-31&to=1970-01-01": "from", "from=2026-03-14&to=2026-03-14&limit=1": "limit",
	} {
		w.do("GET", "/payments/summary?"+query, manager, nil).refused(app.CodeValidationFailed, member)
	}
	var foreign []app.PaymentSum
	w.now = noon
	w.do("GET", path, w.tokens["FOREIGN"], nil).ok(200, &foreign)
	if len(foreign) != 0 {
		t.Errorf("sums of another store: got %+v, want none", foreign)
	}
}
