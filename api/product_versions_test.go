package api

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestProductVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/products/" + string(w.stores["own"].product.ID)
	for _, bad := range []string{"", "1", `W/"1"`, `"0"`, `"01"`, `"-1"`, `"x"`, "*", `"1", "2"`,
		`"9999999999999999999"`} {
		w.do("PATCH", path, w.tokens["OWNER"], object{"name": "x"}, header("If-Match", bad)).
			refused(app.CodeValidationFailed, "If-Match")
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"name": "x"}, ifMatch(1), ifMatch(1)).
		refused(app.CodeValidationFailed, "If-Match")
	w.do("PATCH", path, w.tokens["OWNER"], object{"name": "x"}, ifMatch(2)).refused(app.CodeVersionMismatch)
	w.do("DELETE", path, w.tokens["OWNER"], nil, ifMatch(2)).refused(app.CodeVersionMismatch)

	// Of twenty concurrent changes of version 1, one succeeds. As many of them as may be in progress wait for the row.
	responses := make(chan *response, 20)
	var wait sync.WaitGroup
	waiting := min(cap(responses), int(w.server.work.requests))
	w.holding("SELECT FROM products WHERE id = $1 FOR UPDATE", w.stores["own"].product.ID, waiting, func() {
		for i := range cap(responses) {
			wait.Go(func() {
				responses <- w.do("PATCH", path, w.tokens["OWNER"], object{"name": fmt.Sprint(i)},
					ifMatch(1))
			})
		}
	})
	wait.Wait()
	close(responses)
	won := 0
	for a := range responses {
		if a.Code == 200 {
			won++
		} else {
			a.refused(app.CodeVersionMismatch)
		}
	}
	if won != 1 || len(w.eventData("own", app.EventProductUpdated)) != 1 {
		t.Errorf("concurrent changes: got %d successes and %d events, want 1 and 1", won,
			len(w.eventData("own", app.EventProductUpdated)))
	}
}

// holding runs race while a row is locked, and releases the lock when the given number of statements wait for it.
func (w *world) holding(lock string, id any, waiting int, race func()) {
	w.Helper()
	tx, err := w.db.System().DB.BeginTx(w.Context(), nil)
	w.must(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(w.Context(), lock, id)
	w.must(err)
	race()
	w.until(fmt.Sprint(waiting, " statements that wait for a lock"), func() bool {
		n := 0
		w.must(tx.QueryRowContext(w.Context(),
			"SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')").Scan(&n))
		return n >= waiting
	})
}

func TestDeleteAProduct(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/products/" + string(s.product.ID)
	w.do("DELETE", path, w.tokens["MANAGER"], nil).refused(app.CodeInsufficientRole)
	w.do("DELETE", path, w.key("own", app.ScopeWriteProducts), nil, ifMatch(1)).ok(204, nil)
	emitted := w.eventData("own", app.EventProductUpdated)
	var event app.ProductUpdated
	w.read(emitted[0], &event)
	if len(emitted) != 1 || event.ID != s.product.ID || event.Version != 2 ||
		cmp.Diff([]string{"deletedAt"}, event.ChangedFields) != "" {
		t.Errorf("product.updated of the deletion: got %s, want one with version 2 and deletedAt", emitted)
	}
	w.do("DELETE", path, w.tokens["ADMIN"], nil).refused(app.CodeNotFound)
	w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	w.do("PATCH", path, w.tokens["OWNER"], object{"name": "x"}).refused(app.CodeNotFound)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).
		refused(app.CodeProductUnavailable, "items[0].productId")
	var rows []app.Product
	w.do("GET", "/products", w.tokens["OWNER"], nil).ok(200, &rows)
	if len(rows) != 0 {
		t.Errorf("list after the deletion: got %+v, want none", rows)
	}
	// The earlier order keeps its data, and the SKU is free.
	var order orderOut
	w.do("GET", "/orders/"+string(s.order.ID), w.tokens["OWNER"], nil).ok(200, &order)
	if order.Items[0].ProductName != s.product.Name || order.Items[0].UnitPriceMinor != 950 {
		t.Errorf("items of an earlier order: got %+v, want the name and price of the deleted product", order.Items)
	}
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"sku": "P1"})).ok(201, nil)
}
