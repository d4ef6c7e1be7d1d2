package persistence_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Row-level security separates stores even if a statement has no condition on the store.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	rows, err := db.System().DB.QueryContext(t.Context(), `
		SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
			(SELECT string_agg(p.polname, ', ' ORDER BY p.polname) FROM pg_policy p WHERE p.polrelid = c.oid)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
			AND (a.attname = 'store_id' OR c.relname = 'stores' AND a.attname = 'id')`)
	must(t, err)
	defer rows.Close()
	tables := 0
	for rows.Next() {
		var name string
		var forced bool
		var policies string
		must(t, rows.Scan(&name, &forced, &policies))
		want := "every_store, one_store"
		if name == "audit" {
			want = "erasure, every_store, one_store" // the first is the owner's, for erase_audit
		}
		if !forced || policies != want {
			t.Errorf("table %s: got forced %v and policies %s, want true and %s", name, forced, policies, want)
		}
		tables++
	}
	must(t, rows.Err())
	if tables < 14 {
		t.Errorf("tables with a store: got %d, want at least 14", tables)
	}
	r := open(t, db, "one.example")
	r.Place(t, db, 1)
	customer, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	_, err = db.AddAddress(t.Context(), noon, app.Principal{StoreID: r.Stores[0]}, customer.Customer.ID, app.Address{},
		nil)
	must(t, err)
	r.Key(t, db, 0, "")
	_, err = db.CreateBulkReplay(t.Context(), noon, r.Stores[0], app.Actor{},
		app.NewBulkReplay{DeliveryStatus: app.ReplayedDeadLetters}, nil)
	must(t, err)
	_, err = db.StartSocialSession(t.Context(), noon, r.Stores[0], app.Actor{},
		app.SocialIdentity{Provider: app.ProviderApple, Subject: "1", Email: "bob@example.com"}, time.Hour,
		func(context.Context) error { return nil })
	must(t, err)
	r.Invite(t, mailing(t, db), "a-token")
	_, err = db.Reserve(t.Context(), noon, r.Stores[0],
		app.NewReservation{Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 1, StartAt: app.At(noon)}, nil)
	must(t, err)
	order := r.PlaceOne(t, db)
	payment, err := db.RecordPayment(t.Context(), noon, r.Stores[0], order.ID, aPayment("pi_1", 1000), nil)
	must(t, err)
	_, err = db.RefundPayment(t.Context(), noon, r.Stores[0], payment.ID,
		app.NewRefund{AmountMinor: 1, ProviderRefundID: "re_1"}, app.Actor{}, nil)
	must(t, err)
	_, err = db.ChangeOrderStatus(t.Context(), noon, r.Stores[0], order.ID, 0,
		app.OrderStatusChange{To: app.OrderCompleted})
	must(t, err)
	_, err = db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	r.Place(t, db, 1)
	for _, table := range []string{"reservations", "stores", "orders", "order_items", "order_history", "payments",
		"refunds", "loyalty_entries", "addresses", "products", "customers", "outbox", "store_views", "memberships",
		"api_keys", "customer_sessions", "customer_identities", "used_id_tokens", "mails", "replays",
		"event_log", "event_heads", "undispatched"} {
		if n := count(t, db, "SELECT count(*) FROM "+table); n == 0 {
			t.Errorf("the test inserted no row into %s", table)
		}
		n, err := db.CountAsApp(t.Context(), table)
		if err != nil || n != 0 {
			t.Errorf("rows of %s without a selected store: got %d and error %v, want 0", table, n, err)
		}
	}
	for _, table := range []string{"users", "sessions", "websites", "platform_audit", "rate_limits", "plan_windows",
		"plan_queues", "website_client_ids", "platform_idempotency_keys"} {
		if _, err := db.CountAsApp(t.Context(), table); err == nil {
			t.Errorf("the role of one store can read %s, want permission denied", table)
		}
	}
}

// The list of functions that access the rows of all stores. State the reason for each new one.
func TestFunctionsThatCrossStores(t *testing.T) {
	t.Parallel()
	want := []string{
		"identity.Accept",                  // an invitation may name several stores
		"identity.ChangeRole",              // users belong to no store
		"identity.Invite",                  // an invitation may name several stores
		"identity.Invited",                 // the token names the stores
		"identity.InvitedEmail",            // the token names the stores
		"identity.InvitationFailed",        // the token names the stores
		"identity.Invitations",             // an invitation may name several stores
		"identity.ResendInvitation",        // an invitation may name several stores
		"identity.WithdrawInvitation",      // an invitation may name several stores
		"identity.Store",                   // a website belongs to no store
		"identity.AddStore",                // creation of a store
		"identity.ChangeStore",             // a sandbox has the name of its live store
		"identity.setPause",                // pause of ordering: the returned store names its website
		"identity.DeleteView",              // sessions belong to no store
		"identity.Members",                 // users belong to no store
		"identity.RemoveMember",            // users belong to no store
		"identity.Authenticate",            // the session names the store
		"pg.CheckSchema",                   // reads no rows of tenants
		"pg.For",                           // selects connections
		"pg.Ping",                          // reads no rows
		"pg.ReadClock",                     // reads no rows
		"delivery.ClaimAbandoned",          // relay
		"delivery.candidates",              // relay
		"delivery.claim",                   // relay
		"delivery.queueLine",               // a queue belongs to a website
		"delivery.settleTurns",             // relay
		"delivery.lostTurns",               // relay
		"delivery.newTurnNotifier",         // reads no rows of tenants
		"delivery.Overdue",                 // reconciliation
		"delivery.ClaimJobs",               // relay
		"delivery.FinishJobs",              // relay
		"delivery.ReleaseJobs",             // relay
		"identity.CreateUser",              // platform
		"identity.CreatePlatformAdmin",     // platform
		"identity.CreateWebsite",           // platform
		"delivery.continueBulkReplay",      // a bulk replay is a background job
		"delivery.dispatchNext",            // relay
		"delivery.nextDispatch",            // relay
		"delivery.Repaired",                // reconciliation
		"delivery.enqueueLost",             // reconciliation
		"delivery.PlanUsage",               // a plan belongs to the website
		"delivery.Replay",                  // the plan belongs to the website
		"delivery.BeginReplay",             // attempt recording
		"delivery.Reorder",                 // a change of ordering is a background job
		"MismatchOrNotFound",               // the probe behind STORE_MISMATCH
		"delivery.endDelivery",             // attempt recording
		"delivery.Erase",                   // retention
		"delivery.ClaimMail",               // users and invitations belong to no store
		"delivery.EndMail",                 // users and invitations belong to no store
		"delivery.eraseBodies",             // retention
		"delivery.eraseRows",               // retention
		"delivery.forgetSecrets",           // attempt recording
		"delivery.loadFilters",             // relay
		"delivery.saveFilterErrors",        // relay
		"delivery.Backlog",                 // metrics of all stores
		"identity.words",                   // users belong to no store
		"identity.LoginByEmail",            // login
		"delivery.MarkStarted",             // relay
		"identity.Me",                      // the session names the store
		"delivery.outgoing",                // attempt recording
		"delivery.outgoingBodies",          // attempt recording
		"identity.SetPasswordHash",         // login
		"identity.inProven",                // login
		"identity.LoginOf",                 // users belong to no store
		"identity.ChangePassword",          // users belong to no store
		"identity.MailReset",               // users belong to no store
		"identity.DisableUser",             // users belong to no store
		"identity.EnableUser",              // users belong to no store
		"identity.EndSessions",             // users belong to no store
		"identity.CreateReset",             // users belong to no store
		"identity.PendingReset",            // users belong to no store
		"identity.PendingCustomerReset",    // the token names the store
		"identity.ResetPassword",           // users belong to no store
		"identity.ResetCustomerPassword",   // the token names the store
		"identity.ConfirmEmailChange",      // the token names the store
		"identity.Sessions",                // users belong to no store
		"identity.EndOneSession",           // users belong to no store
		"identity.EndOtherSessions",        // users belong to no store
		"delivery.Requeue",                 // relay
		"delivery.Unclaim",                 // relay
		"delivery.recordAttempts",          // attempt recording
		"identity.TakeRateLimits",          // the request may not have a store yet
		"identity.AuthenticateCustomer",    // the session names the store
		"identity.APIKeys",                 // a store's keys and those of its sandbox
		"identity.AuthenticateKey",         // the key names the store
		"identity.CreateAPIKey",            // a test key belongs to the store's sandbox, which may be created
		"identity.IssueAPIKey",             // the same
		"identity.RevokeAPIKey",            // a store's keys and those of its sandbox
		"identity.OpenStream",              // streams of a website
		"identity.EndSession",              // logout
		"identity.Refresh",                 // session lookup
		"identity.RefreshCustomer",         // the session names the store
		"identity.Stores",                  // users belong to no store
		"identity.SwitchStore",             // changes the session's store
		"identity.WebsiteDetails",          // platform
		"identity.OpenStore",               // platform
		"identity.InviteOwner",             // platform
		"identity.WithdrawOwnerInvitation", // platform
		"identity.changeWebsite",           // platform
		"identity.Website",                 // website settings
		"identity.ClientIDs",               // website settings: a login names only the store
		"identity.ChangeClientIDs",         // website settings
		"identity.OpenWebsite",             // platform
		"identity.Websites",                // platform
		"identity.PlatformAuditTrail",      // platform
		"identity.inOTP",                   // users belong to no store
		"identity.ResetOTP",                // users belong to no store
		"resealColumn",                     // reseal
		"sealedBatch",                      // reseal
		"countSealed",                      // reseal
		"identity.WebsiteOf",               // a login names only the store
		"identity.WebsiteOfLink",           // a link names only its token
		"identity.WebsiteOfSession",        // a refresh token names only the session
		"identity.RecoveryHash",            // login
		"identity.WebsiteByDomain",         // a request from a page has no store yet
		"identity.LoginFailed",             // login: a user may be a member of several stores
		"identity.withUserNames",           // users belong to no store
		"ordering.OrderHistory",            // users belong to no store
		"ordering.ChangedOrders",           // watchers of several stores
		"delivery.newEventNotifier",        // watchers of several stores
		"delivery.newOrderNotifier",        // watchers of several stores
		"delivery.EventHeads",              // watchers of several stores
	}
	slices.Sort(want)
	files := token.NewFileSet()
	var names []string
	for _, pattern := range []string{"*.go", "pg/*.go", "delivery/*.go", "identity/*.go", "ordering/*.go"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		if len(found) == 0 {
			t.Errorf("no file matches %s", pattern)
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
			if !ok || function.Name.Name == "System" || function.Name.Name == "InSystem" ||
				function.Name.Name == "Open" || function.Name.Name == "Close" {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok &&
					slices.Contains([]string{"System", "InSystem", "system"}, s.Sel.Name) {
					got = append(got, within+function.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("methods that cross stores (-want +got):\n%s", diff)
	}
}
