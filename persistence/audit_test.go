package persistence_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// No role of the service, nor the owner of the table, changes what the trail says.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	must(t, db.Audit(t.Context(), noon, store, app.Actor{Realm: app.RealmTenant, ID: "usr_1"}, "test", "x", map[string]any{"role": "STAFF"}))
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{"UPDATE audit SET actor_id = ''", "DELETE FROM audit"} {
		if _, err := db.System().DB.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s as comanda_system: %v", statement, err)
		}
		if _, err := owner.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s as the owner: %v", statement, err)
		}
	}
}

// However long the trail and whatever it is narrowed to, a page is read off an index.
func TestAuditTrailIsReadByIndex(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = db.System().DB.ExecContext(t.Context(), `INSERT INTO audit
		SELECT 'aud_' || uuidv7_hex(), $1, 'action' || n % 20, 'tenant', 'usr_' || n % 400, 'key_' || n % 2000,
			'{}', '', '', '2026-03-14'::timestamptz + n * interval '1 minute' FROM generate_series(1, 20000) n`, r.Stores[0])
	must(t, err)
	_, err = owner.ExecContext(t.Context(), `ANALYZE audit`)
	must(t, err)
	from, to := app.At(noon), app.At(noon.Add(time.Hour))
	for name, test := range map[string]struct {
		filter persistence.AuditFilter
		index  string
	}{
		"all":       {persistence.AuditFilter{}, "audit_newest"},
		"period":    {persistence.AuditFilter{From: &from, To: &to}, "audit_newest"},
		"action":    {persistence.AuditFilter{Action: "action7"}, "audit_by_action"},
		"no action": {persistence.AuditFilter{Action: app.AuditRefundIssued}, "audit_by_action"},
		"actor":     {persistence.AuditFilter{ActorID: "usr_7"}, "audit_by_actor"},
		"target":    {persistence.AuditFilter{Target: "key_7"}, "audit_by_target"},
	} {
		for _, after := range []persistence.Cursor{{}, {At: noon.Add(100 * time.Hour), ID: "aud_7"}} {
			plan, err := db.ExplainAuditTrail(t.Context(), r.Stores[0], test.filter, after)
			must(t, err)
			if !strings.Contains(plan, test.index) || strings.Contains(plan, "Seq Scan on audit") || strings.Contains(plan, "Sort") {
				t.Errorf("%s after %v:\n%s", name, after, plan)
			}
		}
	}
}

// What concerns a user is told in the living stores where it works, not in their sandboxes.
func TestWhereUsersAreToldOf(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, other, left := open(t, db, "one.example"), open(t, db, "two.example"), open(t, db, "three.example")
	r.Key(t, db, 0, app.KeyTest)
	id, err := db.CreateUser(t.Context(), noon, persistence.NewUser{Email: "ada@one.example", PasswordHash: "-", Roles: map[app.StoreID]app.Role{
		r.Stores[0]: app.RoleStaff, r.Stores[1]: app.RoleStaff, other.Stores[0]: app.RoleStaff, left.Stores[0]: app.RoleStaff,
	}})
	must(t, err)
	suspended := true
	_, err = db.ChangeWebsite(t.Context(), noon, app.Actor{}, other.Website, app.WebsiteChange{Suspended: &suspended})
	must(t, err)
	must(t, db.RemoveMember(t.Context(), noon, left.Stores[0], app.Actor{}, id))
	must(t, db.LoginFailed(t.Context(), noon, app.Actor{}, app.User{ID: id}, app.FaultPassword))
	must(t, db.LoginFailed(t.Context(), noon, app.Actor{}, app.User{}, app.FaultPassword))
	for _, store := range r.Stores {
		if n := count(t, db, "SELECT count(*) FROM audit WHERE action = 'login.failed' AND store_id = $1", store); n != 1 {
			t.Errorf("%d lines in a store of the user", n)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM audit WHERE action = 'login.failed'"); n != 2 {
		t.Errorf("%d lines in all", n)
	}
}

// However many do it at once, what is done once is told once.
func TestRacesAreToldOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	suspended := true
	const rounds, each = 10, 8
	for range rounds {
		key := r.Key(t, db, 0, "")
		start := make(chan struct{})
		var wait sync.WaitGroup
		for range each {
			wait.Go(func() {
				<-start
				if _, err := db.RevokeAPIKey(t.Context(), noon, r.Stores[0], app.Actor{}, key.ID); err != nil {
					t.Error(err)
				}
				if _, err := db.ChangeWebsite(t.Context(), noon, app.Actor{}, r.Website, app.WebsiteChange{Suspended: &suspended}); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wait.Wait()
	}
	for action, want := range map[app.AuditAction]int{app.AuditAPIKeyRevoked: rounds, app.AuditWebsiteSuspended: len(r.Stores)} {
		if n := count(t, db, "SELECT count(*) FROM audit WHERE action = $1", action); n != want {
			t.Errorf("%s is told %d times instead of %d", action, n, want)
		}
	}
}
