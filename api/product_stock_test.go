package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// addStocked makes a product with a stock.
func (w *world) addStocked(stock any) app.Product {
	w.Helper()
	var p app.Product
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"stockQuantity": stock})).ok(201, &p)
	return p
}

// shown returns a product as the API shows it.
func (w *world) shown(id app.ProductID) (p app.Product) {
	w.Helper()
	w.do("GET", "/products/"+string(id), w.tokens["OWNER"], nil).ok(200, &p)
	return p
}

// unitsOf is the body of an order of one product.
func (w *world) unitsOf(id app.ProductID, quantity int) object {
	return altered(w.orderBody("own"), object{"items": []any{object{"productId": id, "quantity": quantity}}})
}

// updates returns the events product.updated of a product, by version.
func (w *world) updates(id app.ProductID) (updates []app.ProductUpdated) {
	w.Helper()
	for _, data := range w.eventData("own", app.EventProductUpdated) {
		var event app.ProductUpdated
		if w.read(data, &event); event.ID == id {
			updates = append(updates, event)
		}
	}
	slices.SortFunc(updates, func(a, b app.ProductUpdated) int { return int(a.Version - b.Version) })
	return updates
}

// Twenty clients order the last three portions while staff reads the stock and sets it, conditionally. No order is
// overwritten, each change has a version, and each turn of orderable has one event.
func TestOrdersWhileStaffSetsTheStock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.addStocked(3)
	path := "/products/" + string(p.ID)
	var wait sync.WaitGroup
	var lock sync.Mutex
	stock, changes := int64(3), int64(0)
	count := func(units int64) {
		lock.Lock()
		defer lock.Unlock()
		stock, changes = stock+units, changes+1
	}
	for range 20 {
		wait.Go(func() {
			a := w.do("POST", "/orders", w.tokens["OWNER"], w.unitsOf(p.ID, 1))
			if a.Code != 201 {
				a.refused(app.CodeProductUnavailable)
				return
			}
			count(-1)
		})
	}
	for range 5 {
		wait.Go(func() {
			for {
				read := w.shown(p.ID)
				a := w.do("PATCH", path, w.tokens["MANAGER"], object{"stockQuantity": *read.StockQuantity + 1},
					ifMatch(read.Version))
				if a.Code == 200 {
					count(1)
					return
				}
				a.refused(app.CodeVersionMismatch)
			}
		})
		wait.Go(func() {
			w.do("POST", path+"/stock", w.tokens["MANAGER"], object{"adjust": 1}).ok(200, nil)
			count(1)
		})
	}
	wait.Wait()
	got := w.shown(p.ID)
	if *got.StockQuantity != stock || got.Version != 1+changes {
		t.Errorf("got stock %d and version %d, want %d and %d", *got.StockQuantity, got.Version, stock, 1+changes)
	}
	before := true
	for _, event := range w.updates(p.ID) {
		turned := slices.Contains(event.ChangedFields, "orderable")
		if turned != (event.Orderable != before) || event.Orderable != (*event.StockQuantity > 0) {
			t.Errorf("version %d: got orderable %t with stock %d and changes %v after orderable %t", event.Version,
				event.Orderable, *event.StockQuantity, event.ChangedFields, before)
		}
		before = event.Orderable
	}
	if before != got.Orderable {
		t.Errorf("got orderable %t, want %t as in the last event", got.Orderable, before)
	}
}

func TestChangeStock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.addStocked(3)
	path := "/products/" + string(p.ID) + "/stock"
	null := json.RawMessage("null")
	version, events := int64(1), 0
	for _, c := range []struct {
		body    object
		want    int64 // -1 = unlimited
		changes bool
		turns   bool
	}{
		{object{"adjust": -2}, 1, true, false},
		{object{"adjust": 0}, 1, false, false},
		{object{"adjust": -1}, 0, true, true},
		{object{"set": 0}, 0, false, false},
		{object{"set": 7}, 7, true, true},
		{object{"set": null}, -1, true, false},
		{object{"set": null}, -1, false, false},
		{object{"set": 0}, 0, true, true},
		{object{"set": null}, -1, true, true},
		{object{"set": 1_000_000_000}, 1_000_000_000, true, false},
		{object{"adjust": -1_000_000_000}, 0, true, true},
	} {
		w.now = w.now.Add(time.Second)
		if c.changes {
			version++
		}
		if c.turns {
			events++
		}
		var got app.Product
		w.do("POST", path, w.tokens["MANAGER"], c.body, ifMatch(version-map[bool]int64{true: 1}[c.changes])).
			ok(200, &got)
		stock := int64(-1)
		if got.StockQuantity != nil {
			stock = *got.StockQuantity
		}
		if stock != c.want || got.Version != version || got.Orderable != (stock != 0) {
			t.Errorf("%v: got stock %d, version %d, orderable %t, want %d, %d, %t", c.body, stock, got.Version,
				got.Orderable, c.want, version, c.want != 0)
		}
		if c.changes && got.UpdatedAt != app.At(w.now) {
			t.Errorf("%v: got updatedAt %s, want %s", c.body, got.UpdatedAt, app.At(w.now))
		}
		if emitted := w.updates(p.ID); len(emitted) != events {
			t.Fatalf("%v: got %d events product.updated, want %d", c.body, len(emitted), events)
		}
		if diff := cmp.Diff(got, w.shown(p.ID)); diff != "" {
			t.Errorf("%v: response (-) and GET (+): %s", c.body, diff)
		}
	}
	for _, event := range w.updates(p.ID) {
		if diff := cmp.Diff([]string{"stockQuantity", "orderable"}, event.ChangedFields); diff != "" {
			t.Errorf("changedFields (-want +got): %s", diff)
		}
	}
}

// A request that has waited for another one does not set updatedAt back: with updatedSince, a client that has read the
// later time would not find the change.
func TestUpdatedAtOfLateChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.stores["own"].product
	path := "/products/" + string(p.ID)
	w.do("PATCH", path, w.tokens["MANAGER"], object{"soldOutUntil": app.At(w.now.Add(time.Minute))}).ok(200, nil)
	w.now = w.now.Add(10 * time.Minute)
	w.do("POST", path+"/stock", w.tokens["MANAGER"], object{"set": 9}).ok(200, nil)
	latest := app.At(w.now)
	for _, change := range []struct {
		name string
		make func()
	}{
		{"stock", func() { w.do("POST", path+"/stock", w.tokens["MANAGER"], object{"adjust": -1}).ok(200, nil) }},
		{"order", func() { w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).ok(201, nil) }},
		{"PATCH", func() { w.do("PATCH", path, w.tokens["MANAGER"], object{"name": "Calzone"}).ok(200, nil) }},
		{"import", func() { w.importCSV("sku,name\nP1,Pizza\n") }},
		{"job", func() {
			_, err := w.db.EndSoldOut(w.Context(), w.now, w.stores["own"].id, p.ID)
			w.must(err)
		}},
		{"DELETE", func() { w.do("DELETE", path, w.tokens["OWNER"], nil).ok(204, nil) }},
	} {
		w.now = w.now.Add(-time.Minute)
		change.make()
		var found []app.Product
		w.do("GET", "/products?includeDeleted=true&updatedSince="+latest.String(), w.tokens["STAFF"], nil).
			ok(200, &found)
		if len(found) != 1 || found[0].UpdatedAt != latest {
			t.Errorf("%s: got %+v since %s, want the product", change.name, found, latest)
		}
	}
}

func TestBadStockChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.addStocked(3)
	path := "/products/" + string(p.ID) + "/stock"
	null := json.RawMessage("null")
	for name, c := range map[string]struct {
		body any
		path string
	}{
		"nothing":           {object{}, "adjust"},
		"both":              {object{"adjust": 1, "set": 1}, "adjust"},
		"both with null":    {object{"adjust": 1, "set": null}, "adjust"},
		"adjust null":       {object{"adjust": null}, "adjust"},
		"a fraction":        {object{"adjust": 1.5}, "adjust"},
		"a string":          {object{"set": "3"}, "set"},
		"negative":          {object{"set": -1}, "set"},
		"too many":          {object{"set": 1_000_000_001}, "set"},
		"too large a step":  {object{"adjust": -1_000_000_001}, "adjust"},
		"an unknown member": {object{"set": 1, "reason": "x"}, "reason"},
	} {
		a := w.do("POST", path, w.tokens["MANAGER"], c.body)
		a.what = name
		a.refused(app.CodeValidationFailed, c.path)
		if strings.Count(a.body.Error.Message, c.path) > 1 {
			t.Errorf("%s: got message %q, want %s once", name, a.body.Error.Message, c.path)
		}
	}
	w.do("POST", path, w.tokens["MANAGER"], object{"adjust": -4}).refused(app.CodeConflict)
	w.do("POST", path, w.tokens["MANAGER"], object{"adjust": 1_000_000_000}).refused(app.CodeConflict)
	w.do("POST", path, w.tokens["MANAGER"], object{"adjust": 1}, ifMatch(2)).refused(app.CodeVersionMismatch)
	w.do("POST", path, w.tokens["STAFF"], object{"adjust": 1}).refused(app.CodeInsufficientRole)
	w.do("POST", "/products/"+string(w.stores["own"].product.ID)+"/stock", w.tokens["MANAGER"], object{"adjust": 1}).
		refused(app.CodeConflict)
	w.do("POST", "/products/prd_none/stock", w.tokens["MANAGER"], object{"set": 1}).refused(app.CodeNotFound)
	if got := w.shown(p.ID); got.Version != 1 || *got.StockQuantity != 3 {
		t.Errorf("after refusals: got version %d and stock %d, want 1 and 3", got.Version, *got.StockQuantity)
	}
	key := header("Idempotency-Key", "delivery-1")
	first := w.do("POST", path, w.tokens["MANAGER"], object{"adjust": 5}, key).ok(200, nil)
	again := w.do("POST", path, w.tokens["MANAGER"], object{"adjust": 5}, key).ok(200, nil)
	if first.Body.String() != again.Body.String() || *w.shown(p.ID).StockQuantity != 8 {
		t.Errorf("repeated request: got %s and stock %d, want %s and 8", again.Body, *w.shown(p.ID).StockQuantity,
			first.Body)
	}
}

// Orders and cancellations change version and updatedAt. Only those that turn orderable emit product.updated.
func TestStockOfOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.addStocked(5)
	order := func(items ...any) string {
		t.Helper()
		w.now = w.now.Add(time.Second)
		_, path := w.place(object{"items": items})
		return path
	}
	line := func(quantity int) object { return object{"productId": p.ID, "quantity": quantity} }
	cancel := func(path string) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("CANCELLED")).ok(200, nil)
	}
	check := func(step string, stock, version int64, events int) {
		t.Helper()
		got := w.shown(p.ID)
		emitted := w.updates(p.ID)
		if *got.StockQuantity != stock || got.Version != version || got.UpdatedAt != app.At(w.now) ||
			len(emitted) != events {
			t.Fatalf("%s: got stock %d, version %d, updatedAt %s and %d events, want %d, %d, %s and %d", step,
				*got.StockQuantity, got.Version, got.UpdatedAt, len(emitted), stock, version, app.At(w.now), events)
		}
		if events > 0 {
			event := emitted[events-1]
			want := app.ProductUpdated{Product: got, ChangedFields: []string{"stockQuantity", "orderable"}}
			if event.Version == version {
				if diff := cmp.Diff(want, event); diff != "" {
					t.Errorf("%s: product.updated (-want +got): %s", step, diff)
				}
			}
		}
	}
	first := order(line(2))
	check("two of five", 3, 2, 0)
	last := order(line(1), line(2))
	check("the last three in two lines", 0, 3, 1)
	w.do("POST", "/orders", w.tokens["OWNER"], w.unitsOf(p.ID, 1)).refused(app.CodeProductUnavailable,
		"items[0].quantity")
	check("one too many", 0, 3, 1)
	cancel(last)
	check("three returned", 3, 4, 2)
	cancel(first)
	check("two more returned", 5, 5, 2)

	// A product that is not on sale does not become orderable.
	last = order(line(5))
	check("all five", 0, 6, 3)
	w.do("PATCH", "/products/"+string(p.ID), w.tokens["OWNER"], object{"isAvailable": false}).ok(200, nil)
	cancel(last)
	check("returned while unavailable", 5, 8, 4)
	for _, event := range w.updates(p.ID)[3:] {
		if diff := cmp.Diff([]string{"isAvailable"}, event.ChangedFields); diff != "" {
			t.Errorf("version %d: changedFields (-want +got): %s", event.Version, diff)
		}
	}
}

// checkOrderable checks that the filter of the list and the members of the products agree.
func (w *world) checkOrderable(id app.ProductID, want bool) {
	w.Helper()
	for _, filter := range []bool{true, false} {
		var page []app.Product
		w.do("GET", fmt.Sprintf("/products?limit=100&orderable=%t", filter), w.tokens["STAFF"], nil).ok(200, &page)
		found := false
		for _, p := range page {
			found = found || p.ID == id
			if p.Orderable != filter {
				w.Errorf("orderable=%t: got %+v, want only such products", filter, p)
			}
		}
		if found != (filter == want) {
			w.Errorf("orderable=%t: got the product %t, want %t", filter, found, filter == want)
		}
	}
}

func TestDeletedProductsSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept, deleted := w.addStocked(0), w.addStocked(1)
	w.now = w.now.Add(time.Minute)
	since := app.At(w.now).String()
	w.do("DELETE", "/products/"+string(deleted.ID), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("POST", "/products/"+string(kept.ID)+"/stock", w.tokens["OWNER"], object{"set": 1}).ok(200, nil)
	var page []app.Product
	read := func(query string, want ...app.ProductID) {
		t.Helper()
		page = nil
		w.do("GET", "/products?"+query, w.tokens["STAFF"], nil).ok(200, &page)
		var got []app.ProductID
		for _, p := range page {
			got = append(got, p.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	read("updatedSince="+since, kept.ID)
	read("updatedSince="+since+"&includeDeleted=false", kept.ID)
	read("orderable=true&includeDeleted=true&updatedSince="+since, kept.ID)
	read("orderable=false&includeDeleted=true&updatedSince="+since, deleted.ID)
	read("updatedSince="+since+"&includeDeleted=true", kept.ID, deleted.ID)
	for _, p := range page {
		if (p.DeletedAt != nil) != (p.ID == deleted.ID) || p.Orderable != (p.ID == kept.ID) {
			t.Errorf("got %+v, want deletedAt, and not orderable, for %s only", p, deleted.ID)
		}
	}
	if emitted := w.updates(deleted.ID); *emitted[0].DeletedAt != app.At(w.now) || emitted[0].Orderable ||
		fmt.Sprint(emitted[0].ChangedFields) != "[deletedAt]" {
		t.Errorf("product.updated: got %+v, want deletedAt %s", emitted[0], app.At(w.now))
	}
	w.do("GET", "/products?includeDeleted=true", w.tokens["STAFF"], nil).
		refused(app.CodeValidationFailed, "updatedSince")
}
