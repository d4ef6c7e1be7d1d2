package migrations_test

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// auditStores are two stores with an audit trail.
const auditStores = `
	INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES ('web_1', 'One', 'one.example', 'STARTER', now());
	INSERT INTO stores (id, website_id, name, country_code, timezone, created_at) VALUES
		('sto_1', 'web_1', 'One', 'DE', 'Europe/Berlin', now()), ('sto_2', 'web_1', 'Two', 'DE', 'Europe/Berlin', now());`

// erase_audit runs as the owner. An owner who is no superuser is bound by forced row-level security; nevertheless, the
// function erases the entries of all stores, and the owner itself sees and erases none.
func TestEraseAuditAsOrdinaryOwner(t *testing.T) {
	t.Parallel()
	address := ownedDatabase(t)
	must(t, pg.Migrate(t.Context(), address, io.Discard))
	superuser, owner := connect(t, asSuperuser(t, address)), connect(t, address)
	_, err := superuser.Exec(t.Context(), auditStores+`
		INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
			SELECT 'aud_' || days || store, store, 'login', '', '', '', '{}', '', '', now() - days * interval '1 day'
			FROM unnest(ARRAY[399, 401, 402]) days, unnest(ARRAY['sto_1', 'sto_2']) store;
		INSERT INTO platform_audit (id, action, actor_realm, actor_id, target, details, address, request_id, at)
			SELECT 'aud_' || days, 'login', '', '', '', '{}', '', '', now() - days * interval '1 day'
			FROM unnest(ARRAY[399, 401]) days`)
	must(t, err)
	left := func(conn *pgx.Conn, trail string) (n int) {
		must(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+trail).Scan(&n))
		return n
	}
	if n := left(owner, "audit"); n != 0 {
		t.Errorf("entries that the owner sees: got %d, want 0", n)
	}
	_, err = superuser.Exec(t.Context(), "SET ROLE "+pg.RoleSystem)
	must(t, err)
	for _, test := range []struct {
		trail               string
		erased, again, kept int
	}{{"audit", 3, 1, 2}, {"platform_audit", 1, 0, 1}} {
		for _, want := range []int{test.erased, test.again} {
			var got int
			must(t, superuser.QueryRow(t.Context(),
				"SELECT erased FROM erase_audit('"+test.trail+"', '', now() - interval '400 days', 5)").Scan(&got))
			if got != want {
				t.Errorf("erased entries of %s: got %d, want %d", test.trail, got, want)
			}
		}
		if n := left(superuser, test.trail); n != test.kept {
			t.Errorf("entries of %s: got %d, want %d", test.trail, n, test.kept)
		}
	}
}

// The database can get another owner, who is no superuser either. The setting of erase_audit opens the trails to nobody
// else.
func TestEraseAuditAfterChangeOfOwner(t *testing.T) {
	t.Parallel()
	heir := anotherRole(t)
	address := ownedDatabase(t)
	must(t, pg.Migrate(t.Context(), address, io.Discard))
	owner, superuser := connect(t, address), connect(t, asSuperuser(t, address))
	_, err := superuser.Exec(t.Context(), auditStores+`
		INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
			SELECT 'aud_' || days, 'sto_1', 'login', '', '', '', '{}', '', '', now() - days * interval '1 day'
			FROM unnest(ARRAY[399, 401]) days`)
	must(t, err)
	_, err = superuser.Exec(t.Context(), "REASSIGN OWNED BY "+owner.Config().User+" TO "+heir)
	must(t, err)
	seen := func(role string) (n int) {
		_, err := superuser.Exec(t.Context(), "SET ROLE "+role+"; SET comanda.erasing_audit = 'on'")
		must(t, err)
		must(t, superuser.QueryRow(t.Context(), "SELECT count(*) FROM audit").Scan(&n))
		_, err = superuser.Exec(t.Context(), "RESET ROLE; RESET comanda.erasing_audit")
		must(t, err)
		return n
	}
	if n := seen(pg.RoleApp); n != 0 {
		t.Errorf("entries that the role of one store sees without a store: got %d, want 0", n)
	}
	var erased int
	_, err = superuser.Exec(t.Context(), "SET ROLE "+pg.RoleSystem)
	must(t, err)
	must(t, superuser.QueryRow(t.Context(),
		"SELECT erased FROM erase_audit('audit', '', now() - interval '400 days', 5)").Scan(&erased))
	if n := seen(pg.RoleSystem); erased != 1 || n != 1 {
		t.Errorf("after a change of the owner: got %d erased and %d kept entries, want 1 and 1", erased, n)
	}
}

// anotherRole creates a role that is dropped after the databases of the test.
func anotherRole(t *testing.T) string {
	t.Helper()
	name := "comanda_heir_" + strings.ToLower(rand.Text()[:8])
	admin := connect(t, persistencetest.New(t).OwnerURL)
	_, err := admin.Exec(t.Context(), "CREATE ROLE "+name+" NOSUPERUSER NOBYPASSRLS")
	must(t, err)
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), "DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// A call of erase_audit reads about as many entries of a long trail as it may erase.
func TestEraseAuditReadsOneBatch(t *testing.T) {
	t.Parallel()
	address := ownedDatabase(t)
	must(t, pg.Migrate(t.Context(), address, io.Discard))
	superuser := connect(t, asSuperuser(t, address))
	_, err := superuser.Exec(t.Context(), auditStores+`
		INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
			SELECT 'aud_' || uuidv7_hex(at, 0), 'sto_1', 'login', '', '', '', '{}', '', '', at
			FROM (SELECT now() - n * interval '1 hour' AS at FROM generate_series(1, 20000) n) t;
		ANALYZE audit;
		BEGIN;
		SET LOCAL ROLE `+pg.RoleSystem)
	must(t, err)
	const most = 50
	var erased, read int
	must(t, superuser.QueryRow(t.Context(),
		"SELECT erased FROM erase_audit('audit', '', now() - interval '400 days', $1)", most).Scan(&erased))
	must(t, superuser.QueryRow(t.Context(), `SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
		WHERE relname = 'audit'`).Scan(&read))
	if erased != most || read > 4*most {
		t.Errorf("got %d erased and %d read entries, want %d and at most %d", erased, read, most, 4*most)
	}
}

// erase_customer_audit runs as an owner who is no superuser. It changes the entries of one customer of the
// transaction's store, and only the address and the email in them.
func TestEraseCustomerAuditAsOrdinaryOwner(t *testing.T) {
	t.Parallel()
	address := ownedDatabase(t)
	must(t, pg.Migrate(t.Context(), address, io.Discard))
	superuser := connect(t, asSuperuser(t, address))
	_, err := superuser.Exec(t.Context(), auditStores+`
		INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
			SELECT 'aud_' || n, store, 'login', realm, actor, target, '{"email": "ada@example.com"}', '192.0.2.1', '', now()
			FROM (VALUES (1, 'sto_1', 'customer', 'cus_1', 'ses_1'), (2, 'sto_1', 'customer', '', 'cus_1'),
				(3, 'sto_1', 'tenant', 'usr_1', 'cus_1'), (4, 'sto_1', 'customer', 'cus_2', 'ses_2'),
				(5, 'sto_2', 'customer', 'cus_1', 'ses_3')) e (n, store, realm, actor, target)`)
	must(t, err)
	_, err = superuser.Exec(t.Context(), "SET ROLE "+pg.RoleApp+"; SET comanda.store_id = 'sto_1'; "+
		"SELECT erase_customer_audit('cus_1', 'ada@example.com'); RESET ROLE")
	must(t, err)
	rows, err := superuser.Query(t.Context(), `SELECT concat_ws(' ', id, actor_id, target, address, details ->> 'email')
		FROM audit ORDER BY id`)
	must(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	want := []string{
		"aud_1 cus_1 ses_1 cus_1 cus_1", "aud_2  cus_1 cus_1 cus_1", "aud_3 usr_1 cus_1 192.0.2.1 cus_1",
		"aud_4 cus_2 ses_2 192.0.2.1 ada@example.com", "aud_5 cus_1 ses_3 192.0.2.1 ada@example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("entries (-want +got):", diff)
	}
}
