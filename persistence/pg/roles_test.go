package pg_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestCheckRoleRejectsSuperuser(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	must(t, db.CheckRole(t.Context()))
	owner, err := pg.Open(pg.Config{URL: db.OwnerURL})
	must(t, err)
	defer owner.Close()
	if err := owner.CheckRole(t.Context()); err == nil || !strings.Contains(err.Error(), "superuser") {
		t.Errorf("CheckRole of a superuser: got error %v, want one about a superuser", err)
	}
}

// Each right with which the login role could read or write rows of all stores is refused, also if it has the right by
// one of the two roles.
func TestCheckRoleRejectsPrivileges(t *testing.T) {
	t.Parallel()
	db := persistencetest.NewLogged(t, io.Discard) // roles belong to the server, which other tests share
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(context.Background())
	exec := func(statement string) {
		t.Helper()
		_, err := owner.Exec(t.Context(), statement)
		must(t, err)
	}
	exec("CREATE ROLE waiters NOLOGIN; CREATE ROLE chefs NOLOGIN; GRANT pg_read_all_data TO chefs")
	const separation = "COMANDA_SYSTEM_DATABASE_URL is the login for it, so run: REVOKE comanda_system FROM "
	for _, test := range []struct{ right, withdrawal, want string }{
		{"ALTER ROLE comanda_test_app CREATEROLE", "ALTER ROLE comanda_test_app NOCREATEROLE", "CREATEROLE"},
		{"ALTER ROLE comanda_test_app BYPASSRLS", "ALTER ROLE comanda_test_app NOBYPASSRLS", "BYPASSRLS"},
		{"ALTER ROLE comanda_test_app REPLICATION", "ALTER ROLE comanda_test_app NOREPLICATION", "REPLICATION"},
		{"ALTER ROLE comanda_app BYPASSRLS", "ALTER ROLE comanda_app NOBYPASSRLS", `"comanda_app" can bypass`},
		{"ALTER ROLE comanda_system SUPERUSER", "ALTER ROLE comanda_system NOSUPERUSER",
			`"comanda_system" is a superuser`},
		{"ALTER ROLE comanda_app CREATEROLE", "ALTER ROLE comanda_app NOCREATEROLE", `"comanda_app" can create`},
		{"GRANT pg_read_all_data TO comanda_test_app", "REVOKE pg_read_all_data FROM comanda_test_app",
			`"pg_read_all_data"`},
		{"GRANT pg_write_server_files TO comanda_app", "REVOKE pg_write_server_files FROM comanda_app",
			`"pg_write_server_files"`},
		{"GRANT pg_execute_server_program TO comanda_system", "REVOKE pg_execute_server_program FROM comanda_system",
			`"pg_execute_server_program"`},
		{"GRANT waiters TO comanda_test_app", "REVOKE waiters FROM comanda_test_app", `"waiters"`},
		{"GRANT chefs TO comanda_app", "REVOKE chefs FROM comanda_app", `member of "chefs"`},
		{"ALTER TABLE orders OWNER TO comanda_test_app", "ALTER TABLE orders OWNER TO CURRENT_USER", "owns tables"},
		{"GRANT comanda_system TO comanda_test_app", "REVOKE comanda_system FROM comanda_test_app",
			separation + "comanda_test_app"},
		{"GRANT comanda_system TO comanda_app", "REVOKE comanda_system FROM comanda_app", separation + "comanda_app"},
		{"ALTER ROLE comanda_test_system BYPASSRLS", "ALTER ROLE comanda_test_system NOBYPASSRLS",
			`"comanda_test_system" can bypass`},
		{"GRANT pg_read_all_data TO comanda_test_system", "REVOKE pg_read_all_data FROM comanda_test_system",
			`"comanda_test_system" is a member of "pg_read_all_data"`},
		{"ALTER TABLE orders OWNER TO comanda_test_system", "ALTER TABLE orders OWNER TO CURRENT_USER", "owns tables"},
		{"ALTER TABLE orders OWNER TO comanda_app", "ALTER TABLE orders OWNER TO CURRENT_USER", "owns tables"},
	} {
		exec(test.right)
		if err := db.CheckRole(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("CheckRole after %s: got error %v, want one with %s", test.right, err, test.want)
		}
		exec(test.withdrawal)
		must(t, db.CheckRole(t.Context()))
	}
}

// A process whose login is refused is not ready, although the other login works. Connections that are all in use do not
// end the readiness.
func TestPingChecksBothLogins(t *testing.T) {
	t.Parallel()
	database := persistencetest.NewLogged(t, io.Discard) // roles belong to the server, which other tests share
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(context.Background())
	for name, pools := range map[string][]pg.Pool{
		"serve": pg.ServePools(pg.MinConns), "worker": pg.WorkerPools(pg.MinConns), "command": nil,
	} {
		for login, variable := range map[string]string{
			"comanda_test_app": "DATABASE_URL", "comanda_test_system": "COMANDA_SYSTEM_DATABASE_URL",
		} {
			db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL, Pools: pools})
			must(t, err)
			defer db.Close()
			_, err = owner.Exec(t.Context(), "ALTER ROLE "+login+" NOLOGIN")
			must(t, err)
			if err := db.Ping(t.Context()); err == nil || !strings.HasPrefix(err.Error(), variable+": ") {
				t.Errorf("%s without the login %s: got error %v, want one of %s", name, login, err, variable)
			}
			_, err = owner.Exec(t.Context(), "ALTER ROLE "+login+" LOGIN")
			must(t, err)
			must(t, db.Ping(t.Context()))
		}
	}
	db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1})
	must(t, err)
	defer db.Close()
	busy, err := db.App().Conn(t.Context())
	must(t, err)
	defer busy.Close()
	must(t, db.Ping(t.Context()))
}
