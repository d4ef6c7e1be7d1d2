package api

import (
	"encoding/json"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func (w *world) staffMay(rights ...app.StaffRight) {
	w.Helper()
	w.now = w.now.Add(time.Second)
	w.do("PATCH", "/settings", w.tokens["ADMIN"], object{"staffMay": rights}).ok(200, nil)
}

// STAFF may use each of the operations only with its right, from the next request on. The rights are those of the
// store alone.
func TestStaffRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff, sibling := w.tokens["STAFF"], w.stores["sibling"]
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE store_id = $1 AND user_id = $2", sibling.id,
		w.users["STAFF"].ID)
	elsewhere := w.token("STAFF", sibling.id)
	until := app.At(w.now.Add(time.Hour))
	sell := func(token string, p app.Product) *response {
		return w.do("POST", "/products/"+string(p.ID)+"/sold-out", token, object{"until": until})
	}
	find := func(token string) *response { return w.lookUp(token, "030 1234567") }
	for _, c := range []struct {
		rights    []app.StaffRight
		sell, may app.Code
	}{
		{nil, app.CodeInsufficientRole, app.CodeInsufficientRole},
		{[]app.StaffRight{app.StaffSellsOut}, "", app.CodeInsufficientRole},
		{[]app.StaffRight{app.StaffFindsCustomers}, app.CodeInsufficientRole, app.CodeNotFound},
		{[]app.StaffRight{app.StaffFindsCustomers, app.StaffSellsOut}, "", app.CodeNotFound},
		{[]app.StaffRight{}, app.CodeInsufficientRole, app.CodeInsufficientRole},
	} {
		if c.rights != nil {
			w.staffMay(c.rights...)
		}
		var store app.Store
		w.do("GET", "/store", staff, nil).ok(200, &store)
		if diff := cmp.Diff(app.Granted(c.rights), store.StaffMay); diff != "" {
			t.Errorf("staffMay of the store (-want +got): %s", diff)
		}
		if c.sell == "" {
			sell(staff, w.stores["own"].product).ok(200, nil)
		} else {
			sell(staff, w.stores["own"].product).refused(c.sell)
		}
		find(staff).refused(c.may)
		// Neither right gives any other permission, nor the right in another store.
		w.do("PATCH", "/products/"+string(w.stores["own"].product.ID), staff, object{"soldOutUntil": until}).
			refused(app.CodeInsufficientRole)
		w.do("GET", "/customers", staff, nil).refused(app.CodeInsufficientRole)
		sell(elsewhere, sibling.product).refused(app.CodeInsufficientRole)
		find(elsewhere).refused(app.CodeInsufficientRole)
	}
	find(w.tokens["MANAGER"]).refused(app.CodeNotFound)
	sell(w.tokens["MANAGER"], w.stores["own"].product).ok(200, nil)
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=settings.changed", w.tokens["OWNER"], nil).ok(200, &trail)
	if len(trail) != 4 {
		t.Fatalf("got %d entries, want one for each change", len(trail))
	}
	want := map[string]any{"staffMay": map[string]any{
		"from": []any{}, "to": []any{"SELL_OUT"},
	}}
	if diff := cmp.Diff(want, trail[3].Details); diff != "" {
		t.Errorf("audit entry (-want +got): %s", diff)
	}
	for name, bad := range map[string]any{
		"unknown": []string{"REFUND"}, "twice": []string{"SELL_OUT", "SELL_OUT"}, "null": nil, "no list": "SELL_OUT",
	} {
		w.run(name, func(*testing.T) {
			w.do("PATCH", "/settings", w.tokens["ADMIN"], object{"staffMay": bad}).refused(app.CodeValidationFailed)
		})
	}
}

func TestSellOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.staffMay(app.StaffSellsOut)
	p := w.stores["own"].product
	sell := func(id app.ProductID, body object) *response {
		t.Helper()
		return w.do("POST", "/products/"+string(id)+"/sold-out", w.tokens["STAFF"], body)
	}
	until := app.At(w.now.Add(time.Hour))
	for name, bad := range map[string]object{
		"missing": {}, "now": {"until": app.At(w.now)}, "too late": {"until": w.now.Add(367 * 24 * time.Hour)},
		"no time": {"until": "soon"},
	} {
		w.run(name, func(*testing.T) { sell(p.ID, bad).refused(app.CodeValidationFailed, "until") })
	}
	sell(p.ID, object{"until": until, "isAvailable": false}).refused(app.CodeValidationFailed, "isAvailable")
	sell("prd_none", object{"until": until}).refused(app.CodeNotFound)
	sell(w.stores["foreign"].product.ID, object{"until": until}).refused(app.CodeNotFound)
	sell(w.stores["sibling"].product.ID, object{"until": until}).refused(app.CodeStoreMismatch)
	var sold, open app.Product
	sell(p.ID, object{"until": until}).ok(200, &sold)
	sell(p.ID, object{"until": until}).ok(200, nil)
	if sold.Orderable || sold.SoldOutUntil == nil || *sold.SoldOutUntil != until || sold.Version != 2 {
		t.Errorf("got %+v, want it sold out until %v in version 2", sold, until)
	}
	sell(p.ID, object{"until": json.RawMessage("null")}).ok(200, &open)
	want := p
	want.Version, want.UpdatedAt = 3, app.At(w.now)
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("product after null (-want +got): %s", diff)
	}
	if n := len(w.updates(p.ID)); n != 2 {
		t.Errorf("got %d events, want 2", n)
	}
	if jobs := w.jobs(app.JobSoldOut); len(jobs) != 1 {
		t.Errorf("got jobs %v, want one", jobs)
	}
	// Two at the same time set one time.
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { sell(p.ID, object{"until": until}).ok(200, nil) })
	}
	group.Wait()
	if n := len(w.updates(p.ID)); n != 3 {
		t.Errorf("after equal requests: got %d events, want 3", n)
	}
	w.do("POST", "/products/"+string(p.ID)+"/sold-out", w.tokens["STAFF"], object{"until": until}, ifMatch(1)).
		refused(app.CodeVersionMismatch)
}

func (w *world) lookUp(token, number string) *response {
	w.Helper()
	return w.do("GET", "/customers/lookup?phone="+url.QueryEscape(number), token, nil)
}

// guestOrder places an order of a guest with a phone number.
func (w *world) guestOrder(email, number string, change object) orderOut {
	w.Helper()
	placed, _ := w.place(altered(object{
		"customer": object{"name": "Ada Lovelace", "email": email, "phone": number},
	}, change))
	return placed
}

func TestFindCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.staffMay(app.StaffFindsCustomers)
	const number = "+49301234567"
	older := w.guestOrder("older@example.com", number, delivery())
	w.now = noon.Add(time.Minute)
	delivered := w.guestOrder("ada@example.com", number, delivery())
	w.now = noon.Add(2 * time.Minute)
	last := w.guestOrder("ada@example.com", number, object{"items": []any{
		object{"productId": w.stores["own"].product.ID, "quantity": 3, "note": "hot"},
	}})
	want := app.FoundCustomer{
		ID: *last.Customer.ID, Name: "Ada Lovelace", Phone: number, LastAddress: delivered.DeliveryAddress,
		LastOrder: &app.FoundOrder{ID: last.ID, Number: last.Number, Items: last.Items},
	}
	staff := w.tokens["STAFF"]
	for name, c := range map[string]struct{ token, number string }{
		"E.164":                {staff, number},
		"by an OWNER":          {w.tokens["OWNER"], number},
		"by a key":             {w.key("own", app.ScopeReadCustomers), number},
		"national":             {staff, "030 1234567"},
		"national, separators": {staff, "(030) 12 34-567"},
		"separators":           {staff, "+49 30/1234567"},
		"dialled code":         {staff, "0049 30 1234567"},
		"both prefixes":        {staff, "+49 (0)30 1234567"},
	} {
		w.run(name, func(t *testing.T) {
			var got app.FoundCustomer
			w.lookUp(c.token, c.number).ok(200, &got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("customer (-want +got): %s", diff)
			}
		})
	}
	w.lookUp(staff, "+49301234568").refused(app.CodeNotFound)
	w.lookUp(staff, "+393012345678").refused(app.CodeNotFound)
	for name, bad := range map[string]string{
		"empty": "", "a name": "Ada", "a plus": "+", "one digit": "0", "a plus that was not encoded": " 49301234567",
		"an extension": "030 1234567 ext. 5", "a percent sign": "%", "a code with 0": "+0301234567",
		"long": "030123456789012345678901234567890123456789",
	} {
		w.run(name, func(*testing.T) { w.lookUp(staff, bad).refused(app.CodeValidationFailed, "phone") })
	}
	w.do("GET", "/customers/lookup", staff, nil).refused(app.CodeValidationFailed, "phone")
	short := w.lookUp(staff, "+1")
	if want := "phone is not a phone number in international format"; short.body.Error.Message != want {
		t.Errorf("a short number with a plus: got message %q, want %q", short.body.Error.Message, want)
	}
	// The number means another one in another country.
	w.do("PATCH", "/store", w.tokens["OWNER"], object{"countryCode": "IT"}).ok(200, nil)
	w.lookUp(staff, "030 1234567").refused(app.CodeNotFound)
	w.do("PATCH", "/store", w.tokens["OWNER"], object{"countryCode": "DE"}).ok(200, nil)
	// Neither other stores nor erased customers are found.
	w.lookUp(w.token("OWNER", w.stores["sibling"].id), number).refused(app.CodeNotFound)
	w.lookUp(w.tokens["FOREIGN"], number).refused(app.CodeNotFound)
	erase := func(o orderOut) {
		w.exec("UPDATE orders SET status = 'COMPLETED' WHERE customer_id = $1", o.Customer.ID)
		w.do("DELETE", "/customers/"+string(*o.Customer.ID), w.tokens["OWNER"], nil).ok(204, nil)
	}
	erase(last)
	var next app.FoundCustomer
	w.lookUp(staff, number).ok(200, &next)
	if next.ID != *older.Customer.ID {
		t.Errorf("after an erasure: got %s, want the older customer %s", next.ID, *older.Customer.ID)
	}
	erase(older)
	w.lookUp(staff, number).refused(app.CodeNotFound)
	// A customer without orders has neither an address nor an order.
	ada := w.addCustomer("own", "registered@example.com")
	w.do("PATCH", "/customers/"+string(ada.Customer.ID), ada.AccessToken, object{"phone": number}).ok(200, nil)
	if got := w.lookUp(staff, number).ok(200, &next); got.Code != 200 || next.ID != ada.Customer.ID {
		t.Errorf("got %+v, want the registered customer %s", next, ada.Customer.ID)
	}
}

// Lookups are limited for each credential, also concurrent ones. Those that find nobody count, invalid ones do not.
func TestLookupsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.staffMay(app.StaffFindsCustomers)
	staff, key := w.tokens["STAFF"], w.key("own", app.ScopeReadCustomers)
	for range 5 {
		w.lookUp(staff, "Ada").refused(app.CodeValidationFailed, "phone")
		w.lookUp(staff, "0").refused(app.CodeValidationFailed, "phone")
		w.do("GET", "/customers/lookup?phone=1&storeId="+string(w.stores["sibling"].id), staff, nil).
			refused(app.CodeStoreMismatch)
	}
	answers := make(chan int, 70)
	var group sync.WaitGroup
	for range cap(answers) {
		group.Go(func() { answers <- w.lookUp(staff, "030 1234567").Code })
	}
	group.Wait()
	close(answers)
	codes := map[int]int{}
	for code := range answers {
		codes[code]++
	}
	if codes[404] != 60 || codes[429] != 10 {
		t.Errorf("got %v, want 60 times 404 and 10 times 429", codes)
	}
	if wait := w.lookUp(w.token("STAFF", w.stores["own"].id), "030 1234567").
		retryAfter(); wait > time.Minute || wait <= 0 {
		t.Errorf("another session of the user: got Retry-After %v, want at most a minute", wait)
	}
	w.lookUp(w.tokens["MANAGER"], "030 1234567").refused(app.CodeNotFound)
	w.lookUp(key, "030 1234567").refused(app.CodeNotFound)
	w.later(time.Minute)
	w.lookUp(staff, "030 1234567").refused(app.CodeNotFound)
}
