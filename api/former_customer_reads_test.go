package api

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// A customer sees an order that another one had before, without the payments and notes from that time. A customer who
// gets the order back sees those of both own times.
func TestFormerCustomerIsPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	placed, path := w.place(object{"customer": nil, "customerId": ada.Customer.ID})
	period := func(who loginCustomerOut, note, card string) {
		t.Helper()
		w.amend(placed, staff, object{
			"customerId": who.Customer.ID, "items": []any{kept(placed.Items[0], object{"note": note})},
		}).ok(200, &placed)
		w.do("POST", path+"/payments", staff,
			altered(paymentBody(), object{"transactionId": card, "cardLast4": card})).ok(201, nil)
		w.do("GET", path, staff, nil).ok(200, &placed)
	}
	sees := func(who loginCustomerOut, want string) {
		t.Helper()
		for name, paths := range map[string][]string{
			"history and payments": {path + "/history", path + "/payments"},
			"export":               {"/customers/" + string(who.Customer.ID) + "/export"},
		} {
			var all strings.Builder
			for _, one := range paths {
				all.WriteString(w.do("GET", one, who.AccessToken, nil).ok(200, nil).Body.String())
			}
			var got []string
			for _, text := range []string{"first-note", `"1111"`, "second-note", `"2222"`, "third-note", `"3333"`} {
				if strings.Contains(all.String(), text) {
					got = append(got, text)
				}
			}
			if seen := strings.Join(got, " "); seen != want {
				t.Errorf("%s of %s: got %s, want %s", name, who.Customer.Email, seen, want)
			}
		}
	}
	period(ada, "first-note", "1111")
	sees(ada, `first-note "1111"`)
	period(bob, "second-note", "2222")
	if a := w.do("GET", "/customers/"+string(ada.Customer.ID)+"/export", ada.AccessToken, nil).ok(200, nil).Body.
		String(); !strings.Contains(a, "first-note") || !strings.Contains(a, `"1111"`) ||
		strings.Contains(a, "second-note") || strings.Contains(a, `"2222"`) {
		t.Errorf("export of the former customer: got %s, want the first note and card only", a)
	}
	if a := w.do("GET", path+"/history", bob.AccessToken, nil).ok(200, nil).Body.
		String(); !strings.Contains(a, "second-note") {
		t.Errorf("history of the new customer: got %s, want the second note", a)
	}
	w.do("GET", path, ada.AccessToken, nil).refused(app.CodeNotFound)
	for _, text := range []string{"first-note", `"1111"`} {
		for _, one := range []string{path + "/history", path + "/payments",
			"/customers/" + string(bob.Customer.ID) + "/export"} {
			if a := w.do("GET", one, bob.AccessToken, nil).ok(200, nil); strings.Contains(a.Body.String(), text) {
				t.Errorf("%s: got %s, want it without %s", one, a.Body, text)
			}
		}
	}
	period(ada, "third-note", "3333")
	a := w.do("GET", path+"/payments", ada.AccessToken, nil).ok(200, nil).Body.String()
	if !strings.Contains(a, `"1111"`) || strings.Contains(a, `"2222"`) || !strings.Contains(a, `"3333"`) {
		t.Errorf("payments of the first customer: got %s, want the first and the third", a)
	}
	a = w.do("GET", path+"/history", ada.AccessToken, nil).ok(200, nil).Body.String()
	if !strings.Contains(a, "first-note") || strings.Contains(a, "second-note") {
		t.Errorf("history of the first customer: got %s, want the first note, not the second", a)
	}
	a = w.do("GET", path+"/history", staff, nil).ok(200, nil).Body.String()
	if !strings.Contains(a, "first-note") || !strings.Contains(a, "second-note") || !strings.Contains(a, "third-note") {
		t.Errorf("history for staff: got %s, want all notes", a)
	}
}
