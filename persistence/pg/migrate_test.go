package pg_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var must = persistencetest.Must

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	output := func(call func(out io.Writer) error) string {
		t.Helper()
		var out bytes.Buffer
		must(t, call(&out))
		return out.String()
	}
	migrate := func() string {
		return output(func(out io.Writer) error { return pg.Migrate(t.Context(), db.OwnerURL, out) })
	}
	revert := func() string {
		return output(func(out io.Writer) error { return pg.Revert(t.Context(), db.OwnerURL, true, out) })
	}
	status := func() string {
		return output(func(out io.Writer) error { return pg.ListMigrations(t.Context(), db.OwnerURL, out) })
	}
	must(t, db.CheckSchema(t.Context()))
	if out := migrate(); out != "nothing to do\n" {
		t.Errorf("output of up on a migrated database: got %q, want %q", out, "nothing to do\n")
	}
	for range 2 {
		revert()
		if out := revert(); out != "nothing to do\n" {
			t.Errorf("output of down on an empty database: got %q, want %q", out, "nothing to do\n")
		}
		if out := status(); !strings.Contains(out, "missing") || strings.Contains(out, "applied") {
			t.Errorf("status after down: got\n%s\nwant only missing migrations", out)
		}
		if err := db.CheckSchema(t.Context()); !errors.Is(err, pg.ErrOldSchema) {
			t.Errorf("CheckSchema after down: got error %v, want %v", err, pg.ErrOldSchema)
		}
		if n := persistencetest.Count(t, db, `SELECT count(*) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'bun_%'`); n != 0 {
			t.Errorf("tables after down: got %d, want 0", n)
		}
		migrate()
		if out := status(); strings.Contains(out, "missing") {
			t.Errorf("status after up: got\n%s\nwant no missing migrations", out)
		}
	}
	must(t, db.CheckSchema(t.Context()))
	persistencetest.Open(t, db, "one.example")
}

// Without deleteData, Revert lists the data and deletes nothing. With it, the output contains the same list.
func TestRevertListsDataToDelete(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	persistencetest.Open(t, db, "one.example")
	owner := connect(t, db)
	_, err := owner.Exec(t.Context(), "ANALYZE stores")
	must(t, err)
	err = pg.Revert(t.Context(), db.OwnerURL, false, io.Discard)
	if err == nil {
		t.Fatal("got no error, want a list of the data")
	}
	for _, want := range []string{"  stores: table (about 2 rows, ", "  orders: table (no rows, ", "--delete-data"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want one that contains %q", err, want)
		}
	}
	must(t, db.CheckSchema(t.Context()))
	var out bytes.Buffer
	must(t, pg.Revert(t.Context(), db.OwnerURL, true, &out))
	if !strings.Contains(out.String(), "  stores: table (about 2 rows, ") {
		t.Errorf("output: got %q, want the list of the data", &out)
	}
}

// The list of the data that a migration deletes is complete: it is read from the text of the migration, and the test
// applies the migration.
func TestDeletionsMatchTheMigrations(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	owner := connect(t, db)
	columns := func() []string {
		rows, err := owner.Query(t.Context(), `SELECT format('%s.%s', attrelid::regclass, attname) FROM pg_attribute
			JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
				AND attnum > 0 AND NOT attisdropped`)
		must(t, err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		return all
	}
	names, err := fs.Glob(migrations.Files, "*.down.sql")
	must(t, err)
	slices.Reverse(names)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Files, name)
		must(t, err)
		before := columns()
		for statement := range strings.SplitSeq(string(text), "--bun:split\n") {
			_, err = owner.Exec(t.Context(), statement)
			must(t, err)
		}
		after := columns()
		gone := slices.DeleteFunc(before, func(column string) bool { return slices.Contains(after, column) })
		for i, column := range gone {
			table, column, _ := strings.Cut(column, ".")
			gone[i] = table + ": column " + column
			if !slices.ContainsFunc(after, func(left string) bool { return strings.HasPrefix(left, table+".") }) {
				gone[i] = table + ": table"
			}
		}
		slices.Sort(gone)
		if diff := cmp.Diff(slices.Compact(gone), pg.DeletionsOf(string(text)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("deletions of %s (-effect +list):\n%s", name, diff)
		}
	}
	got := pg.DeletionsOf("DROP TABLE IF EXISTS b,\n    a CASCADE;\nALTER TABLE c ALTER x SET NOT NULL,\n" +
		"    DROP COLUMN y, DROP COLUMN IF EXISTS z;\nDELETE FROM d WHERE e;\nTRUNCATE f;\n-- DROP TABLE g\n")
	want := []string{"a: table", "b: table", "c: column y", "c: column z", "d: rows", "f: rows"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("deletions (-want +got):", diff)
	}
}

// A database of another version is neither migrated nor used. A newer schema is used, and only its version reverts it.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	owner := connect(t, db)
	_, err := owner.Exec(t.Context(), "INSERT INTO bun_migrations (name, group_id) VALUES ('20990101', 2)")
	must(t, err)
	must(t, db.CheckSchema(t.Context()))
	must(t, pg.Migrate(t.Context(), db.OwnerURL, io.Discard))
	if err := pg.Revert(t.Context(), db.OwnerURL, true, io.Discard); !errors.Is(err, pg.ErrOtherSchema) {
		t.Errorf("Revert of a newer schema: got error %v, want %v", err, pg.ErrOtherSchema)
	}
	_, err = owner.Exec(t.Context(), "DELETE FROM bun_migrations WHERE name = '001'")
	must(t, err)
	for name, err := range map[string]error{
		"CheckSchema": db.CheckSchema(t.Context()),
		"Migrate":     pg.Migrate(t.Context(), db.OwnerURL, io.Discard),
	} {
		if !errors.Is(err, pg.ErrOtherSchema) || !strings.Contains(err.Error(), "20990101") {
			t.Errorf("%s: got error %v, want %v with the unknown migration", name, err, pg.ErrOtherSchema)
		}
	}
	var out bytes.Buffer
	must(t, pg.ListMigrations(t.Context(), db.OwnerURL, &out))
	for _, want := range []string{"001_roles  missing\n", "20990101  applied by another version of Comanda\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("status: got\n%s\nwant %q", &out, want)
		}
	}
}

// connect connects as the owner.
func connect(t *testing.T, db *persistencetest.Database) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
