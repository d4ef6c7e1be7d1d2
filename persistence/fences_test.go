package persistence_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The second fence: with the WHERE forgotten, row-level security still holds.
func TestRowLevelSecurityIsForcedEverywhere(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	rows, err := db.System().DB.QueryContext(t.Context(), `
		SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND (a.attname = 'store_id' OR c.relname = 'stores' AND a.attname = 'id')`)
	must(t, err)
	defer rows.Close()
	tables := 0
	for rows.Next() {
		var name string
		var forced bool
		var policies int
		must(t, rows.Scan(&name, &forced, &policies))
		if !forced || policies != 2 {
			t.Errorf("%s: forced %v, with %d policies", name, forced, policies)
		}
		tables++
	}
	must(t, rows.Err())
	if tables < 14 {
		t.Errorf("only %d tables have a store_id", tables)
	}
	r := open(t, db, "one.example")
	r.Place(t, db, 1)
	customer, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], persistence.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	_, err = db.AddAddress(t.Context(), noon, r.Stores[0], customer.Customer.ID, app.Address{}, nil, nil)
	must(t, err)
	r.Key(t, db, 0, "")
	_, err = db.OrderBulkReplay(t.Context(), noon, r.Stores[0], app.Actor{}, app.NewBulkReplay{DeliveryStatus: app.DeliveryDeadLetter}, nil, nil)
	must(t, err)
	_, err = db.StartSocialSession(t.Context(), noon, r.Stores[0], app.SocialIdentity{Provider: app.ProviderApple, Subject: "1", Email: "bob@example.com"}, time.Hour)
	must(t, err)
	r.Invite(t, mailing(t, db), "a-token")
	_, err = db.Reserve(t.Context(), noon, r.Stores[0], app.NewReservation{Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 1, StartAt: app.At(noon)}, nil, nil)
	must(t, err)
	till := till{T: t, db: db, store: r.Stores[0], order: r.placed(t, db), ticks: &atomic.Int64{}}
	payment, _, err := till.pay(aPayment("pi_1", 1000))
	must(t, err)
	_, _, err = till.refund(payment.ID, "re_1", 1)
	must(t, err)
	till.complete()
	for _, table := range []string{"reservations", "stores", "orders", "order_items", "order_history", "payments", "refunds", "loyalty_entries", "addresses", "products", "customers", "outbox", "store_views", "memberships", "api_keys", "customer_sessions", "customer_identities", "mails", "replays"} {
		if n := count(t, db, "SELECT count(*) FROM "+table); n == 0 {
			t.Errorf("the test put nothing into %s", table)
		}
		n, err := db.CountAsApp(t.Context(), table)
		if err != nil || n != 0 {
			t.Errorf("without a store %s shows %d rows, %v", table, n, err)
		}
	}
	for _, table := range []string{"users", "sessions", "websites", "rate_limits", "plan_windows", "plan_moves", "plan_queues"} {
		if _, err := db.CountAsApp(t.Context(), table); err == nil {
			t.Errorf("the role of one store reads %s", table)
		}
	}
}

// The doors to the role that crosses stores. Whoever adds one says here why.
func TestWhoCrossesStores(t *testing.T) {
	t.Parallel()
	want := []string{
		"Accept",                      // an invitation may name several stores
		"ChangeRole",                  // users belong to no store
		"Invite",                      // an invitation may name several stores
		"Invited",                     // the token names the stores
		"Members",                     // users belong to no store
		"RemoveMember",                // users belong to no store
		"Authenticate",                // the session names the store
		"pg.CheckSchema",              // reads no tenant's row
		"delivery.ClaimAbandoned",     // relay
		"delivery.Claim",              // relay
		"delivery.claimLimited",       // relay
		"delivery.ExpectStarts",       // a queue is the website's
		"delivery.Overdue",            // reconciliation
		"delivery.ClaimJobs",          // relay
		"delivery.FinishJobs",         // relay
		"CreateUser",                  // platform
		"CreateWebsite",               // platform
		"delivery.ContinueBulkReplay", // takes slots of the plan, which is the website's
		"delivery.Dispatch",           // relay
		"delivery.Repaired",           // reconciliation
		"delivery.EnqueueLostJobs",    // reconciliation
		"delivery.PlanUsage",          // a plan belongs to the website
		"delivery.Replay",             // takes a slot of the website's plan
		"Elsewhere",                   // the probe behind STORE_MISMATCH
		"delivery.EndDelivery",        // attempt recording
		"delivery.Erase",              // retention
		"delivery.ClaimMail",          // users and invitations belong to no store
		"delivery.eraseBodies",        // retention
		"delivery.eraseRows",          // retention
		"delivery.forgetSecret",       // attempt recording
		"delivery.Backlog",            // metrics, of all stores together
		"LoginByEmail",                // login
		"delivery.MarkStarted",        // relay
		"Me",                          // the session names the store
		"delivery.outgoing",           // attempt recording
		"SetPasswordHash",             // login
		"StartSession",                // login
		"delivery.Unclaim",            // relay
		"delivery.recordAttempts",     // attempt recording
		"TakeRateLimits",              // who knocks has not said yet at which store
		"AuthenticateCustomer",        // the session names the store
		"APIKeys",                     // a store's keys and those of its sandbox
		"AuthenticateKey",             // the key names the store
		"CreateAPIKey",                // a test key belongs to the store's sandbox, which it may have to make
		"RevokeAPIKey",                // as APIKeys
		"EndSession",                  // logout
		"Refresh",                     // session lookup
		"RefreshCustomer",             // the session names the store
		"Stores",                      // users belong to no store
		"SwitchStore",                 // the session's store changes
		"ChangeWebsite",               // platform
		"OpenWebsite",                 // platform
		"Websites",                    // platform
		"WebsiteByDomain",             // a page has not said yet which store it is for
		"LoginFailed",                 // login: a user may work in several stores
		"withUserNames",               // users belong to no store
		"OrderHistory",                // as withUserNames
	}
	slices.Sort(want)
	files := token.NewFileSet()
	var names []string
	for _, pattern := range []string{"*.go", "pg/*.go", "delivery/*.go"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		if len(found) == 0 {
			t.Errorf("no file is like %s", pattern)
		}
		names = append(names, found...)
	}
	var got []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		within := strings.TrimPrefix(filepath.Dir(name)+".", "..") // "" for a method of this package
		file, err := parser.ParseFile(files, name, nil, 0)
		must(t, err)
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Name.Name == "System" || function.Name.Name == "Open" || function.Name.Name == "Close" {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "System" || s.Sel.Name == "system") {
					got = append(got, within+function.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Error(diff)
	}
}
