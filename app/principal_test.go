package app_test

import (
	"slices"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// The spec's table Roles and permissions, kept a second time by hand: who has each row
// among owner, admin, manager, staff, a key with the scope named, and a customer.
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
	app.ViewOwnTenantLogin: {"OAMS", "", false},
	app.EndCustomerLogin:   {"", "", true},
	app.EndOwnTenantLogin:  {"OAMS", "", false},
	app.SwitchStore:        {"OAMS", "", false},
	app.ManageWebsites:     {"", "", false},
	app.ViewAuditTrail:     {"O", "", false},
	app.RefundPayments:     {"OAM", "write:orders", false},
	app.WriteCustomers:     {"OAM", "", true},
	app.WriteAddresses:     {"", "", true},
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	if len(permissionTable) != len(app.Permissions) {
		t.Errorf("%d permissions, %d of them in the table kept by hand", len(app.Permissions), len(permissionTable))
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
			if scope == row.scope || row.scope == app.Scope("read:"+string(scope[min(6, len(scope)):])) && scope[:6] == "write:" {
				want = ""
			}
			if got := app.CodeOf(app.Principal{Realm: app.RealmAPIKey, Scopes: []app.Scope{scope}}.Can(permission)); got != want {
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
		for name, nobody := range map[string]app.Principal{
			"nobody": {}, "no role": {Realm: app.RealmTenant}, "no such role": {Realm: app.RealmTenant, Role: "CHEF"},
			"no scopes": {Realm: app.RealmAPIKey}, "no such scope": {Realm: app.RealmAPIKey, Scopes: []app.Scope{"", "write:", "read:", "*"}},
		} {
			if nobody.Can(permission) == nil {
				t.Errorf("%s may %s", name, permission)
			}
		}
	}
	if (app.Principal{Realm: app.RealmTenant, Role: app.RoleOwner}).Can("no such permission") == nil {
		t.Error("an owner may do what is not in the table")
	}
}
