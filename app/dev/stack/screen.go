package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/comanda-dev/comanda/app/dev/demo"
	"github.com/comanda-dev/comanda/app/dev/social"
)

// print shows the addresses, the logins and commands to try. data is the data directory.
func (r Ready) print(out io.Writer, data string) {
	if r.Env != nil {
		r.printInfra(out, data)
		return
	}
	fmt.Fprintf(out, `
Comanda is running.

  Dashboard     %[7]s (log in as a user below)
                If the browser warns about the certificate, continue, or trust %[8]s
  API           %[1]s
                Documentation: %[1]s/docs
  Temporal UI   %[2]s (shows each delivery as a workflow)
  Receiver      %[3]s (prints each received event below)
                Secret: %[4]s
                To see retries, add ?fail=503 or ?hang=20s to the URL of a webhook
  Health        %[5]s/readyz
  Logs, data    %[6]s
`, r.APIURL, r.TemporalUIURL, r.ReceiverURL, r.ReceiverSecret, r.AdminURL, data, r.DashboardURL, r.CAFile)
	if r.SocialURL != "" {
		fmt.Fprintf(out, "  Social login  %s (a mock of Google, Apple and Facebook)\n"+
			"                POST %s returns an ID token\n", r.SocialURL, social.TokenPath)
	}
	r.printUsers(out, data)
	fmt.Fprint(out, farewell)
}

// farewell is the end of the screen.
const farewell = "\nCtrl-C stops everything. The next start continues with the same data.\n\n"

// printUsers lists the users of the demo data, and commands to try.
func (r Ready) printUsers(out io.Writer, data string) {
	if len(r.Users) == 0 {
		return
	}
	fmt.Fprintf(out, "\n  Users         password %s\n", r.Users[0].Password)
	for _, user := range r.Users {
		fmt.Fprintf(out, "                %-26s %s\n", user.Email, user.Role)
	}
	if r.PlatformAdmin != nil {
		fmt.Fprintf(out, "                %-26s platform administrator\n", r.PlatformAdmin.Email)
	}
	if r.Customer != nil {
		fmt.Fprintf(out, "                %-26s customer (POST /customer-auth/login)\n", r.Customer.Email)
	}
	r.printCommands(out, data)
}

// printCommands shows commands that use the API from a shell. Each line can be pasted separately.
func (r Ready) printCommands(out io.Writer, data string) {
	owner := r.Users[0]
	store := string(owner.StoreIDs[0])
	login := fmt.Sprintf(`{"email":%q,"password":%q,"storeId":%q}`, owner.Email, owner.Password, store)
	curl := "curl -s --cacert " + quote(r.CAFile)
	cookies := quote(filepath.Join(data, "cookies"))
	fmt.Fprintf(out, `
Paste this into another terminal to try the API:

  comanda() { %s -b %[2]s -c %[2]s -H 'Content-Type: application/json' "%s$@"; echo; }
  field() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d'"' -f4; }

Log in, place an order (its events appear here), and refresh the access token:

  TOKEN=$(comanda /auth/login -d %s | field accessToken)
  PRODUCT=$(comanda '/products?limit=1' -H "Authorization: Bearer $TOKEN" | field id)
  ORDER='"fulfillmentType":"PICKUP","customer":{"name":"Ada"},"items":[{"productId":"'$PRODUCT'","quantity":2}]'
  comanda /orders -H "Authorization: Bearer $TOKEN" -d "{$ORDER}"
  comanda /auth/refresh -X POST

Use an API key instead of a login, as an integration does:

  comanda '/products?limit=1' -H 'Authorization: Bearer %s'
`, curl, cookies, r.APIURL, quote(login), r.APIKey)
	if r.SocialURL == "" {
		return
	}
	fmt.Fprintf(out, `
Log in as a customer with Google ("apple" and "facebook" work too; an ID token can be used once):

  PERSON='{"provider":"google","clientId":"google.%s","email":"ada@gmail.com","name":"Ada Lovelace"}'
  ID_TOKEN=$(%s %s -d "$PERSON" | field idToken)
  comanda /customer-auth/social -d '{"storeId":"%s","provider":"google","token":"'$ID_TOKEN'"}'
`, demo.Domain, curl, r.SocialURL+social.TokenPath, store)
}

// printInfra shows how to run the product on the running infrastructure.
func (r Ready) printInfra(out io.Writer, data string) {
	fmt.Fprintf(out, `
PostgreSQL and Temporal are running, and the database is migrated.

  Temporal UI   %s
  Logs, data    %s

Paste this into two other terminals. Then run "go run ./app/cmd/comanda serve" in one of them, and
"go run ./app/cmd/comanda worker" in the other:

`, r.TemporalUIURL, data)
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		fmt.Fprintf(out, "  export %s=%s\n", name, quote(r.Env[name]))
	}
	fmt.Fprint(out, farewell)
}

// quote quotes a text for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
