package api

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// heapRecorder discards a response and records the most memory that is reachable while it is written.
type heapRecorder struct {
	header      http.Header
	status      int
	bytes, next int
	peak        uint64
}

func (r *heapRecorder) Header() http.Header { return r.header }

func (r *heapRecorder) WriteHeader(status int) { r.status = status }

func (r *heapRecorder) Write(b []byte) (int, error) {
	r.bytes += len(b)
	if r.bytes >= r.next {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		r.peak = max(r.peak, now.HeapAlloc)
		r.next = r.bytes + 1<<20
	}
	return len(b), nil
}

// addCopies adds copies of a customer's new order and returns the path of the export of the customer.
func (w *world) addCopies(email string, copies int) (export string) {
	w.Helper()
	customer := w.addCustomer("own", email).Customer.ID
	order := w.orderOf("own", customer).ID
	columns := func(table string) string {
		return w.text(`SELECT string_agg(attname, ', ') FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table)
	}
	ofOrder, ofItem := columns("orders"), columns("order_items")
	const batch = 1000
	for from := 1; from <= copies; from += batch {
		w.exec(`WITH copies AS (
				SELECT n, 'ord_' || lpad(n::text, 32, '0') AS id FROM generate_series($2::int, $3::int) n
			), copied AS (
				INSERT INTO orders (`+ofOrder+`) SELECT `+ofOrder+` FROM (
					SELECT (jsonb_populate_record(o, jsonb_build_object('id', c.id, 'number', c.n + 1000))).*
					FROM orders o, copies c WHERE o.id = $1) o
			) INSERT INTO order_items (`+ofItem+`) SELECT `+ofItem+` FROM (
				SELECT (jsonb_populate_record(i, jsonb_build_object('order_id', c.id, 'id', 'itm_' || c.n))).*
				FROM order_items i, copies c WHERE i.order_id = $1) i`, order, from, min(from+batch-1, copies))
	}
	return "/customers/" + string(customer) + "/export"
}

// The memory of an export does not depend on the number of orders: less than a tenth of the response is reachable at
// any moment. The test runs alone, because it measures the heap of the process.
func TestMemoryOfAnExport(t *testing.T) {
	const orders = 20_000
	w := newWorld(t)
	measure := func(path string) *heapRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", issuer+path, nil)
		r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
		a := &heapRecorder{header: http.Header{}}
		w.server.ServeHTTP(a, r)
		if a.status != 200 {
			t.Fatalf("export: got status %d, want 200", a.status)
		}
		return a
	}
	few := measure(w.addCopies("few@example.com", 0))
	many := measure(w.addCopies("many@example.com", orders))
	grown := int64(many.peak) - int64(few.peak) //nolint:gosec // less than the memory of the machine
	t.Logf("export of %d orders: %d bytes, %d bytes more reachable than with one order", orders, many.bytes, grown)
	if many.bytes < orders*200 || grown > int64(many.bytes)/10 {
		t.Errorf("export of %d orders: got %d bytes and %d more reachable, want at most a tenth", orders, many.bytes,
			grown)
	}
}
