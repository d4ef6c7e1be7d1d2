package openapi

import (
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// Callers describes the callers to which a grant gives its permission.
func Callers(grant app.Grant) string {
	var who []string
	switch {
	case grant.Role == app.RoleStaff:
		who = append(who, "every member of the store")
	case grant.Role == app.RoleOwner:
		who = append(who, "members with the role OWNER")
	case grant.Role != "":
		who = append(who, "members with the role "+string(grant.Role)+" or higher")
	}
	if grant.Staff != "" {
		who = append(who, "the role STAFF if the setting staffMay has "+string(grant.Staff))
	}
	if grant.Scope != "" {
		who = append(who, "API keys with the scope "+string(grant.Scope))
	}
	if grant.AnyKey {
		who = append(who, "every API key")
	}
	if grant.Platform {
		who = append(who, "platform administrators")
	}
	if grant.Own {
		who = append(who, "customers (only their own data)")
	}
	if last := len(who) - 1; last > 1 {
		return "For " + strings.Join(who[:last], ", ") + ", and " + who[last] + "."
	}
	return "For " + strings.Join(who, " and ") + "."
}
