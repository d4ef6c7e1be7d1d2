package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// addAddress gives a customer an address.
func TestCustomerPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID)
	want := ada.Customer.Own()
	null := json.RawMessage("null")
	for _, c := range []struct {
		token   string
		patch   object
		changed string
		want    func(*app.Customer)
	}{
		{ada.AccessToken, object{}, "", nil},
		{ada.AccessToken, object{"firstName": "Ada", "phone": null}, "", nil},
		{ada.AccessToken, object{"firstName": "Augusta 👩‍💻", "phone": "+4915112345678"}, "firstName phone",
			func(c *app.Customer) {
				c.FirstName, c.Phone = "Augusta 👩‍💻", "+4915112345678"
			}},
		{
			w.tokens["MANAGER"], object{"lastName": null, "phone": null}, "lastName phone",
			func(c *app.Customer) { c.LastName, c.Phone = "", "" },
		},
		{
			w.tokens["OWNER"], object{"lastName": "拉芙蕾丝"}, "lastName",
			func(c *app.Customer) { c.LastName = "拉芙蕾丝" },
		},
	} {
		w.now = w.now.Add(time.Second)
		version := want.Version
		if c.want != nil {
			c.want(&want)
			want.Version, want.UpdatedAt = version+1, app.At(w.now)
		}
		before := len(w.eventData("own", app.EventCustomerUpdated))
		var got, read app.Customer
		w.do("PATCH", path, c.token, c.patch, ifMatch(version)).ok(200, &got)
		w.do("GET", path, ada.AccessToken, nil).ok(200, &read)
		if diff := cmp.Diff(want, got.Own()) + cmp.Diff(want, read); diff != "" {
			t.Errorf("%v (-want +got): %s", c.patch, diff)
		}
		emitted := w.eventData("own", app.EventCustomerUpdated)[before:]
		if c.changed == "" && len(emitted) > 0 || c.changed != "" && len(emitted) != 1 {
			t.Fatalf("%v: got %d events, want one if anything changed (%q)", c.patch, len(emitted), c.changed)
		}
		if c.changed != "" {
			var event app.CustomerUpdated
			w.read(emitted[0], &event)
			customer := want
			customer.Metadata = map[string]string{}
			if diff := cmp.Diff(app.CustomerUpdated{Customer: customer, UpdatedFields: strings.Fields(c.changed)},
				event); diff != "" {
				t.Errorf("%v: customer.updated (-want +got): %s", c.patch, diff)
			}
		}
	}
	w.do("PATCH", path, ada.AccessToken, object{"firstName": "x"}, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("PATCH", path, ada.AccessToken, object{"firstName": "x"}, header("If-Match", "1")).
		refused(app.CodeValidationFailed, "If-Match")
	w.do("PATCH", path, w.key("own", app.Scopes[:]...), object{"firstName": "x"}).refused(app.CodeInsufficientScope)
	w.do("PATCH", path, w.tokens["STAFF"], object{"firstName": "x"}).refused(app.CodeInsufficientRole)
	for name, c := range map[string]struct {
		patch any
		path  string
	}{
		"a blank name":  {object{"firstName": " \u00a0"}, "firstName"},
		"an empty name": {object{"firstName": ""}, "firstName"}, "name null": {object{"firstName": null}, "firstName"},
		"a long name":       {object{"firstName": strings.Repeat("字", 101)}, "firstName"},
		"10 kB":             {object{"lastName": strings.Repeat("x", 10_000)}, "lastName"},
		"NUL":               {object{"lastName": "a\x00b"}, "lastName"},
		"a blank last name": {object{"lastName": " "}, "lastName"},
		"no phone":          {object{"phone": "12345"}, "phone"},
		"an empty phone":    {object{"phone": ""}, "phone"},
		"the address":       {object{"email": "eve@example.com"}, "email"},
		"points":            {object{"loyaltyPoints": 9}, "loyaltyPoints"},
		"a kind":            {object{"kind": "guest"}, "kind"}, "a list": {[]any{}, ""},
	} {
		w.run(name, func(t *testing.T) {
			w.do("PATCH", path, ada.AccessToken, c.patch).refused(app.CodeValidationFailed, c.path)
		})
	}
	// Two guests without an e-mail address never share a phone number.
	guest := func(phone string) string {
		order := w.orderBody("own")
		order["customer"] = object{"name": "Guest", "phone": phone}
		var placed orderOut
		w.do("POST", "/orders", w.tokens["OWNER"], order).ok(201, &placed)
		return "/customers/" + string(*placed.Customer.ID)
	}
	guest("+4915111111111")
	w.do("PATCH", guest("+4915122222222"), w.tokens["OWNER"], object{"phone": "+4915111111111"}).
		refused(app.CodeConflict)
	w.do("PATCH", path, ada.AccessToken, object{"phone": "+4915111111111"}).ok(200, nil)
}

// Customers see only themselves. The response about another customer is that about an unknown one.
func TestCustomersSeeOnlyThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	sibling := w.addCustomer("sibling", "ada@example.com")
	address := w.addAddress(w.stores["own"].id, bob.Customer.ID)
	var mine []app.Customer
	w.do("GET", "/customers", ada.AccessToken, nil).ok(200, &mine)
	if diff := cmp.Diff([]app.Customer{ada.Customer.Own()}, mine); diff != "" {
		t.Error("list for a customer (-want +got):", diff)
	}
	w.do("GET", "/customers?q=bob", ada.AccessToken, nil).ok(200, &mine)
	if len(mine) != 0 {
		t.Errorf("search of a customer for another: got %+v, want none", mine)
	}
	unknown := w.do("GET", "/customers/cus_none", ada.AccessToken, nil).refused(app.CodeNotFound).same()
	own := "/customers/" + string(ada.Customer.ID)
	for _, id := range []app.CustomerID{bob.Customer.ID, sibling.Customer.ID, *w.stores["foreign"].order.Customer.ID,
		"cus_none"} {
		path := "/customers/" + string(id)
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{"GET", path, nil}, {"PATCH", path, object{"firstName": "Eve"}}, {"GET", path + "/loyalty", nil},
			{"GET", path + "/addresses", nil},
			{"POST", path + "/addresses", addressBody()},
			{"PATCH", path + "/addresses/" + string(address.ID), object{"city": "x"}},
			{"DELETE", path + "/addresses/" + string(address.ID), nil},
			{"PATCH", own + "/addresses/" + string(address.ID), object{"city": "x"}},
			{"DELETE", own + "/addresses/" + string(address.ID), nil},
			{"DELETE", own + "/addresses/adr_none", nil}, {"DELETE", own + "/addresses/%00", nil},
		} {
			if a := w.do(request.method, request.path, ada.AccessToken,
				request.body).refused(app.CodeNotFound); a.same() != unknown {
				t.Errorf("%s: got %s, want %s", a.what, a.Body, unknown)
			}
		}
	}
	var kept []app.Address
	w.do("GET", "/customers/"+string(bob.Customer.ID)+"/addresses", w.tokens["MANAGER"], nil).ok(200, &kept)
	if diff := cmp.Diff([]app.Address{address}, kept); diff != "" {
		t.Error("addresses for a user (-want +got):", diff)
	}
	var key []app.Address
	w.do("GET", "/customers/"+string(bob.Customer.ID)+"/addresses", w.key("own", app.ScopeReadCustomers), nil).
		ok(200, &key)
	if diff := cmp.Diff(kept, key); diff != "" {
		t.Error("addresses for an API key (-want +got):", diff)
	}
}

func TestListCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	w.exec("UPDATE customers SET first_name = 'Grace Brewster Hopper' WHERE store_id = $1", own)
	for i, c := range []identity.NewCustomer{
		{Email: "Ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678"},
		{Email: "ada.m@example.com", FirstName: "Ädchen", LastName: "van Müller"},
		{Email: "o%_@example.com", FirstName: "100%", LastName: "_"},
		{Email: "ли@example.com", FirstName: "李", LastName: "ИВАНОВ"},
	} {
		at := noon.Add(time.Duration(i+1) * time.Second)
		_, err := w.db.RegisterCustomer(t.Context(), at, own, app.Actor{}, c, time.Hour)
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
		w.run("?"+query, func(t *testing.T) {
			if diff := cmp.Diff(want, emails(query), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got): %s", query, diff)
			}
		})
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
		w.do("GET", "/customers?limit=1&kind=guest"+next, w.tokens["MANAGER"], nil).
			refused(app.CodeValidationFailed, "cursor")
	}
	if diff := cmp.Diff(all[:4], paged); diff != "" {
		t.Error("pages (-want +got):", diff)
	}
	for query, path := range map[string]string{
		"kind=vip": "kind", "q=": "q", "q=" + strings.Repeat("x", 201): "q", "q=%00": "q", "q=%ff": "q",
		"updatedSince=yesterday": "updatedSince", "limit=0": "limit",
		"email=x": "email", "cursor=x": "cursor",
	} {
		w.do("GET", "/customers?"+query, w.tokens["MANAGER"], nil).refused(app.CodeValidationFailed, path)
	}
}

// Loyalty points are earned when an order is completed, and are reversed by refunds.
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
			w.do("PATCH", "/orders/"+string(order.ID)+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).
				ok(200, nil)
		}, 9},
		{func() {
			w.do("PATCH", "/orders/"+string(order.ID)+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).
				ok(200, nil)
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
			t.Errorf("after step %d: got %+v, want %d points, one order and version 1", i, c, step.want)
		}
	}
	var entries []app.LoyaltyEntry
	w.do("GET", path+"/loyalty", w.key("own", app.ScopeReadCustomers), nil).ok(200, &entries)
	kinds := ""
	for _, e := range entries {
		kinds += fmt.Sprint(e.Kind, " ", e.Points, " of ", e.OrderNumber, ";")
	}
	if want := "REVERSED -5 of 2;REVERSED -4 of 2;EARNED 9 of 2;"; kinds != want {
		t.Errorf("loyalty entries: got %s, want %s", kinds, want)
	}
	var page []app.LoyaltyEntry
	a := w.do("GET", path+"/loyalty?limit=2", ada.AccessToken, nil).ok(200, &page)
	w.do("GET", path+"/loyalty?limit=2&cursor="+a.body.Meta["nextCursor"].(string), ada.AccessToken, nil).ok(200, &page)
	if len(page) != 1 || page[0].Kind != app.PointsEarned {
		t.Errorf("last page: got %+v, want one entry EARNED", page)
	}
}
