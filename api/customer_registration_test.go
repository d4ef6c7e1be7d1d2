package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestRegisterCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var data loginCustomerOut
	a := w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &data)
	want := app.Customer{ID: data.Customer.ID, Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace",
		Phone:   "+4915112345678",
		StoreID: w.stores["own"].id, Kind: app.CustomerRegistered, Version: 1, CreatedAt: app.At(noon),
		UpdatedAt: app.At(noon)}
	if diff := cmp.Diff(want, data.Customer); diff != "" ||
		!strings.Contains(string(a.body.Data), `"loyaltyPoints":0,"totalOrders":0`) {
		t.Errorf("customer in %s, want it without points and orders (-want +got):\n%s", a.body.Data, diff)
	}
	refresh := w.checkCustomerLogin(a, own, data)

	events := w.events(own, app.EventCustomerCreated)
	at := slices.IndexFunc(events,
		func(body string) bool { return strings.Contains(body, `"email":"ada@example.com"`) })
	if len(events) != before+1 || at < 0 {
		t.Fatalf("events customer.created: got %q, want one more than %d, with the email", events, before)
	}
	var event struct {
		StoreID app.StoreID  `json:"storeId"`
		Data    app.Customer `json:"data"`
	}
	w.must(json.Unmarshal([]byte(events[at]), &event))
	want.Metadata = map[string]string{}
	if diff := cmp.Diff(want, event.Data); diff != "" || event.StoreID != own {
		t.Errorf("event of store %s, want %s (-want +got): %s", event.StoreID, own, diff)
	}
	for _, secret := range []string{password, data.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) || strings.Contains(events[at], secret) {
			t.Errorf("the log or the event contains a secret that begins with %.12s", secret)
		}
	}

	// The address is taken in any case, but only in that store and not by a guest of that address.
	w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": "ADA@Example.com"})).
		refused(app.CodeEmailTaken)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["sibling"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["foreign"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration("sto_none")).refused(app.CodeNotFound, "storeId")
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Grace", "email": "grace@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, nil)
	var grace loginCustomerOut
	w.do("POST", "/customer-auth/register", "",
		altered(registration(own), object{"email": "grace@example.com", "phone": nil})).ok(201, &grace)
	if grace.Customer.TotalOrders != 0 || grace.Customer.Phone != "" {
		t.Errorf("customer with the email of a guest: got %+v, want no orders and no phone", grace.Customer)
	}
}

func TestConcurrentRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var mu sync.Mutex
	responses := map[app.Code]int{}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			email := []string{"ada@example.com", "ADA@example.com"}[i%2]
			a := w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email}))
			mu.Lock()
			defer mu.Unlock()
			responses[a.body.Error.Code]++
		})
	}
	wait.Wait()
	if diff := cmp.Diff(map[app.Code]int{"": 1, app.CodeEmailTaken: 49}, responses); diff != "" {
		t.Errorf("error codes (-want +got):\n%s", diff)
	}
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 {
		t.Errorf("events customer.created: got %d, want 1", n)
	}
}

func TestBadRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nothing": {
			object{"storeId": nil, "email": nil, "password": nil, "firstName": nil, "lastName": nil, "phone": nil},
			"storeId|email|password|firstName|lastName",
		},
		"a store of no form":     {object{"storeId": "a b"}, "storeId"},
		"a store that is a list": {object{"storeId": []any{own}}, "storeId"},
		"an address without @":   {object{"email": "ada"}, "email"},
		"two addresses":          {object{"email": "a@example.com,b@example.com"}, "email"},
		"a line break":           {object{"email": "a@example.com\nBcc: b@example.com"}, "email"},
		"a long address": {
			object{"email": strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 100) + "com"}, "email",
		},
		"an empty password":  {object{"password": ""}, "password"},
		"seven characters":   {object{"password": "sévèn ç"}, "password"},
		"the store":          {object{"password": "Ada-one.test7"}, "password"},
		"1025 bytes":         {object{"password": strings.Repeat("x", 1025)}, "password"},
		"1026 bytes in 513":  {object{"password": strings.Repeat("é", 513)}, "password"},
		"a common password":  {object{"password": "password123"}, "password"},
		"in another case":    {object{"password": "PassWord123"}, "password"},
		"a password number":  {object{"password": 12345678}, "password"},
		"a blank name":       {object{"firstName": " \t"}, "firstName"},
		"a long name":        {object{"lastName": strings.Repeat("é", 101)}, "lastName"},
		"a number without +": {object{"phone": "4915112345678"}, "phone"},
		"a phone null":       {object{"phone": json.RawMessage("null")}, "phone"},
		"points":             {object{"loyaltyPoints": 100}, "loyaltyPoints"},
		"a role":             {object{"role": "OWNER"}, "role"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", "/customer-auth/register", "", altered(registration(own), c.change)).
				refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
		})
	}
	for i, good := range []string{"ächtzeic", strings.Repeat("éàü ", 146) + "ö", "  correct horse  ", "7391-6402",
		"\u2028\u2029\u00a0\u2003\u2028\u00a0\u2029\u2003"} {
		email := fmt.Sprintf("%d@example.com", i)
		w.do("POST", "/customer-auth/register", "",
			altered(registration(own), object{"password": good, "email": email})).ok(201, nil)
		login := func(password string) *response {
			return w.do("POST", "/customer-auth/login", "",
				object{"storeId": own, "email": email, "password": password})
		}
		login(good).ok(200, nil)
		if trimmed := strings.TrimSpace(good); trimmed != good && trimmed != "" {
			login(trimmed).refused(app.CodeInvalidCredentials)
		}
	}
	for body, paths := range map[string]string{
		`{}`: "storeId|email|password",
		`{"storeId":"sto_1","email":1,"password":{}}`:                     "email|password",
		`{"storeId":"no id!","email":"a","password":"b","remember":true}`: "remember|storeId",
	} {
		w.run(body, func(t *testing.T) {
			w.do("POST", "/customer-auth/login", "", body).
				refused(app.CodeValidationFailed, strings.Split(paths, "|")...)
		})
	}
	ada := w.addCustomer("own", "ada@example.com")
	w.do("POST", "/customer-auth/logout", ada.AccessToken, `{"everywhere":true}`).
		refused(app.CodeValidationFailed, "everywhere")
	for _, path := range []string{"/customer-auth/register", "/customer-auth/login", "/customer-auth/logout"} {
		w.do("POST", path, ada.AccessToken, `{}`, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	}
}
