package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/comanda-dev/comanda/app/dev/social"
)

// print tells people what is where.
func (r Ready) print(out io.Writer, data string) {
	if r.Env != nil {
		r.printInfra(out, data)
		return
	}
	fmt.Fprintf(out, `
Comanda is running.

  Dashboard    %[7]s   your browser does not know its certificate: go on, or trust %[8]s
  API          %[1]s   documented at %[1]s/docs
  Temporal UI  %[2]s
  Receiver     %[3]s   prints below what it gets; add ?fail=503 or ?hang=20s to see retries
               verifies with the secret %[4]s
  Health       %[5]s/readyz
  Logs, data   %[6]s
`, r.APIURL, r.TemporalUIURL, r.ReceiverURL, r.ReceiverSecret, r.AdminURL, data, r.DashboardURL, r.CAFile)
	if r.SocialURL != "" {
		fmt.Fprintf(out, "  Social login %s   plays Google, Apple and Facebook: POST %s gives an ID token\n", r.SocialURL, social.TokenPath)
	}
	r.printUsers(out, data)
	fmt.Fprint(out, "\nCtrl-C stops everything; the next start goes on from there.\n\n")
}

// printUsers lists who can log in, and how to try it.
func (r Ready) printUsers(out io.Writer, data string) {
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
	r.printCommands(out, data)
}

// printCommands shows how to use the API from a shell, line by line to be pasted.
func (r Ready) printCommands(out io.Writer, data string) {
	owner := r.Users[0]
	store := string(owner.StoreIDs[0])
	login := fmt.Sprintf(`{"email":%q,"password":%q,"storeId":%q}`, owner.Email, owner.Password, store)
	curl := "curl -s --cacert " + quote(r.CAFile)
	cookies := quote(filepath.Join(data, "cookies"))
	fmt.Fprintf(out, `
Paste this to try it:

  comanda() { %s -b %[2]s -c %[2]s -H 'Content-Type: application/json' "%s$@"; echo; }
  field() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d'"' -f4; }

Log in, place an order, and get a new token for the one in the cookie:

  TOKEN=$(comanda /auth/login -d %s | field accessToken)
  PRODUCT=$(comanda '/products?limit=1' -H "Authorization: Bearer $TOKEN" | field id)
  comanda /orders -H "Authorization: Bearer $TOKEN" -d '{"items":[{"productId":"'$PRODUCT'","quantity":2}],"fulfillmentType":"PICKUP","customer":{"name":"Ada"}}'
  comanda /auth/refresh -X POST

Do without a login, as another program would, with an API key:

  comanda '/products?limit=1' -H 'Authorization: Bearer %s'
`, curl, cookies, r.APIURL, quote(login), r.APIKey)
	if r.SocialURL == "" {
		return
	}
	fmt.Fprintf(out, `
Log in as a customer whom Google knows, or Apple, or Facebook:

  ID_TOKEN=$(%s %s -d '{"provider":"google","email":"ada@gmail.com","name":"Ada Lovelace"}' | field idToken)
  comanda /customer-auth/social -d '{"storeId":"%s","provider":"google","token":"'$ID_TOKEN'"}'
`, curl, r.SocialURL+social.TokenPath, store)
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
