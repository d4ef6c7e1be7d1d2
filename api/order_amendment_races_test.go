package api

import (
	"maps"
	"sync"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// raceTo runs requests concurrently and counts their statuses.
func raceTo(requests ...func() *response) map[int]int {
	codes := make(chan int, len(requests))
	var wait sync.WaitGroup
	for _, request := range requests {
		wait.Go(func() { codes <- request().Code })
	}
	wait.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	return count
}

func TestRacingAmendments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quantity := func(o orderOut, n int) func() *response {
		return func() *response {
			return w.amend(o, w.tokens["STAFF"], object{"items": []any{kept(o.Items[0], object{"quantity": n})}})
		}
	}
	placed, path := w.place(nil)
	if got := raceTo(quantity(placed, 7), quantity(placed, 8)); !maps.Equal(got, map[int]int{200: 1, 409: 1}) {
		t.Errorf("two changes of one version: got statuses %v, want one 200 and one 409", got)
	}
	for _, status := range []app.OrderStatus{"COMPLETED", "CANCELLED", "CONFIRMED"} {
		placed, path = w.place(nil)
		got := raceTo(quantity(placed, 9), func() *response {
			return w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody(status))
		}, func() *response {
			return w.do("POST", path+"/payments", w.tokens["OWNER"], object{
				"provider": "STRIPE", "transactionId": "tx_" + string(status), "status": "SUCCEEDED",
				"amountMinor": 100,
				"currency":    "EUR", "paymentMethod": "card",
			})
		})
		var shown orderOut
		w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &shown)
		amended := shown.Items[0].Quantity == 9
		if shown.Status != status || shown.PaidMinor != 100 || amended != (shown.Version == 4) {
			t.Errorf("got %s, paid %d, version %d, amended %t; want %s, 100 and version 4 if amended", shown.Status,
				shown.PaidMinor, shown.Version, amended, status)
		}
		want := map[int]int{200: 1, 201: 1, 409: 1} // the status, the payment, the refused change
		if amended {
			want = map[int]int{200: 2, 201: 1}
		}
		if !maps.Equal(got, want) {
			t.Errorf("a change, status %s and a payment: got statuses %v, want %v", status, got, want)
		}
	}
	// The last portion: two changes and a new order.
	last := w.createProduct(object{"stockQuantity": 1})
	one, _ := w.place(nil)
	two, _ := w.place(nil)
	add := func(o orderOut) func() *response {
		return func() *response {
			return w.amend(o, w.tokens["STAFF"], object{"items": []any{
				kept(o.Items[0], nil), object{"productId": last.ID, "quantity": 1},
			}})
		}
	}
	got := raceTo(add(one), add(two), func() *response {
		return w.do("POST", "/orders", w.tokens["STAFF"], altered(w.orderBody("own"),
			object{"items": []any{object{"productId": last.ID, "quantity": 1}}}))
	})
	if got[200]+got[201] != 1 || got[422] != 2 || w.stockOf(last) != 0 {
		t.Errorf("the last portion: got statuses %v and stock %d, want one success and stock 0", got, w.stockOf(last))
	}
	// Orders exchange their customers.
	var tasks []func() *response
	for range 10 {
		tasks = append(tasks, func() *response {
			o, _ := w.place(object{"customer": object{"name": "A", "email": "a@example.com"}})
			return w.amend(o, w.tokens["STAFF"], object{"customer": object{"name": "B", "email": "b@example.com"}})
		}, func() *response {
			o, _ := w.place(object{"customer": object{"name": "B", "email": "b@example.com"}})
			return w.amend(o, w.tokens["STAFF"], object{"customer": object{"name": "A", "email": "a@example.com"}})
		})
	}
	if got := raceTo(tasks...); got[200] != len(tasks) {
		t.Errorf("exchanged customers: got statuses %v, want 200 only", got)
	}
}
