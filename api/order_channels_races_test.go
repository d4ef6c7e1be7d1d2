package api

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A channel that repeats an order gets it once: with another content, concurrently, and by another key of the store.
func TestRepeatedChannelOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, other := w.pricing(), w.pricing()
	scarce := w.createProduct(object{"stockQuantity": 20})
	body := altered(w.channelBody(), object{
		"externalId": "UE-1", "customer": object{"name": "Ada", "phone": "+493012346"},
		"items": []any{object{"productId": scarce.ID, "quantity": 3, "unitPriceMinor": 500}},
	})
	changed := altered(body, object{"deliveryFeeMinor": 1, "channel": "Wolt"})
	var placed []*response
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range 12 {
		wait.Go(func() {
			token, content := []string{key, other}[i%2], []object{body, changed}[i/2%2]
			a := w.do("POST", "/orders", token, content)
			mu.Lock()
			placed = append(placed, a)
			mu.Unlock()
		})
	}
	wait.Wait()
	codes := map[int]int{}
	var order orderOut
	for _, a := range placed {
		if codes[a.Code]++; a.Code == 201 {
			a.ok(201, &order)
		} else {
			a.refused(app.CodeConflict, "externalId")
		}
	}
	if !maps.Equal(codes, map[int]int{201: 1, 409: 11}) {
		t.Errorf("got statuses %v, want one 201 and eleven 409", codes)
	}
	before := w.rows()
	for _, token := range []string{key, other} {
		for _, content := range []object{body, changed} {
			a := w.do("POST", "/orders", token, content).refused(app.CodeConflict, "externalId")
			if !strings.Contains(a.body.Error.Message, string(order.ID)) {
				t.Errorf("got the message %q, want the id %s", a.body.Error.Message, order.ID)
			}
		}
	}
	var found []orderOut
	w.do("GET", "/orders?externalId=UE-1", key, nil).ok(200, &found)
	if after := w.rows(); after != before || len(found) != 1 || found[0].ID != order.ID || order.Number != "2" {
		t.Errorf("got rows %s and orders %+v, want rows %s and the order %s with number 2", after, found, before,
			order.ID)
	}
	if left := w.stockOf(scarce); left != 17 {
		t.Errorf("stock: got %d, want 17", left)
	}
	// A repetition with the Idempotency-Key gets the stored response. Another store has other references.
	again := header("Idempotency-Key", "UE-2")
	second := altered(body, object{"externalId": "UE-2"})
	first := w.do("POST", "/orders", key, second, again).ok(201, nil).Body.String()
	if repeated := w.do("POST", "/orders", key, second, again).ok(201, nil).Body.String(); repeated != first {
		t.Errorf("repeated request: got %s, want %s", repeated, first)
	}
	w.do("POST", "/orders", key, altered(second, object{"deliveryFeeMinor": 1}), again).
		refused(app.CodeIdempotencyKeyReused)
	w.do("POST", "/orders", other, second, again).refused(app.CodeConflict, "externalId")
	w.do("POST", "/orders", w.key("sibling", app.ScopePriceOrders), altered(w.channelBody(), object{
		"externalId": "UE-1", "items": []any{object{"name": "Bag", "quantity": 1, "unitPriceMinor": 1}},
	})).ok(201, nil)
}

// A change that a channel repeats with its Idempotency-Key is made once, also concurrently and after a later change.
func TestRepeatedChangeOfChannelOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.pricing()
	var o orderOut
	w.do("POST", "/orders", key, w.channelBody()).ok(201, &o)
	path := "/orders/" + string(o.ID)
	body := object{"deliveryFeeMinor": 500, "items": []any{
		kept(o.Items[0], object{"unitPriceMinor": 1000}), object{"name": "Cup", "quantity": 1, "unitPriceMinor": 50},
	}}
	repeat := func() *response {
		return w.do("PATCH", path, key, body, ifMatch(1), header("Idempotency-Key", "k"))
	}
	codes := raceTo(repeat, repeat, repeat, repeat, repeat, repeat)
	if codes[200]+codes[409] != 6 || codes[200] == 0 {
		t.Errorf("got statuses %v, want 200, and 409 while the first request is running", codes)
	}
	var first, second orderOut
	repeat().ok(200, &first)
	w.amend(first, w.tokens["STAFF"], object{"note": "Ring"}).ok(200, nil)
	repeat().ok(200, &second)
	if diff := cmp.Diff(first, second); diff != "" || first.Version != 2 || first.TotalMinor != 2550 {
		t.Errorf("got %+v, want version 2 with a total of 2550; repeated (-want +got): %s", first, diff)
	}
	if n := len(w.eventData("own", app.EventOrderUpdated)); n != 2 {
		t.Errorf("got %d events, want one of each change", n)
	}
	w.do("PATCH", path, key, object{"deliveryFeeMinor": 501}, ifMatch(1), header("Idempotency-Key", "k")).
		refused(app.CodeIdempotencyKeyReused)
}

// A channel places an order each second for a minute. Each order waits for its acceptance once. Those that nobody
// confirms are reminded of and cancelled, and their stock returns; the others are not touched.
func TestMinuteOfAChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, key := w.stores["own"], w.pricing()
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"acceptance": object{"remindAfterMinutes": 5, "cancelAfterMinutes": 10},
	}).ok(200, nil)
	scarce := w.createProduct(object{"stockQuantity": 60})
	persistencetest.TakeJobs(t, w.db, time.Now().Add(time.Hour))
	orders := make([]orderOut, 60)
	for second := range 6 {
		w.now = w.now.Add(10 * time.Second)
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				n := second*10 + i
				w.do("POST", "/orders", key, altered(w.channelBody(), object{
					"externalId": fmt.Sprint("UE-", n),
					"items":      []any{object{"productId": scarce.ID, "quantity": 1, "unitPriceMinor": n}},
				})).ok(201, &orders[n])
			})
		}
		wait.Wait()
	}
	jobs, numbers := w.acceptanceJobs(), map[string]bool{}
	for n, o := range orders {
		numbers[o.Number] = true
		if jobs[string(o.ID)] != 1 || o.SubtotalMinor != int64(n) {
			t.Errorf("order %d: got %d jobs and subtotal %d, want 1 and %d", n, jobs[string(o.ID)], o.SubtotalMinor, n)
		}
	}
	for n := 2; n <= 61; n++ {
		if !numbers[fmt.Sprint(n)] {
			t.Errorf("no order has the number %d", n)
		}
	}
	w.do("POST", "/orders", key, altered(w.channelBody(), object{"items": []any{
		object{"productId": scarce.ID, "quantity": 1, "unitPriceMinor": 0},
	}})).refused(app.CodeProductUnavailable)
	tick := func(want app.AcceptanceState, orders ...orderOut) {
		t.Helper()
		for _, o := range orders {
			w.exec("UPDATE acceptances SET since = since - interval '5 minutes' WHERE order_id = $1", o.ID)
			if got, err := w.db.TickAcceptance(t.Context(), w.now, own.id, o.ID); err != nil || got.State != want {
				t.Errorf("acceptance of %s: got %+v and error %v, want %s", o.Number, got, err, want)
			}
		}
	}
	tick(app.AcceptanceReminded, orders...)
	for _, o := range orders[:30] {
		w.do("PATCH", "/orders/"+string(o.ID)+"/status", w.token("STAFF", own.id), statusBody("CONFIRMED")).ok(200, nil)
	}
	tick(app.AcceptanceCancelled, orders[30:]...)
	for n, o := range orders {
		var shown orderOut
		w.do("GET", "/orders/"+string(o.ID), key, nil).ok(200, &shown)
		want := app.OrderConfirmed
		if n >= 30 {
			want = app.OrderCancelled
		}
		if shown.Status != want {
			t.Errorf("order %d: got %s, want %s", n, shown.Status, want)
		}
	}
	created := len(w.eventData("own", app.EventOrderCreated))
	cancelled := len(w.eventData("own", app.EventOrderCancelled))
	if left := w.stockOf(scarce); left != 30 || created != 61 || cancelled != 30 {
		t.Errorf("got stock %d, %d orders created and %d cancelled, want 30, 61 and 30", left, created, cancelled)
	}
	if waiting := w.text("SELECT count(*)::text FROM acceptances WHERE store_id = $1", own.id); waiting != "0" {
		t.Errorf("got %s orders that wait for their acceptance, want none", waiting)
	}
}

// acceptanceJobs returns the number of jobs of acceptances by order, and removes all jobs.
func (w *world) acceptanceJobs() map[string]int {
	jobs := map[string]int{}
	for _, job := range persistencetest.TakeJobs(w.T, w.db, time.Now().Add(time.Hour)) {
		if job.Kind == app.JobAcceptance {
			jobs[job.Subject]++
		}
	}
	return jobs
}
