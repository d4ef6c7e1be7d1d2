package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestExportCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.addShopper()
	w.orderOf("own", w.addCustomer("own", "other@example.com").Customer.ID)
	w.settle(s)
	w.exec(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
		VALUES ($1, 'google', '42', $2, $3)`, w.stores["own"].id, s.Customer.ID, noon)
	reset := w.db.MailCustomerReset(t.Context(), noon, w.stores["own"].id, s.Customer.ID, app.NewSecret("reset"))
	if reset != nil {
		t.Fatal(reset)
	}
	w.exec("UPDATE customer_sessions SET rotated_at = $2 WHERE customer_id = $1", s.Customer.ID, noon.Add(time.Hour))
	var export app.CustomerExport
	a := w.do("GET", s.path+"/export", s.AccessToken, nil).ok(200, &export)
	var customer app.Customer
	w.do("GET", s.path, s.AccessToken, nil).ok(200, &customer)
	if diff := cmp.Diff(customer, export.Customer); diff != "" {
		t.Error("customer (-shown +exported):", diff)
	}
	var order app.Order
	w.do("GET", "/orders/"+string(s.order.ID), s.AccessToken, nil).ok(200, &order)
	if diff := cmp.Diff([]app.Order{order}, export.Orders); diff != "" {
		t.Error("orders (-shown +exported):", diff)
	}
	received := app.OrderReceived
	changes := []app.ExportedStatusChange{
		{
			OrderNumber: order.Number, Type: app.ChangeOfStatus, Realm: app.RealmTenant, To: app.OrderReceived,
			At: app.At(noon),
		},
		{
			OrderNumber: order.Number, Type: app.ChangeOfStatus, Realm: app.RealmTenant, From: &received,
			To: app.OrderCompleted, At: app.At(noon),
		},
	}
	if diff := cmp.Diff(changes, export.StatusChanges); diff != "" {
		t.Error("status changes (-want +exported):", diff)
	}
	counts := map[string]int{
		"addresses": len(export.Addresses), "payments": len(export.Payments),
		"refunds": len(export.Payments[0].Refunds), "reservations": len(export.Reservations),
		"loyalty": len(export.LoyaltyEntries), "identities": len(export.Identities), "sessions": len(export.Sessions),
	}
	if diff := cmp.Diff(map[string]int{
		"addresses": 1, "payments": 1, "refunds": 1, "reservations": 1, "loyalty": 1, "identities": 1, "sessions": 1,
	}, counts); diff != "" {
		t.Error("parts (-want +got):", diff)
	}
	used := app.At(noon.Add(time.Hour))
	if got := export.Sessions[0]; got.CreatedAt != app.At(noon) || got.LastUsedAt != used {
		t.Errorf("session: got %+v, want one of %s, last used at %s", got, app.At(noon), used)
	}
	if !slices.ContainsFunc(export.Activities, func(a app.ExportedActivity) bool {
		return a.Action == app.AuditLoginSucceeded
	}) {
		t.Errorf("activities: got %+v, want at least the registration", export.Activities)
	}
	if want := (app.ExportedAccount{HasPassword: true}); export.Account != want {
		t.Errorf("account: got %+v, want %+v", export.Account, want)
	}
	resets := []app.ExportedReset{{CreatedAt: app.At(noon), ExpiresAt: app.At(noon.Add(app.PasswordResetTTL))}}
	if diff := cmp.Diff(resets, export.PasswordResets); diff != "" {
		t.Error("password resets (-want +exported):", diff)
	}
	for _, secret := range []string{"metadata", "externalId", "passwordHash", "other@example.com",
		string(w.users["OWNER"].ID),
	} {
		if strings.Contains(a.Body.String(), secret) {
			t.Errorf("the export contains %q", secret)
		}
	}
	w.exportsDisabling(s)
	guest := w.addGuest(w.stores["own"].id)
	a = w.do("GET", "/customers/"+string(guest)+"/export", w.tokens["ADMIN"], nil).ok(200, nil)
	if !strings.Contains(a.Body.String(), `"orders":[]`) {
		t.Errorf("export without orders: got %s, want empty lists", a.Body)
	}
	w.do("GET", "/customers/"+string(guest)+"/export", s.AccessToken, nil).refused(app.CodeNotFound)
	w.do("GET", "/customers/cus_none/export", w.tokens["ADMIN"], nil).refused(app.CodeNotFound)
}

// exportsDisabling checks that the store's export names the disabling of an account, without the address of the user.
func (w *world) exportsDisabling(s *shopper) {
	w.Helper()
	staff := w.tokens["ADMIN"]
	at := app.At(noon)
	var full, own app.CustomerExport
	w.do("PATCH", s.path, staff, object{"disabled": true}).ok(200, nil)
	w.do("GET", s.path+"/export", staff, nil).ok(200, &full)
	if full.Account.DisabledAt == nil || *full.Account.DisabledAt != at {
		w.Errorf("account: got disabled at %v, want %s", full.Account.DisabledAt, at)
	}
	others := slices.DeleteFunc(full.Activities,
		func(a app.ExportedActivity) bool { return a.Realm == app.RealmCustomer })
	want := []app.ExportedActivity{{Action: app.AuditCustomerDisabled, Realm: app.RealmTenant, At: at}}
	if diff := cmp.Diff(want, others); diff != "" {
		w.Error("activities of users (-want +exported):", diff)
	}
	w.do("PATCH", s.path, staff, object{"disabled": false}).ok(200, nil)
	w.exec("UPDATE customer_sessions SET ended_at = NULL, end_reason = NULL WHERE customer_id = $1", s.Customer.ID)
	w.do("GET", s.path+"/export", s.AccessToken, nil).ok(200, &own)
	if own.Account.DisabledAt != nil || slices.ContainsFunc(own.Activities, func(a app.ExportedActivity) bool {
		return a.Realm != app.RealmCustomer
	}) {
		w.Errorf("own export: got %+v and %+v, want nothing about the disabling", own.Account, own.Activities)
	}
}
