package api

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// Of twenty concurrent changes of one version, one succeeds. Twenty concurrent changes to the same status emit one
// event.
func TestRacingStatusChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	race := func(path string, body func(i int) (object, int64)) map[int]int {
		t.Helper()
		codes := make(chan int, 20)
		var wait sync.WaitGroup
		for i := range cap(codes) {
			wait.Go(func() {
				body, version := body(i)
				var a *response
				if version > 0 {
					a = w.do("PATCH", path+"/status", w.tokens["OWNER"], body, ifMatch(version))
				} else {
					a = w.do("PATCH", path+"/status", w.tokens["OWNER"], body)
				}
				codes <- a.Code
			})
		}
		wait.Wait()
		close(codes)
		count := map[int]int{}
		for code := range codes {
			count[code]++
		}
		return count
	}
	_, path := w.place(delivery())
	got := race(path, func(i int) (object, int64) {
		return statusBody([]app.OrderStatus{"CONFIRMED", "PREPARING", "READY", "COMPLETED", "CANCELLED"}[i%5]), 1
	})
	if diff := cmp.Diff(map[int]int{200: 1, 409: 19}, got); diff != "" ||
		len(w.eventData("own", app.EventOrderStatusUpdated)) != 1 {
		t.Errorf("with If-Match, statuses (-want +got): %s; got %d events, want 1", diff,
			len(w.eventData("own", app.EventOrderStatusUpdated)))
	}
	_, path = w.place(nil)
	got = race(path, func(int) (object, int64) { return statusBody("CANCELLED"), 0 })
	if diff := cmp.Diff(map[int]int{200: 20}, got); diff != "" || len(w.eventData("own", app.EventOrderCancelled)) > 2 ||
		len(w.eventData("own", app.EventOrderStatusUpdated)) != 2 {
		t.Errorf("the same change, statuses (-want +got): %s; got %d events, want 2", diff,
			len(w.eventData("own", app.EventOrderStatusUpdated)))
	}
	// Exactly one of the two final statuses is reached.
	_, path = w.place(nil)
	got = race(path,
		func(i int) (object, int64) { return statusBody([]app.OrderStatus{"COMPLETED", "CANCELLED"}[i%2]), 0 })
	if diff := cmp.Diff(map[int]int{200: 10, 409: 10}, got); diff != "" ||
		len(w.eventData("own", app.EventOrderStatusUpdated)) != 3 {
		t.Errorf("COMPLETED or CANCELLED, statuses (-want +got): %s; got %d events, want 3", diff,
			len(w.eventData("own", app.EventOrderStatusUpdated)))
	}
}

// While orders are placed and cancelled concurrently, the sum of the stock and the ordered quantities stays.
func TestConcurrentOrdersAndCancellations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const stock = 7
	var products [2]app.Product
	for i := range products {
		w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"stockQuantity": stock})).
			ok(201, &products[i])
	}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			items := []any{
				object{"productId": products[i%2].ID, "quantity": 1},
				object{"productId": products[1-i%2].ID, "quantity": 1},
			}
			a := w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), object{"items": items}))
			if a.Code != 201 {
				a.refused(app.CodeProductUnavailable)
				return
			}
			var placed orderOut
			a.ok(201, &placed)
			if i%3 == 0 {
				w.do("PATCH", "/orders/"+string(placed.ID)+"/status", w.tokens["OWNER"], statusBody("CANCELLED")).
					ok(200, nil)
			}
		})
	}
	wait.Wait()
	for _, p := range products {
		var left, ordered int
		w.must(w.db.System().DB.QueryRowContext(t.Context(), `SELECT p.stock_quantity,
				(SELECT coalesce(sum(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
				WHERE i.product_id = p.id AND o.status <> 'CANCELLED')
			FROM products p WHERE p.id = $1`, p.ID).Scan(&left, &ordered))
		if left+ordered != stock {
			t.Errorf("got stock %d and %d ordered, want the sum %d", left, ordered, stock)
		}
	}
}
