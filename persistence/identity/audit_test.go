package identity_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Neither the roles of the service nor the owner of the tables can change entries. The setting of erase_audit does not
// permit more to the roles, and no UPDATE to the owner.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	must(t, db.Audit(t.Context(), noon, store, app.Actor{Realm: app.RealmTenant, ID: "usr_1"}, "test", "x",
		map[string]any{"role": "STAFF"}))
	_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO platform_audit
		SELECT id, action, actor_realm, actor_id, target, details, address, request_id, at FROM audit`)
	must(t, err)
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	const erasing = "SET comanda.erasing_audit = 'on'; "
	for _, trail := range []string{"audit", "platform_audit"} {
		before := count(t, db, "SELECT count(*) FROM "+trail)
		for statement, wantOwner := range map[string]string{
			"UPDATE " + trail + " SET actor_id = ''":           "append-only",
			"DELETE FROM " + trail:                             "append-only",
			"TRUNCATE " + trail:                                "append-only",
			erasing + "UPDATE " + trail + " SET actor_id = ''": "append-only",
			erasing + "TRUNCATE " + trail:                      "append-only",
			erasing + "DELETE FROM " + trail:                   "",
		} {
			for _, role := range []string{pg.RoleApp, pg.RoleSystem, "the owner"} {
				want, as := "permission denied", "SET LOCAL ROLE "+role+"; "
				if role == "the owner" {
					want, as = wantOwner, ""
				}
				if want == "" { // the owner can also disable the trigger
					continue
				}
				_, err := owner.ExecContext(t.Context(), "BEGIN; "+as+statement+"; COMMIT")
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s as %s: got error %v, want %s", statement, role, err, want)
				}
			}
		}
		if n := count(t, db, "SELECT count(*) FROM "+trail); n == 0 || n != before {
			t.Errorf("entries of %s: got %d, want %d", trail, n, before)
		}
	}
}

// The function that erases old entries refuses recent times, other tables and the role of one store.
func TestEraseAuditRefuses(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	open(t, db, "one.example")
	call := func(table, before string) string {
		return "SELECT erased FROM erase_audit('" + table + "', '', " + before + ", 500)"
	}
	for _, test := range []struct{ table, before, want string }{
		{"audit", "now()", "less than 29 days ago"},
		{"audit", "now() - interval '29 days' + interval '1 second'", "less than 29 days ago"},
		{"audit", "'infinity'", "less than 29 days ago"},
		{"platform_audit", "now() - interval '1 day'", "less than 29 days ago"},
		{"sessions", "now() - interval '400 days'", "not an audit trail"},
		{"pg_class", "now() - interval '400 days'", "not an audit trail"},
	} {
		_, err := db.System().DB.ExecContext(t.Context(), call(test.table, test.before))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s before %s: got error %v, want %s", test.table, test.before, err, test.want)
		}
	}
	before := "now() - interval '29 days'"
	if _, err := db.System().DB.ExecContext(t.Context(), call("platform_audit", before)); err != nil {
		t.Errorf("entries before %s: got error %v, want none", before, err)
	}
	if _, err := db.QueryApp(t.Context(), call("audit", before)); err == nil ||
		!strings.Contains(err.Error(), "permission denied") {
		t.Errorf("as the role of one store: got error %v, want permission denied", err)
	}
}

// With every filter, a page of a long trail is read by an index in the order of the list.
func TestAuditTrailUsesIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = db.System().DB.ExecContext(t.Context(), `INSERT INTO audit
		SELECT 'aud_' || uuidv7_hex(), $1, 'action' || n % 20,
			CASE WHEN n % 4 = 0 THEN 'tenant' ELSE 'customer' END,
			'usr_' || n % 400, 'key_' || n % 2000,
			'{}', '', '', '2026-03-14'::timestamptz + n * interval '1 minute'
			FROM generate_series(1, 20000) n`, r.Stores[0])
	must(t, err)
	_, err = owner.ExecContext(t.Context(), `ANALYZE audit`)
	must(t, err)
	from, to := app.At(noon), app.At(noon.Add(time.Hour))
	customers := app.RealmCustomer
	for name, test := range map[string]struct {
		filter identity.AuditFilter
		index  string
	}{
		"all":       {identity.AuditFilter{}, "audit_newest_of_staff"},
		"customers": {identity.AuditFilter{Realm: customers}, "audit_newest_of_customers"},
		"period":    {identity.AuditFilter{From: &from, To: &to}, "audit_newest_of_staff"},
		"action":    {identity.AuditFilter{Action: "action7"}, "audit_by_action_of_staff"},
		"no action": {identity.AuditFilter{Action: app.AuditRefundIssued}, "audit_by_action_of_staff"},
		"logins": {
			identity.AuditFilter{Realm: customers, Action: app.AuditLoginFailed}, "audit_by_action_of_customers",
		},
		"actor":  {identity.AuditFilter{ActorID: "usr_7"}, "audit_by_actor"},
		"target": {identity.AuditFilter{Target: "key_7"}, "audit_by_target"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, after := range []pg.Cursor{{}, {At: noon.Add(100 * time.Hour), ID: "aud_7"}} {
				plan, err := db.ExplainAuditTrail(t.Context(), r.Stores[0], test.filter, after)
				must(t, err)
				if !strings.Contains(plan, test.index) || strings.Contains(plan, "Seq Scan on audit") ||
					strings.Contains(plan, "Sort") {
					t.Errorf("plan of %s after %v does not use the order of an index:\n%s", name, after, plan)
				}
			}
		})
	}
}

// An action of a user is recorded in the user's stores, except sandboxes. Stores of suspended websites are included:
// somebody may act while nobody can read the trail.
func TestUserActionsAreRecordedInTheirStores(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, other, left := open(t, db, "one.example"), open(t, db, "two.example"), open(t, db, "three.example")
	r.Key(t, db, 0, app.KeyTest)
	id, err := db.CreateUser(t.Context(), noon,
		identity.NewUser{Email: "ada@one.example", PasswordHash: "-", Roles: map[app.StoreID]app.Role{
			r.Stores[0]: app.RoleStaff, r.Stores[1]: app.RoleStaff, other.Stores[0]: app.RoleStaff,
			left.Stores[0]: app.RoleStaff,
		}})
	must(t, err)
	suspended := true
	_, err = db.ChangeWebsite(t.Context(), noon, app.Actor{}, other.Website, app.WebsiteChange{Suspended: &suspended})
	must(t, err)
	must(t, db.RemoveMember(t.Context(), noon, left.Caller(t, db.DB, 0), app.Actor{}, id))
	must(t, db.LoginFailed(t.Context(), noon, app.Actor{}, app.User{ID: id}, app.FaultPassword))
	must(t, db.LoginFailed(t.Context(), noon, app.Actor{}, app.User{}, app.FaultPassword))
	for _, store := range append(r.Stores[:2:2], other.Stores[0]) {
		if n := count(t, db, `SELECT count(*) FROM audit WHERE action = 'login.failed'
			AND store_id = $1`, store); n != 1 {
			t.Errorf("entries in the user's store %s: got %d, want 1", store, n)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM audit WHERE action = 'login.failed'"); n != 3 {
		t.Errorf("entries in all stores: got %d, want 3", n)
	}
}

// An action is recorded once, also if concurrent requests perform it.
func TestConcurrentActionsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	caller, suspended := r.Caller(t, db.DB, 0), true
	const rounds, each = 10, 8
	for range rounds {
		key := r.Key(t, db, 0, "")
		start := make(chan struct{})
		var wait sync.WaitGroup
		for range each {
			wait.Go(func() {
				<-start
				if _, err := db.RevokeAPIKey(t.Context(), noon, caller, app.Actor{}, key.ID); err != nil {
					t.Error(err)
				}
				_, err := db.ChangeWebsite(t.Context(), noon, app.Actor{}, r.Website,
					app.WebsiteChange{Suspended: &suspended})
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wait.Wait()
	}
	for action, want := range map[app.AuditAction]int{app.AuditAPIKeyRevoked: rounds,
		app.AuditWebsiteSuspended: len(r.Stores)} {
		if n := count(t, db, "SELECT count(*) FROM audit WHERE action = $1", action); n != want {
			t.Errorf("entries of %s: got %d, want %d", action, n, want)
		}
	}
}
