package api

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// wide is a text of n characters of four bytes each.
func wide(n int) string { return strings.Repeat("🍕", n) }

// padding is metadata of n bytes as JSON, without the braces. n is at least 3,000.
func padding(n int) object {
	all := object{}
	for i := 10; n > 0; i++ {
		size := n
		if n > 3000 {
			size = 1500
		} else if n > 1500 {
			size = n / 2
		}
		n -= size
		size -= len(`"10":"",`)
		all[strconv.Itoa(i)] = wide(size/4) + strings.Repeat("x", size%4)
	}
	return all
}

// unchanged checks that requests which are refused change nothing.
func (w *world) unchanged(requests func()) {
	w.Helper()
	before, products := w.state(), w.text("SELECT md5(string_agg(p::text, '' ORDER BY id)) FROM products p")
	events := w.text("SELECT count(*) FROM outbox")
	requests()
	after := w.state()
	if diff := cmp.Diff(before, after); diff != "" || events != w.text("SELECT count(*) FROM outbox") ||
		products != w.text("SELECT md5(string_agg(p::text, '' ORDER BY id)) FROM products p") {
		w.Errorf("refused requests changed data (-before +after):\n%s", diff)
	}
}

// largestEvent checks the size of the largest event.
func (w *world) largestEvent(least, most int) {
	w.Helper()
	size, err := strconv.Atoi(w.text("SELECT max(octet_length(body)) FROM outbox"))
	if w.must(err); size < least || size > most {
		w.Errorf("the largest event: got %d bytes, want %d to %d", size, least, most)
	}
}

// Small requests can make large orders, because an order contains the names of its options.
func TestOrdersHaveAMaximumSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options, chosen := []any{}, []any{}
	for range 20 {
		options = append(options, object{"name": wide(200)})
	}
	dish := w.addDish(object{"name": wide(200), "maxSelections": 20, "options": options})
	for _, option := range dish.OptionGroups[0].Options {
		chosen = append(chosen, object{"optionId": option.ID})
	}
	lines := func(n int, change object) (items []any) { // 34 KB each
		for range n {
			items = append(items, altered(object{"productId": dish.ID, "quantity": 1, "options": chosen}, change))
		}
		return items
	}
	owner := w.tokens["OWNER"]
	w.unchanged(func() {
		w.do("POST", "/orders/quote", owner, w.ordering(lines(100, nil)...)).refused(app.CodeLimitReached)
		w.do("POST", "/orders", owner, w.ordering(lines(100, nil)...)).refused(app.CodeLimitReached)
	})
	w.do("POST", "/orders", w.pricing(), w.ordering(lines(100, object{"unitPriceMinor": 1})...)).
		refused(app.CodeLimitReached)

	var placed orderOut
	w.do("POST", "/orders", owner, w.ordering(lines(27, nil)...)).ok(201, &placed)
	body, err := encode(placed.Order)
	w.must(err)
	left := app.MaxObject - len(body)
	padded := func(n int) object { return altered(w.ordering(lines(27, nil)...), object{"metadata": padding(n)}) }
	w.do("POST", "/orders", owner, padded(left+100)).refused(app.CodeLimitReached)
	w.do("POST", "/orders", owner, padded(left-100)).ok(201, &placed)

	// The events of a change contain the changed items before and after it.
	path := "/orders/" + string(placed.ID)
	amend := func(items []any) *response {
		return w.do("PATCH", path, owner, object{"items": items}, ifMatch(placed.Version))
	}
	kept := []any{}
	for _, item := range placed.Items {
		kept = append(kept, object{"id": item.ID})
	}
	w.unchanged(func() {
		amend(append(lines(1, nil), kept...)).refused(app.CodeLimitReached)
		amend(lines(10, nil)).refused(app.CodeLimitReached)
	})
	amend(kept[1:]).ok(200, &placed)

	// Later events can be larger, so that a large order can be handled.
	for _, item := range placed.Items {
		w.do("PUT", path+"/items/"+string(item.ID)+"/done", owner, object{"done": true}).ok(200, nil)
	}
	w.do("PATCH", path+"/status", owner, object{"status": "READY"}).ok(200, nil)
	w.do("PATCH", path+"/status", owner, object{"status": "CANCELLED", "cancellationReason": wide(500)}).ok(200, nil)
	w.largestEvent(app.MaxObject, app.MaxEvent)
}

func TestProductsHaveAMaximumSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	texts := func(language string, n int) object { // 20 KB each
		all := object{}
		for i := range n {
			all[language+fmt.Sprintf("-%03d", i)] = object{"name": "Lasagne", "description": wide(5000)}
		}
		return all
	}
	dish := w.addDish(size())
	path := "/products/" + string(dish.ID)
	w.do("PATCH", path, owner, object{"sku": "LARGE", "translations": texts("de", 47)}).ok(200, nil)
	groups, options := []any{}, []any{}
	for range 100 {
		options = append(options, object{"name": wide(120)})
	}
	for range 20 {
		groups = append(groups, object{"name": "Group", "options": options})
	}
	w.unchanged(func() {
		w.do("PATCH", path, owner, object{"translations": texts("en", 10)}).refused(app.CodeLimitReached)
		w.do("POST", "/products", owner, altered(productBody(), object{"optionGroups": groups})).
			refused(app.CodeLimitReached)
		for _, dryRun := range []string{"true", "false"} {
			w.do("POST", "/products/import?dryRun="+dryRun, owner, []any{
				altered(productBody(), object{"sku": "NEW"}),
				object{"sku": "LARGE", "optionGroups": groups[:1]},
			}).refused(app.CodeValidationFailed, "rows[1]")
		}
	})
	w.do("PATCH", path, owner, object{"isAvailable": false}).ok(200, nil)
	w.largestEvent(app.MaxObject/2, app.MaxEvent)
}

// An order names products of at most 4 MiB and one more, so that few of them are in memory.
func TestProductsOfAnOrderAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	texts := func(n int) object {
		texts := object{}
		for i := range n { // 20 KB each
			texts[fmt.Sprintf("de-%03d", i)] = object{"name": "Lasagne", "description": wide(5000)}
		}
		return texts
	}
	var items []any
	for i := range 7 {
		product := w.createProduct(object{"sku": fmt.Sprint("LARGE-", i), "translations": texts(40)})
		items = append(items, object{"productId": product.ID, "quantity": 2})
	}
	quote := func(items ...any) *response { return w.do("POST", "/orders/quote", owner, w.ordering(items...)) }
	quote(items...).refused(app.CodeLimitReached)
	quote(items[:5]...).ok(200, nil)
	w.do("POST", "/orders", owner, w.ordering(items...)).refused(app.CodeLimitReached)
	var placed orderOut
	w.do("POST", "/orders", owner, w.ordering(items[:5]...)).ok(201, &placed)
	w.amend(placed, owner, object{"items": items}).refused(app.CodeLimitReached)
	w.amend(placed, owner, object{"items": items[:4]}).ok(200, nil)

	// The products of an order have grown since it was placed.
	w.do("POST", "/orders", owner, w.ordering(items[:6]...)).ok(201, &placed)
	var less []any
	for _, item := range placed.Items {
		w.do("PATCH", "/products/"+string(*item.ProductID), owner, object{"translations": texts(46)}).ok(200, nil)
		less = append(less, kept(item, object{"quantity": 1}))
	}
	w.do("POST", "/orders", owner, w.ordering(items[:6]...)).refused(app.CodeLimitReached)
	w.amend(placed, owner, object{"items": less}).ok(200, nil)
}
