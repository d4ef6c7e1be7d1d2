package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func addressBody() object {
	return object{"label": "Home", "line1": "Torstraße 1", "city": "Berlin", "postalCode": "10119", "country": "DE"}
}

func (w *world) addAddress(store app.StoreID, customer app.CustomerID) app.Address {
	w.Helper()
	address, err := w.db.AddAddress(w.Context(), w.now, app.Principal{StoreID: store}, customer, app.Address{
		DeliveryAddress: app.DeliveryAddress{Line1: "Torstraße 1", City: "Berlin", Country: "DE"},
	}, nil)
	w.must(err)
	return address
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
			t.Fatalf("got %d default addresses, want 1: %+v", defaults, all)
		}
		return all
	}
	events := 0
	// emitted requires one further customer.updated event with these addresses, or none.
	emitted := func(more int) {
		t.Helper()
		all := w.eventData("own", app.EventCustomerUpdated)
		if events += more; len(all) != events {
			t.Fatalf("got %d events, want %d", len(all), events)
		}
		var c app.Customer
		w.do("GET", path, ada.AccessToken, nil).ok(200, &c)
		var event app.CustomerUpdated
		w.read(all[len(all)-1], &event)
		event.Customer = event.Own() // without metadata, as the customer sees it
		if diff := cmp.Diff(app.CustomerUpdated{Customer: c, UpdatedFields: []string{"addresses"}}, event); diff != "" {
			t.Error("customer.updated (-want +got):", diff)
		}
	}
	var first, second, third app.Address
	add := func(into *app.Address, change object) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), change)).ok(201, into)
		emitted(1)
	}
	add(&first, object{"line2": "Hinterhof", "region": "BE", "notes": "2× klingeln 🔔", "isDefault": false})
	want := app.Address{
		ID: first.ID, Label: "Home", IsDefault: true, Version: 1, CreatedAt: app.At(w.now), UpdatedAt: app.At(w.now),
		DeliveryAddress: app.DeliveryAddress{
			Line1: "Torstraße 1", Line2: "Hinterhof", City: "Berlin", Region: "BE", PostalCode: "10119", Country: "DE",
			Notes: "2× klingeln 🔔",
		},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error("first address (-want +got):", diff)
	}
	add(&second, object{"label": "職場"})
	if second.IsDefault {
		t.Error("the second address is the default, want the first")
	}
	add(&third, object{"isDefault": true})
	if all := addresses(); len(all) != 3 || all[0].ID != third.ID || !all[0].IsDefault || all[2].Version != 2 {
		t.Errorf("got %+v, want the third address first, as the default", all)
	}

	one := func(a app.Address) string { return path + "/addresses/" + string(a.ID) }
	null := json.RawMessage("null")
	w.now = w.now.Add(time.Second)
	id := second.ID
	second = app.Address{}
	w.do("PATCH", path+"/addresses/"+string(id), ada.AccessToken,
		object{"label": null, "postalCode": null, "line2": null, "isDefault": false, "city": "Rome",
			"country": "IT"}, ifMatch(1)).ok(200, &second)
	emitted(1)
	want = app.Address{
		ID: second.ID, Version: 2, CreatedAt: second.CreatedAt, UpdatedAt: app.At(w.now),
		DeliveryAddress: app.DeliveryAddress{Line1: "Torstraße 1", City: "Rome", Country: "IT"},
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error("changed address (-want +got):", diff)
	}
	w.do("PATCH", one(second), ada.AccessToken, object{"city": "Rome"}).ok(200, &second)
	emitted(0)
	w.do("PATCH", one(second), ada.AccessToken, object{"city": "Pisa"}, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("DELETE", one(second), ada.AccessToken, nil, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("PATCH", one(third), ada.AccessToken, object{"isDefault": false}).
		refused(app.CodeValidationFailed, "isDefault")
	emitted(0)
	w.now = w.now.Add(time.Second)
	w.do("PATCH", one(second), ada.AccessToken, object{"isDefault": true}).ok(200, &second)
	emitted(1)
	if all := addresses(); !all[1].IsDefault || all[1].Version != 3 {
		t.Errorf("got %+v, want version 3 of the second as the default", all)
	}
	w.now = w.now.Add(time.Second)
	w.do("DELETE", one(second), ada.AccessToken, nil, ifMatch(3)).ok(204, nil)
	emitted(1)
	if all := addresses(); len(all) != 2 || !all[1].IsDefault || all[1].ID != first.ID {
		t.Errorf("after deleting the default: got %+v, want the first as the default", all)
	}
	w.do("DELETE", one(second), ada.AccessToken, nil).refused(app.CodeNotFound)
	for _, a := range []app.Address{third, first} {
		w.now = w.now.Add(time.Second)
		w.do("DELETE", one(a), ada.AccessToken, nil).ok(204, nil)
		emitted(1)
	}
	if all := addresses(); len(all) != 0 {
		t.Errorf("got %+v, want no addresses", all)
	}
	for name, c := range map[string]struct {
		change object
		path   string
	}{
		"a blank street":          {object{"line1": " "}, "line1"},
		"a long street":           {object{"line1": strings.Repeat("字", 201)}, "line1"},
		"NUL":                     {object{"line1": "a\x00"}, "line1"},
		"a blank city":            {object{"city": "\t"}, "city"},
		"a country in lower case": {object{"country": "de"}, "country"},
		"no country":              {object{"country": "XX"}, "country"},
		"10 kB of notes":          {object{"notes": strings.Repeat("x", 10_000)}, "notes"},
		"a long label":            {object{"label": strings.Repeat("x", 51)}, "label"},
		"default of text":         {object{"isDefault": "yes"}, "isDefault"}, "an id": {object{"id": "adr_1"}, "id"},
		"a city null": {object{"city": null}, "city"},
	} {
		w.run(name, func(t *testing.T) {
			a := w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), c.change))
			a.what = "add with " + name
			a.refused(app.CodeValidationFailed, c.path)
			a = w.do("PATCH", path+"/addresses/adr_none", ada.AccessToken, c.change)
			a.what = "change with " + name
			a.refused(app.CodeValidationFailed, c.path)
		})
	}
	for _, missing := range []string{"line1", "city", "country"} {
		w.do("POST", path+"/addresses", ada.AccessToken, altered(addressBody(), object{missing: nil})).
			refused(app.CodeValidationFailed, missing)
	}
}

func TestConcurrentAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID) + "/addresses"
	const before = 25 // so that the limit of changes allows the requests
	for range before {
		w.addAddress(w.stores["own"].id, ada.Customer.ID)
	}
	responses := make(chan *response, perOwnChange.quotas[0].most)
	for i := range cap(responses) {
		go func() {
			responses <- w.do("POST", path, ada.AccessToken,
				altered(addressBody(), object{"isDefault": i%2 == 0, "label": fmt.Sprint(i)}))
		}()
	}
	added := before
	for range cap(responses) {
		if a := <-responses; a.Code == 201 {
			added++
		} else {
			a.refused(app.CodeLimitReached)
		}
	}
	var all []app.Address
	w.do("GET", path+"?limit=100", ada.AccessToken, nil).ok(200, &all)
	all = slices.DeleteFunc(all, func(a app.Address) bool { return !a.IsDefault })
	if added != app.MaxAddresses || len(all) != 1 {
		t.Errorf("got %d addresses and %d defaults, want %d and 1", added, len(all), app.MaxAddresses)
	}
	w.later(time.Hour)
	// A repeated Idempotency-Key still gets its first response.
	w.do("DELETE", path+"/"+string(all[0].ID), ada.AccessToken, nil).ok(204, nil)
	key := header("Idempotency-Key", "k1")
	first := w.do("POST", path, ada.AccessToken, addressBody(), key).ok(201, nil)
	if again := w.do("POST", path, ada.AccessToken, addressBody(), key).ok(201,
		nil); again.Body.String() != first.Body.String() {
		t.Errorf("repeated request: got %s, want %s", again.Body, first.Body)
	}
}
