package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// menu adds dishes to the own store, three of them in the same millisecond.
func (w *world) menu() {
	w.Helper()
	for i := range 7 {
		_, err := w.db.CreateProduct(w.Context(), noon.Add(time.Duration(i/3)*time.Hour), w.stores["own"].id,
			app.Product{
				Name: fmt.Sprint("Dish ", i), Category: []string{"starter", "main"}[i%2], PriceMinor: 100,
				Currency:    "EUR",
				IsAvailable: i%3 > 0,
			}, nil)
		w.must(err)
	}
}

func names(products []app.Product) string {
	list := []string{}
	for _, p := range products {
		list = append(list, p.Name)
	}
	return strings.Join(list, ", ")
}

func TestProductsInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.menu()
	var all []app.Product
	a := w.do("GET", "/products", w.tokens["STAFF"], nil).ok(200, &all)
	if len(all) != 8 || a.body.Meta["nextCursor"] != nil || a.body.Meta["limit"] != 20. ||
		a.body.Meta["requestId"] != a.Header().Get("X-Request-Id") {
		t.Fatalf("got %s, want 8 products on one page", a.Body)
	}
	for limit := 1; limit <= 9; limit++ {
		var pages []app.Product
		cursor := ""
		for n := 0; ; n++ {
			var page []app.Product
			a := w.do("GET", fmt.Sprintf("/products?limit=%d%s", limit, cursor), w.tokens["STAFF"], nil).ok(200, &page)
			pages = append(pages, page...)
			next, more := a.body.Meta["nextCursor"].(string)
			if len(page) == 0 {
				t.Errorf("pages of %d: got an empty last page", limit)
			}
			if !more {
				break
			}
			if len(page) != limit || n > 10 {
				t.Fatalf("page %d: got %s, want %d products", n, names(page), limit)
			}
			cursor = "&cursor=" + next
		}
		if diff := cmp.Diff(all, pages); diff != "" {
			t.Errorf("pages of %d: got %s, want %s", limit, names(pages), names(all))
		}
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.menu()
	next := func(token, request string) string {
		t.Helper()
		cursor, ok := w.do("GET", request, token, nil).ok(200, nil).body.Meta["nextCursor"].(string)
		if !ok {
			t.Fatalf("%s: got one page, want several", request)
		}
		return cursor
	}
	staff := w.tokens["STAFF"]
	cursor := next(staff, "/products?limit=2&category=main")
	w.do("GET", "/products?limit=1&category=main&cursor="+cursor, staff, nil).ok(200, nil) // the limit may change
	w.do("GET", "/products?cursor="+cursor+"&category=main&storeId="+string(w.stores["own"].id), staff, nil).
		ok(200, nil)
	sibling := w.token("STAFF", w.stores["sibling"].id)
	for name, c := range map[string][2]string{
		"no filter":       {staff, "/products?cursor=" + cursor},
		"another filter":  {staff, "/products?category=starter&cursor=" + cursor},
		"one more filter": {staff, "/products?category=main&isAvailable=true&cursor=" + cursor},
		"another store":   {sibling, "/products?category=main&cursor=" + cursor},
		"another list":    {w.tokens["OWNER"], "/deliveries?cursor=" + next(staff, "/products?limit=1")},
		"garbage":         {staff, "/products?cursor=garbage"},
		"an id":           {staff, "/products?cursor=" + string(w.stores["own"].product.ID)},
		"padded":          {staff, "/products?category=main&cursor=" + cursor + "="},
		"cut short":       {staff, "/products?category=main&cursor=" + cursor[:len(cursor)-3]},
		"longer":          {staff, "/products?category=main&cursor=" + cursor + "AAAA"},
		"altered":         {staff, "/products?category=main&cursor=" + "A" + strings.TrimPrefix(cursor, "A")[1:] + "A"},
		"very long":       {staff, "/products?category=main&cursor=" + strings.Repeat("A", 513)},
		"in SQL":          {staff, "/products?category=main&cursor=" + url.QueryEscape("' OR 1=1 --")},
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", c[1], c[0], nil).refused(app.CodeValidationFailed, "cursor")
		})
	}
}

func TestProductFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.menu()
	for query, want := range map[string]string{
		"category=main": "Dish 5, Dish 3, Dish 1", "category=Main": "", "isAvailable=false": "Dish 6, Dish 3, Dish 0",
		"category=starter&isAvailable=true": "Dish 4, Dish 2", "q=dISH+4": "Dish 4", "q=%25": "",
		"q=p1": w.stores["own"].product.Name, "q=%5C": "",
		"updatedSince=2026-03-14T14:00:00Z": "Dish 6", "updatedSince=2026-03-14T14:00:00.001Z": "",
	} {
		w.run(query, func(t *testing.T) {
			var page []app.Product
			w.do("GET", "/products?"+query, w.tokens["STAFF"], nil).ok(200, &page)
			got := strings.Split(names(page), ", ")
			if want != "" && len(got) != len(strings.Split(want, ", ")) || want == "" && len(page) > 0 {
				t.Errorf("?%s: got %s, want %s", query, names(page), want)
			}
			for _, name := range strings.Split(want, ", ") {
				if !strings.Contains(names(page), name) {
					t.Errorf("?%s: got %s, want also %s", query, names(page), name)
				}
			}
		})
	}
}

func TestCategories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.menu()
	emoji := strings.Repeat("🍕", 100) // the longest valid name
	w.addProductIn("own", emoji)
	gone := w.addProductIn("own", "gone")
	w.must(w.db.DeleteProduct(t.Context(), noon, w.stores["own"].id, gone, 0))
	w.addProductIn("own", "")
	w.addProductIn("sibling", "the sibling's")
	want := []app.Category{
		{Name: "main", Products: 3}, {Name: "pizza", Products: 1}, {Name: "starter", Products: 4},
		{Name: emoji, Products: 1},
	}
	var all []app.Category
	w.do("GET", "/products/categories", w.tokens["STAFF"], nil).ok(200, &all)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error("categories (-want +got):", diff)
	}
	path := "/products/categories?limit=1"
	for i, category := range want {
		a := w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &all)
		if len(all) != 1 || all[0] != category {
			t.Errorf("page %d: got %+v, want %+v", i, all, category)
		}
		cursor, more := a.body.Meta["nextCursor"].(string)
		if more != (i < len(want)-1) {
			t.Errorf("page %d: got another page %v, want %v", i, more, i < len(want)-1)
		}
		path = "/products/categories?limit=1&cursor=" + cursor
	}
	w.do("GET", "/products/categories", w.key("foreign", app.ScopeReadProducts), nil).ok(200, &all)
	if diff := cmp.Diff([]app.Category{{Name: "pizza", Products: 1}}, all); diff != "" {
		t.Error("categories of another store (-want +got):", diff)
	}
	for query, at := range map[string]string{"limit=0": "limit", "limit=101": "limit", "cursor=garbage": "cursor",
		"q=pizza": "q"} {
		w.run(query, func(t *testing.T) {
			w.do("GET", "/products/categories?"+query, w.tokens["STAFF"], nil).refused(app.CodeValidationFailed, at)
		})
	}
}

func (w *world) addProductIn(store, category string) app.ProductID {
	w.Helper()
	product, err := w.db.CreateProduct(w.Context(), noon, w.stores[store].id,
		app.Product{Name: "One more", Currency: "EUR", Category: category}, nil)
	w.must(err)
	return product.ID
}

// Names and prices are those of the session's store view.
func TestProductsInTheCallersView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	show := func() app.Product {
		var page []app.Product
		w.do("GET", "/products", w.tokens["STAFF"], nil).ok(200, &page)
		return page[0]
	}
	if p := show(); p.Name != w.stores["own"].product.Name || p.PriceMinor != 950 || p.Currency != "EUR" ||
		p.Prices["USD"] != 1100 {
		t.Errorf("in the German view: got %+v, want %+v", p, w.stores["own"].product)
	}
	_, err := w.db.System().DB.ExecContext(t.Context(), `UPDATE sessions SET active_view_id =
		(SELECT id FROM store_views v WHERE v.store_id = active_store_id AND v.currency = 'USD') WHERE user_id = $1`,
		w.users["STAFF"].ID)
	w.must(err)
	if p := show(); p.Name != "Pizza" || p.Description != "Round" || p.PriceMinor != 1100 || p.Currency != "USD" {
		t.Errorf("in the English view: got %+v, want Pizza, Round, for 1100 USD", p)
	}
}

func FuzzCursor(f *testing.F) {
	cursors := newCursors(persistencetest.Keyring())
	valid := cursors.seal("/products\nsto_1\n", "1773489600000000 prd_1")
	f.Add(valid)
	f.Add("")
	f.Add(valid[:len(valid)-1] + string(flipPadding(valid[len(valid)-1])))
	f.Add(cursors.seal("/products\nsto_2\n", "1773489600000000 prd_1"))
	f.Fuzz(func(t *testing.T, cursor string) {
		position, err := cursors.open("/products\nsto_1\n", cursor)
		if err == nil && cursor != "" && cursor != valid {
			t.Errorf("cursor %q: got the position %q, want an error", cursor, position)
		}
		if err != nil && app.CodeOf(err) != app.CodeValidationFailed {
			t.Errorf("cursor %q: got %v, want %s", cursor, err, app.CodeValidationFailed)
		}
		timeCursor(cursor) // must not panic on any input
	})
}
