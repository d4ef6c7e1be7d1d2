package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestMenuOrder checks that the pages of a menu are sorted by category and position, without gaps and repetitions.
func TestMenuOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/products/" + string(w.stores["own"].product.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"name": "Z", "position": 7}).ok(200, nil)
	for _, dish := range []object{
		{"name": "A", "category": "pizza", "position": 9}, {"name": "B", "category": "pizza", "position": 7},
		{"name": "C", "category": "Drinks"}, {"name": "D", "category": "pizza"}, {"name": "E", "category": "Drinks"},
		{"name": "F", "position": 1_000_000_000},
	} {
		w.now = w.now.Add(time.Second)
		w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), dish)).ok(201, nil)
	}
	for query, want := range map[string]string{
		"sort=position": "F C E D Z B A", "sort=position&category=pizza": "D Z B A", "sort=position&q=e": "E",
		"sort=newest": "F E D C B A Z", "isAvailable=true": "F E D C B A Z",
	} {
		for limit := 1; limit <= 7; limit += 2 {
			var all []string
			for cursor := ""; ; {
				var page []app.Product
				path := fmt.Sprintf("/products?own=true&%s&limit=%d%s", query, limit, cursor)
				a := w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &page)
				for _, p := range page {
					all = append(all, p.Name)
				}
				next, more := a.body.Meta["nextCursor"].(string)
				if !more {
					break
				}
				cursor = "&cursor=" + next
			}
			if got := strings.Join(all, " "); got != want {
				t.Errorf("%s in pages of %d: got %s, want %s", query, limit, got, want)
			}
		}
	}
	w.do("GET", "/products?sort=price", w.tokens["STAFF"], nil).refused(app.CodeValidationFailed, "sort")
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"position": -1})).
		refused(app.CodeValidationFailed, "position")
	// The cursor of one order is not valid in the other.
	next := w.do("GET", "/products?limit=1", w.tokens["STAFF"], nil).ok(200, nil).body.Meta["nextCursor"].(string)
	w.do("GET", "/products?limit=1&sort=position&cursor="+next, w.tokens["STAFF"], nil).
		refused(app.CodeValidationFailed, "cursor")
}

// The cursor of a menu contains the category, which can be long.
func TestMenuCursorOfLongCategory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{
			"category": strings.Repeat("🍕", 100), "position": 1_000_000_000,
		})).ok(201, nil)
	}
	cursor := ""
	for range 3 { // a product without a category comes first
		a := w.do("GET", "/products?sort=position&limit=1"+cursor, w.tokens["STAFF"], nil).ok(200, nil)
		next, _ := a.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + next
	}
}

func TestProductsOfAView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var store app.Store
	w.do("GET", "/store", w.tokens["OWNER"], nil).ok(200, &store)
	var page []app.Product
	for _, view := range store.StoreViews {
		want := map[app.Currency]string{"EUR": w.stores["own"].product.Name, "USD": "Pizza"}[view.Currency]
		w.do("GET", "/products?storeViewId="+string(view.ID), w.tokens["STAFF"], nil).ok(200, &page)
		if len(page) != 1 || page[0].Name != want || page[0].Currency != view.Currency {
			t.Errorf("products of %s: got %+v, want %s in %s", view.Code, page, want, view.Currency)
		}
	}
	view := string(store.StoreViews[0].ID)
	w.do("GET", "/products?own=true&storeViewId="+view, w.tokens["STAFF"], nil).
		refused(app.CodeValidationFailed, "storeViewId")
	for _, id := range []string{"x", "view_1", string(w.stores["sibling"].view.ID), string(w.stores["foreign"].view.ID)} {
		w.do("GET", "/products?storeViewId="+id, w.tokens["STAFF"], nil).
			refused(app.CodeValidationFailed, "storeViewId")
	}
}
