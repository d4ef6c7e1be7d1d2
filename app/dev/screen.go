package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// print tells people what is where.
func (r Ready) print(out io.Writer, data string) {
	if r.Env != nil {
		r.printInfra(out, data)
		return
	}
	fmt.Fprintf(out, `
Comanda is running.

  API          %[1]s   documented at %[1]s/docs
  Temporal UI  %[2]s
  Receiver     %[3]s   prints below what it gets; add ?fail=503 or ?hang=20s to see retries
               verifies with the secret %[4]s
  Health       %[5]s/readyz
  Logs, data   %[6]s
`, r.APIURL, r.TemporalUIURL, r.ReceiverURL, r.ReceiverSecret, r.AdminURL, data)
	r.printUsers(out)
	fmt.Fprint(out, "\nCtrl-C stops everything; the next start goes on from there.\n\n")
}

// printUsers lists who can log in, and how to try it.
func (r Ready) printUsers(out io.Writer) {
	if len(r.Users) == 0 {
		return
	}
	fmt.Fprintf(out, "\n  Log in with the password %s as\n", r.Users[0].Password)
	for _, user := range r.Users {
		fmt.Fprintf(out, "               %-26s %s\n", user.Email, user.Role)
	}
	if r.PlatformAdmin != nil {
		fmt.Fprintf(out, "               %-26s platform\n", r.PlatformAdmin.Email)
	}
	if r.Customer != nil {
		fmt.Fprintf(out, "               %-26s customer (POST /customer-auth/login)\n", r.Customer.Email)
	}
	curl := "curl -s --cacert " + quote(r.CAFile)
	owner := r.Users[0]
	login, err := json.Marshal(map[string]any{"email": owner.Email, "password": owner.Password, "storeId": owner.StoreIDs[0]})
	if err != nil {
		return
	}
	fmt.Fprintf(out, `
Place an order:

  TOKEN=$(%[1]s %[2]s/auth/login -H 'Content-Type: application/json' -d %[3]s | grep -o '"accessToken":"[^"]*' | cut -d'"' -f4)
  PRODUCT=$(%[1]s '%[2]s/products?limit=1' -H "Authorization: Bearer $TOKEN" | grep -o 'prd_[0-9a-f]*' | head -n 1)
  %[1]s %[2]s/orders -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"items":[{"productId":"'$PRODUCT'","quantity":2}],"fulfillmentType":"PICKUP","customer":{"name":"Ada"}}'
`, curl, r.APIURL, quote(string(login)))
}

// printInfra tells how to run the product beside its infrastructure.
func (r Ready) printInfra(out io.Writer, data string) {
	fmt.Fprintf(out, `
PostgreSQL and Temporal are running, and the database is migrated.

  Temporal UI  %s
  Logs, data   %s

For go run ./app/cmd/comanda serve, and worker:

`, r.TemporalUIURL, data)
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		fmt.Fprintf(out, "  export %s=%s\n", name, quote(r.Env[name]))
	}
	fmt.Fprint(out, "\nCtrl-C stops everything; the next start goes on from there.\n\n")
}

// quote makes a shell take a text as it is.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
