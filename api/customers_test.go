package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

func addressBody() object {
	return object{"label": "Home", "line1": "Torstraße 1", "city": "Berlin", "postalCode": "10119", "country": "DE"}
}

// addAddress gives a customer an address.
func (w *world) addAddress(store app.StoreID, customer app.CustomerID) app.Address {
	w.Helper()
	address, err := w.db.AddAddress(w.Context(), w.now, store, customer, app.Address{
		DeliveryAddress: app.DeliveryAddress{Line1: "Torstraße 1", City: "Berlin", Country: "DE"},
	}, nil, nil)
	w.must(err)
	return address
}

func TestCustomerPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID)
	want := ada.Customer
	null := json.RawMessage("null")
	for _, c := range []struct {
		token   string
		patch   object
		changed string
		want    func(*app.Customer)
	}{
		{ada.AccessToken, object{}, "", nil},
		{ada.AccessToken, object{"firstName": "Ada", "phone": null}, "", nil},
		{ada.AccessToken, object{"firstName": "Augusta 👩‍💻", "phone": "+4915112345678"}, "firstName phone", func(c *app.Customer) {
			c.FirstName, c.Phone = "Augusta 👩‍💻", "+4915112345678"
		}},
		{w.tokens["MANAGER"], object{"lastName": null, "phone": null}, "lastName phone", func(c *app.Customer) { c.LastName, c.Phone = "", "" }},
		{w.tokens["OWNER"], object{"lastName": "拉芙蕾丝"}, "lastName", func(c *app.Customer) { c.LastName = "拉芙蕾丝" }},
	} {
		w.now = w.now.Add(time.Second)
		version := want.Version
		if c.want != nil {
			c.want(&want)
			want.Version, want.UpdatedAt = version+1, app.At(w.now)
		}
		before := len(w.told("own", app.EventCustomerUpdated))
		var got, read app.Customer
		w.do("PATCH", path, c.token, c.patch, ifMatch(version)).ok(200, &got)
		w.do("GET", path, ada.AccessToken, nil).ok(200, &read)
		if diff := cmp.Diff(want, got) + cmp.Diff(want, read); diff != "" {
			t.Errorf("%v: %s", c.patch, diff)
		}
		told := w.told("own", app.EventCustomerUpdated)[before:]
		if c.changed == "" && len(told) > 0 || c.changed != "" && len(told) != 1 {
			t.Fatalf("%v: %d events", c.patch, len(told))
		}
		if c.changed != "" {
			var event app.CustomerUpdated
			w.read(told[0], &event)
			if diff := cmp.Diff(app.CustomerUpdated{Customer: want, UpdatedFields: strings.Fields(c.changed)}, event); diff != "" {
				t.Errorf("%v: the event: %s", c.patch, diff)
			}
		}
	}
	w.do("PATCH", path, ada.AccessToken, object{"firstName": "x"}, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("PATCH", path, ada.AccessToken, object{"firstName": "x"}, header("If-Match", "1")).refused(app.CodeValidationFailed, "If-Match")
	w.do("PATCH", path, w.key("own", app.Scopes[:]...), object{"firstName": "x"}).refused(app.CodeInsufficientScope)
	w.do("PATCH", path, w.tokens["STAFF"], object{"firstName": "x"}).refused(app.CodeInsufficientRole)
	for name, c := range map[string]struct {
		patch any
		path  string
	}{
		"a blank name": {object{"firstName": " \u00a0"}, "firstName"}, "an empty name": {object{"firstName": ""}, "firstName"}, "name null": {object{"firstName": null}, "firstName"},
		"a long name": {object{"firstName": strings.Repeat("字", 101)}, "firstName"}, "10 kB": {object{"lastName": strings.Repeat("x", 10_000)}, "lastName"},
		"NUL": {object{"lastName": "a\x00b"}, "lastName"}, "a blank last name": {object{"lastName": " "}, "lastName"}, "no phone": {object{"phone": "12345"}, "phone"},
		"an empty phone": {object{"phone": ""}, "phone"}, "the address": {object{"email": "eve@example.com"}, "email"}, "points": {object{"loyaltyPoints": 9}, "loyaltyPoints"},
		"a kind": {object{"kind": "guest"}, "kind"}, "a list": {[]any{}, ""},
	} {
		a := w.do("PATCH", path, ada.AccessToken, c.patch)
		a.what = name
		a.refused(app.CodeValidationFailed, c.path)
	}
	// Two guests without an e-mail address never share a phone number.
	guest := func(phone string) string {
		order := w.orderBody("own")
		order["customer"] = object{"name": "Guest", "phone": phone}
		var placed orderOut
		w.do("POST", "/orders", w.tokens["OWNER"], order).ok(201, &placed)
		return "/customers/" + string(placed.Customer.ID)
	}
	guest("+4915111111111")
	w.do("PATCH", guest("+4915122222222"), w.tokens["OWNER"], object{"phone": "+4915111111111"}).refused(app.CodeConflict)
	w.do("PATCH", path, ada.AccessToken, object{"phone": "+4915111111111"}).ok(200, nil)
}

// TestCustomersSeeThemselvesAlone: another's is as if there were none.
func TestCustomersSeeThemselvesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	sibling := w.addCustomer("sibling", "ada@example.com")
	address := w.addAddress(w.stores["own"].id, bob.Customer.ID)
	var mine []app.Customer
	w.do("GET", "/customers", ada.AccessToken, nil).ok(200, &mine)
	if diff := cmp.Diff([]app.Customer{ada.Customer}, mine); diff != "" {
		t.Error(diff)
	}
	w.do("GET", "/customers?q=bob", ada.AccessToken, nil).ok(200, &mine)
	if len(mine) != 0 {
		t.Errorf("%+v", mine)
	}
	unknown := w.do("GET", "/customers/cus_none", ada.AccessToken, nil).refused(app.CodeNotFound).same()
	own := "/customers/" + string(ada.Customer.ID)
	for _, id := range []app.CustomerID{bob.Customer.ID, sibling.Customer.ID, w.stores["foreign"].order.Customer.ID, "cus_none"} {
		path := "/customers/" + string(id)
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{"GET", path, nil}, {"PATCH", path, object{"firstName": "Eve"}}, {"GET", path + "/loyalty", nil}, {"GET", path + "/addresses", nil},
			{"POST", path + "/addresses", addressBody()}, {"PATCH", path + "/addresses/" + string(address.ID), object{"city": "x"}},
			{"DELETE", path + "/addresses/" + string(address.ID), nil},
			{"PATCH", own + "/addresses/" + string(address.ID), object{"city": "x"}}, {"DELETE", own + "/addresses/" + string(address.ID), nil},
			{"DELETE", own + "/addresses/adr_none", nil}, {"DELETE", own + "/addresses/%00", nil},
		} {
			if a := w.do(request.method, request.path, ada.AccessToken, request.body).refused(app.CodeNotFound); a.same() != unknown {
				t.Errorf("%s: %s", a.what, a.Body)
			}
		}
	}
	var kept []app.Address
	w.do("GET", "/customers/"+string(bob.Customer.ID)+"/addresses", w.tokens["MANAGER"], nil).ok(200, &kept)
	if diff := cmp.Diff([]app.Address{address}, kept); diff != "" {
		t.Error(diff)
	}
	var key []app.Address
	w.do("GET", "/customers/"+string(bob.Customer.ID)+"/addresses", w.key("own", app.ScopeReadCustomers), nil).ok(200, &key)
	if diff := cmp.Diff(kept, key); diff != "" {
		t.Error(diff)
	}
}

func TestListCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	w.exec("UPDATE customers SET first_name = 'Grace Brewster Hopper' WHERE store_id = $1", own)
	for i, c := range []persistence.NewCustomer{
		{Email: "Ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678"},
		{Email: "ada.m@example.com", FirstName: "Ädchen", LastName: "van Müller"},
		{Email: "o%_@example.com", FirstName: "100%", LastName: "_"},
		{Email: "ли@example.com", FirstName: "李", LastName: "ИВАНОВ"},
	} {
		_, err := w.db.RegisterCustomer(t.Context(), noon.Add(time.Duration(i+1)*time.Second), own, c, time.Hour)
		w.must(err)
	}
	emails := func(query string) (found []string) {
		t.Helper()
		var page []app.Customer
		w.do("GET", "/customers?"+query, w.tokens["MANAGER"], nil).ok(200, &page)
		for _, c := range page {
			found = append(found, c.Email)
		}
		return found
	}
	all := []string{"ли@example.com", "o%_@example.com", "ada.m@example.com", "Ada@example.com", ""}
	for query, want := range map[string][]string{
		"":                 all,
		"kind=guest":       all[4:],
		"kind=registered":  all[:4],
		"q=ada":            all[2:4],
		"q=ADA%40EXAMPLE":  all[3:4],
		"q=ada+love":       all[3:4],
		"q=lovel":          all[3:4],
		"q=ädchen":         all[2:3],
		"q=VAN+MÜL":        all[2:3],
		"q=müller":         nil, // prefixes only
		"q=%25":            nil,
		"q=_":              all[1:2],
		"q=100%25":         all[1:2],
		"q=иван":           all[:1],
		"q=李":              all[:1],
		"q=%2B49151":       all[3:4],
		"q=grace":          all[4:],
		"q=hopper":         all[4:],
		"q=brewster":       nil,
		"q=ada&kind=guest": nil,
		"updatedSince=" + noon.Add(3*time.Second).Format(time.RFC3339): all[:2],
		"limit=2": all[:2],
	} {
		if diff := cmp.Diff(want, emails(query), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	var paged []string
	next := ""
	for range 5 {
		var page []app.Customer
		a := w.do("GET", "/customers?limit=1&kind=registered"+next, w.tokens["MANAGER"], nil).ok(200, &page)
		for _, c := range page {
			paged = append(paged, c.Email)
		}
		cursor, more := a.body.Meta["nextCursor"].(string)
		if !more {
			break
		}
		next = "&cursor=" + url.QueryEscape(cursor)
		w.do("GET", "/customers?limit=1&kind=guest"+next, w.tokens["MANAGER"], nil).refused(app.CodeValidationFailed, "cursor")
	}
	if diff := cmp.Diff(all[:4], paged); diff != "" {
		t.Error(diff)
	}
	for query, path := range map[string]string{
		"kind=vip": "kind", "q=": "q", "q=" + strings.Repeat("x", 201): "q", "q=%00": "q", "q=%ff": "q", "updatedSince=yesterday": "updatedSince", "limit=0": "limit",
		"email=x": "email", "cursor=x": "cursor",
	} {
		w.do("GET", "/customers?"+query, w.tokens["MANAGER"], nil).refused(app.CodeValidationFailed, path)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID)
	addresses := func() (all []app.Address) {
		t.Helper()
		w.do("GET", path+"/addresses", ada.AccessToken, nil).ok(200, &all)
		defaults := 0
		for _, a := range all {
			if a.IsDefault {
				defaults++
			}
		}
		if len(all) > 0 && defaults != 1 {
			t.Fatalf("%d defaults: %+v", defaults, all)
		}
		return all
	}
	events := 0
	// told demands one more customer.updated, which names the addresses, or none.
	told := func(more int) {
		t.Helper()
		all := w.told("own", app.EventCustomerUpdated)
		if events += more; len(all) != events {
			t.Fatalf("%d events instead of %d", len(all), events)
		}
		var c app.Customer
		w.do("GET", path, ada.AccessToken, nil).ok(200, &c)
		var event app.CustomerUpdated
		w.read(all[len(all)-1], &event)
		if diff := cmp.Diff(app.CustomerUpdated{Customer: c, UpdatedFields: []string{"addresses"}}, event); diff != "" {
			t.Error(diff)
		}
	}
	var first, second, third app.Address
	add := func(into *app.Address, change object) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), change)).ok(201, into)
		told(1)
	}
	add(&first, object{"line2": "Hinterhof", "region": "BE", "notes": "2× klingeln 🔔", "isDefault": false})
	want := app.Address{
		ID: first.ID, Label: "Home", IsDefault: true, Version: 1, CreatedAt: app.At(w.now), UpdatedAt: app.At(w.now), DeliveryAddress: app.DeliveryAddress{
			Line1: "Torstraße 1", Line2: "Hinterhof", City: "Berlin", Region: "BE", PostalCode: "10119", Country: "DE", Notes: "2× klingeln 🔔",
		},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	add(&second, object{"label": "職場"})
	if second.IsDefault {
		t.Error("the second is the default")
	}
	add(&third, object{"isDefault": true})
	if all := addresses(); len(all) != 3 || all[0].ID != third.ID || !all[0].IsDefault || all[2].Version != 2 {
		t.Errorf("%+v", all)
	}

	one := func(a app.Address) string { return path + "/addresses/" + string(a.ID) }
	null := json.RawMessage("null")
	w.now = w.now.Add(time.Second)
	id := second.ID
	second = app.Address{}
	w.do("PATCH", path+"/addresses/"+string(id), ada.AccessToken, object{"label": null, "postalCode": null, "line2": null, "isDefault": false, "city": "Rome", "country": "IT"}, ifMatch(1)).ok(200, &second)
	told(1)
	want = app.Address{
		ID: second.ID, Version: 2, CreatedAt: second.CreatedAt, UpdatedAt: app.At(w.now), DeliveryAddress: app.DeliveryAddress{Line1: "Torstraße 1", City: "Rome", Country: "IT"},
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error(diff)
	}
	w.do("PATCH", one(second), ada.AccessToken, object{"city": "Rome"}).ok(200, &second)
	told(0)
	w.do("PATCH", one(second), ada.AccessToken, object{"city": "Pisa"}, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("DELETE", one(second), ada.AccessToken, nil, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("PATCH", one(third), ada.AccessToken, object{"isDefault": false}).refused(app.CodeValidationFailed, "isDefault")
	told(0)
	w.now = w.now.Add(time.Second)
	w.do("PATCH", one(second), ada.AccessToken, object{"isDefault": true}).ok(200, &second)
	told(1)
	if all := addresses(); !all[1].IsDefault || all[1].Version != 3 {
		t.Errorf("%+v", all)
	}
	w.now = w.now.Add(time.Second)
	w.do("DELETE", one(second), ada.AccessToken, nil, ifMatch(3)).ok(204, nil)
	told(1)
	if all := addresses(); len(all) != 2 || !all[1].IsDefault || all[1].ID != first.ID {
		t.Errorf("%+v", all)
	}
	w.do("DELETE", one(second), ada.AccessToken, nil).refused(app.CodeNotFound)
	for _, a := range []app.Address{third, first} {
		w.now = w.now.Add(time.Second)
		w.do("DELETE", one(a), ada.AccessToken, nil).ok(204, nil)
		told(1)
	}
	if all := addresses(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	for name, c := range map[string]struct {
		change object
		path   string
	}{
		"a blank street": {object{"line1": " "}, "line1"}, "a long street": {object{"line1": strings.Repeat("字", 201)}, "line1"}, "NUL": {object{"line1": "a\x00"}, "line1"},
		"a blank city": {object{"city": "\t"}, "city"}, "a country in lower case": {object{"country": "de"}, "country"}, "no country": {object{"country": "XX"}, "country"},
		"10 kB of notes": {object{"notes": strings.Repeat("x", 10_000)}, "notes"}, "a long label": {object{"label": strings.Repeat("x", 51)}, "label"},
		"default of text": {object{"isDefault": "yes"}, "isDefault"}, "an id": {object{"id": "adr_1"}, "id"}, "a city null": {object{"city": null}, "city"},
	} {
		a := w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), c.change))
		a.what = "add with " + name
		a.refused(app.CodeValidationFailed, c.path)
		a = w.do("PATCH", path+"/addresses/adr_none", ada.AccessToken, c.change)
		a.what = "change with " + name
		a.refused(app.CodeValidationFailed, c.path)
	}
	for _, missing := range []string{"line1", "city", "country"} {
		w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), object{missing: nil})).refused(app.CodeValidationFailed, missing)
	}
}

// TestAddressesAtOnce: of sixty at once, fifty come to be, one of them the default.
func TestAddressesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID) + "/addresses"
	answers := make(chan *answer, 60)
	for i := range cap(answers) {
		go func() {
			answers <- w.do("POST", path, ada.AccessToken, altered(addressBody(), object{"isDefault": i%2 == 0, "label": fmt.Sprint(i)}))
		}()
	}
	added := 0
	for range cap(answers) {
		if a := <-answers; a.Code == 201 {
			added++
		} else {
			a.refused(app.CodeLimitReached)
		}
	}
	var all []app.Address
	w.do("GET", path+"?limit=100", ada.AccessToken, nil).ok(200, &all)
	all = slices.DeleteFunc(all, func(a app.Address) bool { return !a.IsDefault })
	if added != app.MaxAddresses || len(all) != 1 {
		t.Errorf("%d added, %d defaults", added, len(all))
	}
	// An Idempotency-Key has its answer even so.
	w.do("DELETE", path+"/"+string(all[0].ID), ada.AccessToken, nil).ok(204, nil)
	key := header("Idempotency-Key", "k1")
	first := w.do("POST", path, ada.AccessToken, addressBody(), key).ok(201, nil)
	if again := w.do("POST", path, ada.AccessToken, addressBody(), key).ok(201, nil); again.Body.String() != first.Body.String() {
		t.Errorf("%s", again.Body)
	}
}

// TestPointsOfACustomer: earned when an order is completed, given back with the money.
func TestPointsOfACustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	order := w.orderOf("own", ada.Customer.ID)
	path := "/customers/" + string(ada.Customer.ID)
	s := *w.stores["own"]
	s.order = order
	payment := w.pay(&s, order.TotalMinor)
	for i, step := range []struct {
		do   func()
		want int64
	}{
		{func() {}, 0},
		{func() {
			w.do("PATCH", "/orders/"+string(order.ID)+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).ok(200, nil)
		}, 9},
		{func() {
			w.do("PATCH", "/orders/"+string(order.ID)+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).ok(200, nil)
		}, 9},
		{func() {
			w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["OWNER"], refundBody(475)).ok(201, nil)
		}, 5},
		{func() {
			w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["OWNER"], refundBody(475)).ok(201, nil)
		}, 0},
	} {
		w.now = w.now.Add(time.Second)
		step.do()
		var c app.Customer
		w.do("GET", path, ada.AccessToken, nil).ok(200, &c)
		if c.LoyaltyPoints != step.want || c.TotalOrders != 1 || c.Version != 1 {
			t.Errorf("after step %d: %+v", i, c)
		}
	}
	var entries []app.LoyaltyEntry
	w.do("GET", path+"/loyalty", w.key("own", app.ScopeReadCustomers), nil).ok(200, &entries)
	kinds := ""
	for _, e := range entries {
		kinds += fmt.Sprint(e.Kind, " ", e.Points, " of ", e.OrderNumber, ";")
	}
	if kinds != "REVERSED -5 of 2;REVERSED -4 of 2;EARNED 9 of 2;" {
		t.Error(kinds)
	}
	var page []app.LoyaltyEntry
	a := w.do("GET", path+"/loyalty?limit=2", ada.AccessToken, nil).ok(200, &page)
	w.do("GET", path+"/loyalty?limit=2&cursor="+a.body.Meta["nextCursor"].(string), ada.AccessToken, nil).ok(200, &page)
	if len(page) != 1 || page[0].Kind != app.PointsEarned {
		t.Errorf("%+v", page)
	}
}
