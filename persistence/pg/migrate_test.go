package pg_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var must = persistencetest.Must

func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	migrate := func(direction pg.Direction) string {
		t.Helper()
		var out bytes.Buffer
		must(t, pg.Migrate(t.Context(), db.OwnerURL, direction, &out))
		return out.String()
	}
	must(t, db.CheckSchema(t.Context()))
	if out := migrate(pg.Up); out != "nothing to do\n" {
		t.Errorf("up on a new database: %q", out)
	}
	for range 2 {
		migrate(pg.Down)
		if out := migrate(pg.Status); !strings.Contains(out, "missing") || strings.Contains(out, "applied") {
			t.Errorf("status after down:\n%s", out)
		}
		if err := db.CheckSchema(t.Context()); !errors.Is(err, pg.ErrOldSchema) {
			t.Errorf("schema check after down: %v", err)
		}
		if n := persistencetest.Count(t, db, `SELECT count(*) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'bun_%'`); n != 0 {
			t.Errorf("%d tables are left after down", n)
		}
		migrate(pg.Up)
		if out := migrate(pg.Status); strings.Contains(out, "missing") {
			t.Errorf("status after up:\n%s", out)
		}
	}
	must(t, db.CheckSchema(t.Context()))
	persistencetest.Open(t, db, "one.example")
}

func TestPrivilegedRolesAreRefused(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	must(t, db.CheckRole(t.Context()))
	owner, err := pg.Open(pg.Config{URL: db.OwnerURL})
	must(t, err)
	defer owner.Close()
	if err := owner.CheckRole(t.Context()); err == nil || !strings.Contains(err.Error(), "superuser") {
		t.Errorf("a superuser: %v", err)
	}
}
