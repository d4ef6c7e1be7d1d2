package app_test

import (
	"slices"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// permissionTable repeats the required table of permissions by hand. A row has the first letters of the roles, the
// scope of API keys and the column Customer.
var permissionTable = map[app.Permission]struct {
	roles    string
	scope    app.Scope
	customer bool
}{
	app.ViewOrders:         {"OAMS", "read:orders", true},
	app.WriteOrders:        {"OAMS", "write:orders", false},
	app.CancelOrders:       {"OAM", "write:orders", false},
	app.ViewProducts:       {"OAMS", "read:products", false},
	app.WriteProducts:      {"OAM", "write:products", false},
	app.DeleteProducts:     {"OA", "write:products", false},
	app.ViewCustomers:      {"OAM", "read:customers", true},
	app.ViewAnalytics:      {"OA", "read:analytics", false},
	app.ManageSettings:     {"OA", "", false},
	app.ManageUsers:        {"O", "", false},
	app.ManageAPIKeys:      {"O", "", false},
	app.ManageBilling:      {"O", "", false},
	app.ManageWebhooks:     {"OA", "webhooks:manage", false},
	app.ViewReservations:   {"OAMS", "read:reservations", false},
	app.WriteReservations:  {"OAMS", "write:reservations", false},
	app.DiscountOrders:     {"OAM", "write:orders", false},
	app.WatchOrders:        {"OAMS", "read:orders", false},
	app.ListPayments:       {"OAMS", "read:orders", false},
	app.PauseOrdering:      {"OAMS", "", false},
	app.ViewOwnTenantLogin: {"OAMS", "", false},
	app.EndCustomerLogin:   {"", "", true},
	app.EndOwnTenantLogin:  {"OAMS", "", false},
	app.OwnTenantAccount:   {"OAMS", "", false},
	app.OwnCustomerAccount: {"", "", true},
	app.SwitchStore:        {"OAMS", "", false},
	app.ManageWebsites:     {"", "", false},
	app.ViewOwnWebsite:     {"OA", "", false},
	app.ChangeOwnWebsite:   {"O", "", false},
	app.ViewStore:          {"OAMS", "any", false},
	app.AddStores:          {"O", "", false},
	app.ViewAuditTrail:     {"O", "", false},
	app.ViewPlatformAudit:  {"", "", false},
	app.RefundPayments:     {"OAM", "write:orders", false},
	app.WriteCustomers:     {"OAM", "", true},
	app.EraseCustomers:     {"OA", "", true},
	app.EraseReservations:  {"OA", "", false},
	app.WriteAddresses:     {"", "", true},
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	if len(permissionTable) != len(app.Permissions) {
		t.Errorf("%d permissions, want the %d of permissionTable", len(app.Permissions), len(permissionTable))
	}
	letters := map[app.Role]string{app.RoleOwner: "O", app.RoleAdmin: "A", app.RoleManager: "M", app.RoleStaff: "S"}
	for permission, row := range permissionTable {
		for role, letter := range letters {
			want := app.CodeInsufficientRole
			if slices.Contains([]byte(row.roles), letter[0]) {
				want = ""
			}
			if got := app.CodeOf(app.Principal{Realm: app.RealmTenant, Role: role}.Can(permission)); got != want {
				t.Errorf("%s as %s: %q, want %q", permission, role, got, want)
			}
		}
		for _, scope := range app.Scopes {
			want := app.CodeInsufficientScope
			read := app.Scope("read:" + string(scope[min(6, len(scope)):]))
			if row.scope == "any" || scope == row.scope || row.scope == read && scope[:6] == "write:" {
				want = ""
			}
			key := app.Principal{Realm: app.RealmAPIKey, Scopes: []app.Scope{scope}}
			if got := app.CodeOf(key.Can(permission)); got != want {
				t.Errorf("%s with %s: %q, want %q", permission, scope, got, want)
			}
		}
		want := app.CodeTokenInvalid
		if row.customer {
			want = ""
		}
		if got := app.CodeOf(app.Principal{Realm: app.RealmCustomer}.Can(permission)); got != want {
			t.Errorf("%s as a customer: %q, want %q", permission, got, want)
		}
		for name, principal := range map[string]app.Principal{
			"no realm": {}, "no role": {Realm: app.RealmTenant},
			"unknown role": {Realm: app.RealmTenant, Role: "CHEF"}, "no scopes": {Realm: app.RealmAPIKey},
			"unknown scopes": {Realm: app.RealmAPIKey, Scopes: []app.Scope{"", "write:", "read:", "*"}},
		} {
			want := row.scope == "any" && principal.Realm == app.RealmAPIKey
			if got := principal.Can(permission) == nil; got != want {
				t.Errorf("%s: permission %q granted: %t, want %t", name, permission, got, want)
			}
		}
	}
	if (app.Principal{Realm: app.RealmTenant, Role: app.RoleOwner}).Can("unknown permission") == nil {
		t.Error("an unknown permission is granted to an owner, want an error")
	}
}
