package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// referenced is the part of a resource that references are about.
type referenced struct {
	ID         string
	ExternalID string
	Metadata   map[string]string
	Version    int64
}

// referencing describes a resource with references: its creation, and the operations that accept references.
type referencing struct {
	list    string
	create  object        // nil if references are set by PATCH only
	patches bool          // it has a PATCH
	event   app.EventType // of a creation, or of a change if create is nil
	scope   app.Scope
}

func (w *world) referencing() map[string]referencing {
	return map[string]referencing{
		"orders": {"/orders", w.orderBody("own"), false, app.EventOrderCreated, app.ScopeWriteOrders},
		"products": {
			"/products", productBody(), true, app.EventProductCreated, app.ScopeWriteProducts,
		},
		"reservations": {
			"/reservations", reservationBody(), true, app.EventReservationCreated, app.ScopeWriteReservations,
		},
		"customers": {"/customers", nil, true, app.EventCustomerUpdated, ""},
	}
}

// References are set, changed by merge patch, filtered, in events, and unique in a store.
func TestReferences(t *testing.T) {
	t.Parallel()
	for name, c := range (&world{T: t, stores: map[string]*shop{"own": {}}}).referencing() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c = w.referencing()[name]
			token := w.tokens["MANAGER"]
			first := w.addReferenced(c, object{"externalId": "POS 1/ä", "metadata": object{"a": "1", "b c.[0]": ""}})
			want := referenced{
				ID: first.ID, ExternalID: "POS 1/ä", Metadata: map[string]string{"a": "1", "b c.[0]": ""},
				Version: first.Version,
			}
			if diff := cmp.Diff(want, first); diff != "" {
				t.Errorf("created (-want +got): %s", diff)
			}
			var page []referenced
			w.do("GET", c.list+"?externalId=POS%201%2F%C3%A4", token, nil).ok(200, &page)
			if diff := cmp.Diff([]referenced{want}, page); diff != "" {
				t.Errorf("filter (-want +got): %s", diff)
			}
			w.do("GET", c.list+"?externalId=pos%201%2F%C3%A4", token, nil).ok(200, &page)
			if len(page) != 0 {
				t.Errorf("filter by another id: got %v, want none", page)
			}
			var event referenced
			for _, data := range w.eventData("own", c.event) {
				if event.ID != first.ID {
					event = referenced{}
					w.read(data, &event)
				}
			}
			if diff := cmp.Diff(want, event); diff != "" {
				t.Errorf("%s (-want +got): %s", c.event, diff)
			}
			second := w.addReferenced(c, object{})
			if second.ExternalID != "" || second.Metadata == nil || len(second.Metadata) != 0 {
				t.Errorf("without references: got %+v, want empty metadata", second)
			}
			w.refuseTaken(c, first, second)
			w.patchReferences(c, first)
		})
	}
}

// addReferenced makes a resource with references.
func (w *world) addReferenced(c referencing, references object) (made referenced) {
	w.Helper()
	if c.create != nil {
		w.do("POST", c.list, w.tokens["MANAGER"], altered(c.create, references)).ok(201, &made)
		return made
	}
	customer := w.addCustomer("own", string(app.NewID[app.CustomerID](noon))+"@example.com")
	w.do("PATCH", "/customers/"+string(customer.Customer.ID), w.tokens["MANAGER"], references).ok(200, &made)
	return made
}

// refuseTaken checks that a second resource cannot have the externalId of the first.
func (w *world) refuseTaken(c referencing, first, second referenced) {
	w.Helper()
	check := func(a *response) {
		w.Helper()
		if a.refused(app.CodeConflict, "externalId"); !strings.Contains(a.body.Error.Message, first.ID) {
			w.Errorf("%s: got the message %q, want the id %s", a.what, a.body.Error.Message, first.ID)
		}
	}
	taken := object{"externalId": first.ExternalID}
	if c.create != nil {
		check(w.do("POST", c.list, w.tokens["MANAGER"], altered(c.create, taken)))
	}
	if c.patches {
		check(w.do("PATCH", c.list+"/"+second.ID, w.tokens["MANAGER"], taken))
		w.do("PATCH", c.list+"/"+first.ID, w.tokens["MANAGER"], taken).ok(200, nil) // its own
	}
	w.do("GET", c.list+"?externalId=x", w.token("OWNER", w.stores["sibling"].id), nil).ok(200, nil)
}

// patchReferences checks merge patches of references.
func (w *world) patchReferences(c referencing, made referenced) {
	w.Helper()
	if !c.patches {
		return
	}
	path, null := c.list+"/"+made.ID, json.RawMessage("null")
	many := object{"a": null}
	for i := range 49 {
		many[fmt.Sprint("k", i)] = strings.Repeat("ß", 500)
	}
	for _, s := range []struct {
		patch   object
		changed bool
		want    func(*referenced)
	}{
		{object{"metadata": object{"a": "1", "zz": null}}, false, func(*referenced) {}},
		{object{"metadata": object{"a": "2", "n": "3"}}, true, func(r *referenced) {
			r.Metadata["a"], r.Metadata["n"] = "2", "3"
		}},
		{object{"metadata": object{"n": null}}, true, func(r *referenced) { delete(r.Metadata, "n") }},
		{object{"externalId": null}, true, func(r *referenced) { r.ExternalID = "" }},
		{object{"externalId": "POS-2"}, true, func(r *referenced) { r.ExternalID = "POS-2" }},
		{object{"metadata": many}, true, func(r *referenced) {
			delete(r.Metadata, "a")
			for i := range 49 {
				r.Metadata[fmt.Sprint("k", i)] = strings.Repeat("ß", 500)
			}
		}},
	} {
		s.want(&made)
		if s.changed {
			made.Version++
		}
		got := referenced{}
		w.do("PATCH", path, w.tokens["MANAGER"], s.patch).ok(200, &got)
		if diff := cmp.Diff(made, got); diff != "" {
			w.Errorf("%v (-want +got): %s", s.patch, diff)
		}
	}
	w.do("PATCH", path, w.tokens["MANAGER"], object{"metadata": object{"one more": ""}}).
		refused(app.CodeValidationFailed, "metadata")
}

func TestBadReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many, long := object{}, strings.Repeat("k", 41)
	for i := range 51 {
		many[fmt.Sprint("k", i)] = ""
	}
	for name, c := range map[string]struct {
		change object
		path   string
	}{
		"a long id":             {object{"externalId": strings.Repeat("x", 256)}, "externalId"},
		"a blank id":            {object{"externalId": " "}, "externalId"},
		"an id of another type": {object{"externalId": 7}, "externalId"},
		"many members":          {object{"metadata": many}, "metadata"},
		"a long key":            {object{"metadata": object{long: ""}}, "metadata." + long},
		"a blank key":           {object{"metadata": object{" ": ""}}, "metadata. "},
		"a long value":          {object{"metadata": object{"k": strings.Repeat("😀", 501)}}, "metadata.k"},
		"a number":              {object{"metadata": object{"k": 1}}, "metadata.k"},
		"an object":             {object{"metadata": object{"k": object{}}}, "metadata.k"},
		"a list":                {object{"metadata": []any{"k"}}, "metadata"},
	} {
		for resource, r := range w.referencing() {
			method, path, body := "POST", r.list, r.create
			if r.create == nil {
				method, path, body = "PATCH", r.list+"/"+string(*w.stores["own"].order.Customer.ID), object{}
			}
			a := w.do(method, path, w.tokens["MANAGER"], altered(body, c.change))
			a.what = name + " of " + resource
			a.refused(app.CodeValidationFailed, c.path)
		}
	}
}

// A customer can neither read nor set references.
func TestReferencesAreNotForCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(customer.Customer.ID)
	references := object{"externalId": "hidden-1", "metadata": object{"hidden": "yes"}}
	w.do("PATCH", path, w.tokens["MANAGER"], references).ok(200, nil)
	_, order := w.place(object{"customer": nil, "customerId": customer.Customer.ID,
		"externalId": references["externalId"], "metadata": references["metadata"]})
	for _, request := range []string{"/customers", path, "/orders", order} {
		a := w.do("GET", request, customer.AccessToken, nil).ok(200, nil)
		if strings.Contains(a.Body.String(), "hidden") || strings.Contains(a.Body.String(), "metadata") {
			t.Errorf("%s: got %s, want no references", a.what, a.Body)
		}
		a = w.do("GET", request, w.tokens["OWNER"], nil).ok(200, nil)
		if !strings.Contains(a.Body.String(), `"externalId":"hidden-1","metadata":{"hidden":"yes"}`) {
			t.Errorf("%s of a user: got %s, want the references", a.what, a.Body)
		}
	}
	for name, value := range references {
		w.do("PATCH", path, customer.AccessToken, object{name: value}).refused(app.CodeValidationFailed, name)
	}
	w.do("GET", "/orders?externalId=hidden-1", customer.AccessToken, nil).
		refused(app.CodeValidationFailed, "externalId")
	w.do("GET", "/customers?externalId=hidden-1", customer.AccessToken, nil).
		refused(app.CodeValidationFailed, "externalId")
	a := w.do("PATCH", path, customer.AccessToken, object{"firstName": "Augusta"}).ok(200, nil)
	if strings.Contains(a.Body.String(), "hidden") {
		t.Errorf("%s: got %s, want no references", a.what, a.Body)
	}
	var event referenced
	emitted := w.eventData("own", app.EventCustomerUpdated)
	if w.read(emitted[len(emitted)-1], &event); event.ExternalID != "hidden-1" || event.Metadata["hidden"] != "yes" {
		t.Errorf("customer.updated: got %+v, want the references", event)
	}
}

// Of twenty concurrent orders with one externalId, one is placed, and the errors of the others name it.
func TestRacingReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := altered(w.orderBody("own"), object{"externalId": "POS-1"})
	ids, others := make(chan string, 20), make(chan string, 20)
	var wait sync.WaitGroup
	for range cap(ids) {
		wait.Go(func() {
			a := w.do("POST", "/orders", w.tokens["OWNER"], body)
			if a.Code == 201 {
				var placed orderOut
				a.ok(201, &placed)
				ids <- string(placed.ID)
				return
			}
			others <- a.refused(app.CodeConflict, "externalId").body.Error.Message
		})
	}
	wait.Wait()
	close(ids)
	close(others)
	if len(ids) != 1 {
		t.Fatalf("got %d orders, want 1", len(ids))
	}
	id := <-ids
	for message := range others {
		if !strings.Contains(message, id) {
			t.Errorf("got %q, want the id %s", message, id)
		}
	}
	// The externalId of a deleted product can be used again.
	var p app.Product
	named := altered(productBody(), object{"externalId": "P-1"})
	w.do("POST", "/products", w.tokens["OWNER"], named).ok(201, &p)
	w.do("DELETE", "/products/"+string(p.ID), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("POST", "/products", w.tokens["OWNER"], named).ok(201, nil)
}
