package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Pages of large rows end before their number of rows. All pages together have all rows.
func TestPagesOfLargeRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	texts, options, chosen := object{}, []any{}, []any{}
	for i := range 40 { // 20 KB each
		texts[fmt.Sprintf("de-%03d", i)] = object{"name": "Lasagne", "description": wide(5000)}
	}
	for i := range 7 {
		w.do("POST", "/products", owner, altered(productBody(),
			object{"sku": fmt.Sprint("LARGE-", i), "translations": texts})).ok(201, nil)
	}
	for range 20 {
		options = append(options, object{"name": wide(200)})
	}
	dish := w.addDish(object{"name": wide(200), "maxSelections": 20, "options": options})
	for _, option := range dish.OptionGroups[0].Options {
		chosen = append(chosen, object{"optionId": option.ID})
	}
	order := func(n int) (placed orderOut) { // 34 KB for each item
		items := []any{}
		for range n {
			items = append(items, object{"productId": dish.ID, "quantity": 1, "options": chosen})
		}
		w.do("POST", "/orders", owner, w.ordering(items...)).ok(201, &placed)
		return placed
	}
	for range 6 {
		order(25)
	}
	amended := order(9)
	for i := range 10 {
		items := []any{}
		for _, item := range amended.Items {
			items = append(items, object{"id": item.ID, "note": fmt.Sprint(i)})
		}
		w.do("PATCH", "/orders/"+string(amended.ID), owner, object{"items": items}, ifMatch(amended.Version)).
			ok(200, &amended)
	}
	for range 30 { // 210 KB each
		payment := w.pay(w.stores["own"], 1000).ID
		w.do("POST", "/payments/"+string(payment)+"/refunds", owner, altered(refundBody(1),
			object{"reason": wide(500)})).ok(201, nil)
		w.addRefunds(payment, app.MaxRefunds)
		w.now = w.now.Add(time.Millisecond)
	}
	for range 10 { // without refunds, on the last page
		w.pay(w.stores["own"], 1000)
	}
	w.exec("UPDATE payments SET created_at = created_at - interval '1 day' WHERE refunded_minor = 0")
	history := "/orders/" + string(amended.ID) + "/history?"
	store := " WHERE store_id = '" + string(w.stores["own"].id) + "'"
	for path, rows := range map[string]string{
		"/products?sort=newest": "products" + store, "/products?sort=position": "products" + store,
		"/orders?": "orders" + store, "/payments?": "payments" + store,
		"/orders/" + string(w.stores["own"].order.ID) + "/payments?": "payments" + store,
		history: "order_history WHERE order_id = '" + string(amended.ID) + "'",
	} {
		want := w.text("SELECT count(*) FROM " + rows)
		got := 0
		for next, more := "", true; more; next = "&cursor=" + next {
			var page []struct{}
			a := w.do("GET", path+"&limit=100"+next, owner, nil).ok(200, &page)
			if size := a.Body.Len(); size > maxPage+app.MaxEvent {
				t.Errorf("%s: a page of %d rows has %d bytes, want at most %d and one row", path, len(page), size, maxPage)
			}
			got += len(page)
			next, more = a.body.Meta["nextCursor"].(string)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: the pages have %d rows, want %s", path, got, want)
		}
	}
}
