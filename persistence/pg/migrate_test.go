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
	"testing/fstest"
	"time"

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
	const stores = "  stores: table (about " // the statistics of other sessions may be added later
	for _, want := range []string{stores, "  orders: table (no rows, ", "--delete-data"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want one that contains %q", err, want)
		}
	}
	must(t, db.CheckSchema(t.Context()))
	var out bytes.Buffer
	must(t, pg.Revert(t.Context(), db.OwnerURL, true, &out))
	if !strings.Contains(out.String(), stores) {
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
		deleted := slices.DeleteFunc(before, func(column string) bool { return slices.Contains(after, column) })
		for i, column := range deleted {
			table, column, _ := strings.Cut(column, ".")
			deleted[i] = table + ": column " + column
			if !slices.ContainsFunc(after, func(left string) bool { return strings.HasPrefix(left, table+".") }) {
				deleted[i] = table + ": table"
			}
		}
		slices.Sort(deleted)
		if diff := cmp.Diff(slices.Compact(deleted), pg.DeletionsOf(string(text)), cmpopts.EquateEmpty()); diff != "" {
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

// withMigration returns the migrations and a further one.
func withMigration(t *testing.T, name, up string) fs.FS {
	t.Helper()
	all := fstest.MapFS{
		"20990101_next" + name + ".up.sql":   {Data: []byte(up)},
		"20990101_next" + name + ".down.sql": {Data: []byte("SELECT;")},
	}
	names, err := fs.Glob(migrations.Files, "*.sql")
	must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Files, name)
		must(t, err)
		all[name] = &fstest.MapFile{Data: text}
	}
	return all
}

// lines receives the lines of an output.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// reader is a transaction that has read a table and stays open, as that of pg_dump.
func reader(t *testing.T, db *persistencetest.Database, table string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, db).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	_, err = tx.Exec(t.Context(), "SET LOCAL application_name = 'slow reader'; SELECT count(*) FROM "+table)
	must(t, err)
	return tx
}

// While a migration waits for a table that a transaction reads, other requests use the table. The migration says what
// it waits for, and ends when the reader has ended.
func TestMigrationWaitsWithoutBlockingRequests(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	slow := reader(t, db, "orders")
	out, end := make(lines, 100), make(chan error, 1)
	files := withMigration(t, ".tx", "ALTER TABLE orders ADD COLUMN tried_minor bigint")
	go func() { end <- pg.MigrateFiles(context.Background(), db.OwnerURL, files, time.Hour, out) }()
	if line := <-out; !strings.HasPrefix(line, "20990101_next  waiting for process ") ||
		!strings.Contains(line, "slow reader), which uses orders\n") {
		t.Errorf("first line: got %q, want the process that reads orders", line)
	}
	other := connect(t, db)
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := other.Exec(ctx, "SELECT FROM orders")
		must(t, err)
		cancel()
	}
	select {
	case err := <-end:
		t.Fatalf("the migration ended with error %v while the table was in use", err)
	default:
	}
	must(t, slow.Rollback(t.Context()))
	must(t, <-end)
	if _, err := other.Exec(t.Context(), "SELECT tried_minor FROM orders"); err != nil {
		t.Error("after the migration:", err)
	}
}

// A migration that gets no lock in its time gives up and names the cause. The next one applies it.
func TestMigrationGivesUp(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	slow := reader(t, db, "orders")
	files := withMigration(t, ".tx", "ALTER TABLE orders ADD COLUMN tried_minor bigint")
	err := pg.MigrateFiles(t.Context(), db.OwnerURL, files, 0, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "gave up") || !strings.Contains(err.Error(), "which uses orders") {
		t.Errorf("got error %v, want one that names the table", err)
	}
	must(t, slow.Rollback(t.Context()))
	must(t, pg.MigrateFiles(t.Context(), db.OwnerURL, files, 0, io.Discard))
}

// CREATE INDEX CONCURRENTLY waits for writers, and then for all older transactions. A second process that migrates must
// not be one of them.
func TestConcurrentMigrationsBuildIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	slow := reader(t, db, "orders")
	_, err := slow.Exec(t.Context(), "LOCK TABLE orders IN ROW EXCLUSIVE MODE")
	must(t, err)
	files := withMigration(t, "", "CREATE INDEX CONCURRENTLY orders_tried ON orders (note)")
	out, end := make(lines, 100), make(chan error, 2)
	migrate := func() { end <- pg.MigrateFiles(context.Background(), db.OwnerURL, files, 0, out) }
	go migrate()
	if line := <-out; !strings.Contains(line, "slow reader)") {
		t.Errorf("first line: got %q, want the reader", line)
	}
	go migrate()
	if line := <-out; line != "waiting for another process that migrates this database\n" {
		t.Errorf("line of the second process: got %q", line)
	}
	must(t, slow.Rollback(t.Context()))
	must(t, <-end)
	must(t, <-end)
	var valid bool
	must(t, connect(t, db).QueryRow(t.Context(),
		"SELECT indisvalid FROM pg_index WHERE indexrelid = 'orders_tried'::regclass").Scan(&valid))
	if !valid {
		t.Error("the index is not valid")
	}
}
