package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// documentedGrant is a row of the table of permissions in docs/behaviour.md.
type documentedGrant struct {
	role     app.Role
	staff    app.StaffRight // with which STAFF has the permission too
	scope    app.Scope      // or "any"
	customer bool
	platform bool
}

// documentedGrants reads the table of permissions in docs/behaviour.md.
func documentedGrants(t *testing.T) map[app.Permission]documentedGrant {
	t.Helper()
	page, err := os.ReadFile("../docs/behaviour.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Roles and permissions\n")
	section, _, _ = strings.Cut(section, "\n### ")
	_, table, _ := strings.Cut(section, "\n|---|---|---|---|---|\n")
	grants := map[app.Permission]documentedGrant{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 7 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		role, staff, _ := strings.Cut(cells[2], ", STAFF with `")
		grants[app.Permission(cells[1])] = documentedGrant{
			app.Role(role), app.StaffRight(staff), app.Scope(cells[3]), cells[4] == "own", cells[5] == "yes",
		}
	}
	return grants
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	grants := documentedGrants(t)
	if len(grants) != len(app.Permissions) {
		t.Errorf("%d permissions, want the %d of docs/behaviour.md", len(app.Permissions), len(grants))
	}
	ranks := []app.Role{app.RoleOwner, app.RoleAdmin, app.RoleManager, app.RoleStaff}
	for permission, row := range grants {
		for rank, role := range ranks {
			want := app.CodeInsufficientRole
			if rank <= slices.Index(ranks, row.role) {
				want = ""
			}
			if got := app.CodeOf(app.Principal{Realm: app.RealmTenant, Role: role}.Can(permission)); got != want {
				t.Errorf("%s as %s: %q, want %q", permission, role, got, want)
			}
		}
		for _, right := range app.StaffRights {
			staff := app.Principal{Realm: app.RealmTenant, Role: app.RoleStaff, StaffMay: []app.StaffRight{right}}
			if got, want := staff.Can(permission) == nil, row.role == app.RoleStaff || row.staff == right; got != want {
				t.Errorf("%s as STAFF with %s: permitted %t, want %t", permission, right, got, want)
			}
		}
		for _, scope := range app.Scopes {
			want := app.CodeInsufficientScope
			read := app.Scope("read:" + string(scope[min(6, len(scope)):]))
			writes := scope == app.ScopePriceOrders &&
				(row.scope == app.ScopeWriteOrders || row.scope == app.ScopeReadOrders)
			if row.scope == "any" || scope == row.scope || row.scope == read && scope[:6] == "write:" || writes {
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
		if want = app.CodeTokenInvalid; row.platform {
			want = ""
		}
		if got := app.CodeOf(app.Principal{Realm: app.RealmPlatform}.Can(permission)); got != want {
			t.Errorf("%s as a platform administrator: %q, want %q", permission, got, want)
		}
		for name, principal := range map[string]app.Principal{
			"no realm": {}, "no role": {Realm: app.RealmTenant},
			"no role with rights": {Realm: app.RealmTenant, StaffMay: app.StaffRights[:]},
			"unknown role":        {Realm: app.RealmTenant, Role: "CHEF"}, "no scopes": {Realm: app.RealmAPIKey},
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
