package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// A customer sees an order that another one had before, without the payments, notes and reasons from that time. A
// customer who gets the order back sees those of both own times.
func TestFormerCustomerIsPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	placed, path := w.place(object{"customer": nil, "customerId": ada.Customer.ID})
	var first app.Payment
	// period gives the order to a customer, records a payment, and refunds a part of the first one.
	period := func(who loginCustomerOut, name, card string) {
		t.Helper()
		w.amend(placed, staff, object{
			"customerId": who.Customer.ID, "items": []any{kept(placed.Items[0], object{"note": name + "-note"})},
		}).ok(200, &placed)
		var payment app.Payment
		w.do("POST", path+"/payments", staff,
			altered(paymentBody(), object{"transactionId": card, "cardLast4": card})).ok(201, &payment)
		if first.ID == "" {
			first = payment
		}
		w.do("POST", "/payments/"+string(first.ID)+"/refunds", w.tokens["OWNER"],
			altered(refundBody(1), object{"reason": name + "-reason"})).ok(201, nil)
		w.do("GET", path, staff, nil).ok(200, &placed)
	}
	// sees compares the texts that some lists show together.
	sees := func(token, want string, paths ...string) {
		t.Helper()
		var all strings.Builder
		for _, one := range paths {
			all.WriteString(w.do("GET", one, token, nil).ok(200, nil).Body.String())
		}
		var got []string
		for _, text := range []string{
			"first-note", `"1111"`, "first-reason", "second-note", `"2222"`, "second-reason", "third-note", `"3333"`,
			"third-reason",
		} {
			if strings.Contains(all.String(), text) {
				got = append(got, text)
			}
		}
		if seen := strings.Join(got, " "); seen != want {
			t.Errorf("%v: got %s, want %s", paths, seen, want)
		}
	}
	history, payments := path+"/history", path+"/payments"
	export := func(who loginCustomerOut) string { return "/customers/" + string(who.Customer.ID) + "/export" }

	period(ada, "first", "1111")
	own := `first-note "1111" first-reason`
	sees(ada.AccessToken, own, history, payments)
	sees(ada.AccessToken, own, export(ada))

	period(bob, "second", "2222")
	others := `second-note "2222"`
	sees(bob.AccessToken, others, history, payments)
	sees(bob.AccessToken, others, export(bob))
	sees(ada.AccessToken, own, export(ada))
	w.do("GET", path, ada.AccessToken, nil).refused(app.CodeNotFound)

	period(ada, "third", "3333")
	both := own + ` third-note "3333" third-reason`
	sees(ada.AccessToken, both, history, payments)
	sees(ada.AccessToken, both, export(ada))
	sees(staff, "first-note second-note third-note", history)
	sees(staff, `"1111" first-reason "2222" second-reason "3333" third-reason`, payments)
}

// An export has the members before each change, if the customer had the order then.
func TestExportOfFormerMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	placed, path := w.place(object{"customer": nil, "customerId": ada.Customer.ID, "note": "first"})
	for _, change := range []object{
		{"note": "second"}, {"customerId": bob.Customer.ID, "note": "third"}, {"note": "fourth"},
	} {
		w.amend(placed, staff, change).ok(200, nil)
		w.do("GET", path, staff, nil).ok(200, &placed)
	}
	notes := func(who loginCustomerOut) (notes []string) {
		t.Helper()
		var export app.CustomerExport
		w.do("GET", "/customers/"+string(who.Customer.ID)+"/export", who.AccessToken, nil).ok(200, &export)
		for _, change := range export.StatusChanges {
			switch {
			case change.Type != app.Amendment:
			case change.Before == nil:
				notes = append(notes, "none")
			default:
				notes = append(notes, change.Before.Note)
			}
		}
		return notes
	}
	if diff := cmp.Diff([]string{"first", "second"}, notes(ada)); diff != "" {
		t.Errorf("notes of the former customer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"none", "third"}, notes(bob)); diff != "" {
		t.Errorf("notes of the present customer (-want +got):\n%s", diff)
	}
	placed, _ = w.place(object{"customer": object{"name": "A walk-in"}, "note": "of the walk-in"})
	w.amend(placed, staff, object{"customerId": ada.Customer.ID}).ok(200, nil)
	if diff := cmp.Diff([]string{"first", "second", "none"}, notes(ada)); diff != "" {
		t.Errorf("notes of the former customer, with the order of a walk-in (-want +got):\n%s", diff)
	}
}
