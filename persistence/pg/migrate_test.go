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

func TestMigrateDownAndUp(t *testing.T) {
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
		t.Errorf("output of up on a migrated database: got %q, want %q", out, "nothing to do\n")
	}
	for range 2 {
		migrate(pg.Down)
		if out := migrate(pg.Status); !strings.Contains(out, "missing") || strings.Contains(out, "applied") {
			t.Errorf("status after down: got\n%s\nwant only missing migrations", out)
		}
		if err := db.CheckSchema(t.Context()); !errors.Is(err, pg.ErrOldSchema) {
			t.Errorf("CheckSchema after down: got error %v, want %v", err, pg.ErrOldSchema)
		}
		if n := persistencetest.Count(t, db, `SELECT count(*) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'bun_%'`); n != 0 {
			t.Errorf("tables after down: got %d, want 0", n)
		}
		migrate(pg.Up)
		if out := migrate(pg.Status); strings.Contains(out, "missing") {
			t.Errorf("status after up: got\n%s\nwant no missing migrations", out)
		}
	}
	must(t, db.CheckSchema(t.Context()))
	persistencetest.Open(t, db, "one.example")
}
