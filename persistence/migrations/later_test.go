package migrations_test

import (
	"context"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// firstEdition is the newest migration of release 1.0.0. The rule for later migrations applies to the files after it.
const firstEdition = "010"

// Later migrations run while the previous release serves requests, and the tables are large. None may read, rewrite or
// index a whole table while it blocks writes to the table.
func TestLaterMigrationsBlockNoWrites(t *testing.T) {
	t.Parallel()
	db := trialOf(t, ownedDatabase(t))
	_, err := db.Exec(t.Context(), "CREATE TABLE bun_migrations (id bigint)")
	must(t, err)
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Files, name)
		must(t, err)
		problems := db.apply(name, string(text), "COMMIT")
		if number, _, _ := strings.Cut(name, "_"); number > firstEdition {
			for _, problem := range problems {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// existing are tables that the migrations of the following tests did not create.
const existing = `
	CREATE TABLE dishes (id text PRIMARY KEY, store_id text, name text, price bigint NOT NULL);
	CREATE INDEX dishes_by_price ON dishes (price);
	CREATE UNIQUE INDEX dishes_by_name ON dishes (name);
	CREATE TABLE checked (name text, store_id text REFERENCES stores, CHECK (name IS NOT NULL));
	ALTER TABLE dishes ADD CONSTRAINT named CHECK (name IS NOT NULL) NOT VALID,
		ADD CONSTRAINT of_store FOREIGN KEY (store_id) REFERENCES stores NOT VALID;
	CREATE TABLE parted (id text) PARTITION BY RANGE (id);
	CREATE TABLE part PARTITION OF parted FOR VALUES FROM ('a') TO ('b')`

// The rule accepts and refuses these migrations.
func TestRuleForLaterMigrations(t *testing.T) {
	t.Parallel()
	db := trialOf(t, persistencetest.New(t).OwnerURL)
	db.exec(existing)
	for _, text := range []string{
		"ALTER TABLE dishes ADD COLUMN tax bigint NOT NULL DEFAULT 0",
		"ALTER TABLE dishes ADD COLUMN seen_at timestamptz NOT NULL DEFAULT now()",
		"ALTER TABLE dishes ADD COLUMN parent_id text REFERENCES dishes",
		"ALTER TABLE dishes DROP COLUMN name",
		"ALTER TABLE dishes ALTER COLUMN name SET DEFAULT ''",
		"ALTER TABLE dishes ADD CHECK (price > 0) NOT VALID",
		"ALTER TABLE dishes ADD FOREIGN KEY (name) REFERENCES stores NOT VALID",
		"ALTER TABLE dishes VALIDATE CONSTRAINT named",
		"ALTER TABLE dishes VALIDATE CONSTRAINT of_store",
		"ALTER TABLE dishes ADD UNIQUE USING INDEX dishes_by_name",
		"ALTER TABLE checked ALTER COLUMN name SET NOT NULL",
		"CREATE INDEX parted_by_id ON ONLY parted (id); ALTER TABLE parted ADD COLUMN name text",
		"CREATE TABLE tips (id text PRIMARY KEY, dish_id text REFERENCES dishes);" +
			"CREATE INDEX tips_of_dish ON tips (dish_id); ALTER TABLE tips ADD CHECK (id <> ''), ALTER id TYPE varchar(40)",
	} {
		if problems := db.apply("20990101_good.tx.up.sql", text, "ROLLBACK"); len(problems) > 0 {
			t.Errorf("%s\ngot refused: %s", text, strings.Join(problems, ", "))
		}
	}
	for _, test := range []struct{ text, want string }{
		{"CREATE INDEX a ON dishes (name)", `building index "a" on table "dishes"`},
		{"CREATE INDEX a ON parted (id)", `on table "part"`},
		{"REINDEX TABLE dishes", `on table "dishes"`},
		{"ALTER TABLE dishes ADD COLUMN token uuid DEFAULT gen_random_uuid()", `rewriting table "dishes"`},
		{"ALTER TABLE dishes ADD COLUMN place bigserial", `rewriting table "dishes"`},
		{"ALTER TABLE dishes ADD COLUMN a text GENERATED ALWAYS AS (name) STORED", `rewriting table "dishes"`},
		{"ALTER TABLE dishes ALTER COLUMN price TYPE numeric", `rewriting table "dishes"`},
		{"ALTER TABLE dishes SET UNLOGGED", `rewriting table "dishes"`},
		{"DO $$ BEGIN EXECUTE 'ALTER TABLE dishes ALTER id TYPE varchar(9)'; END $$", `rewriting table "dishes"`},
		{"CLUSTER dishes USING dishes_by_price", `on table "dishes"`},
		{"ALTER TABLE dishes ADD COLUMN code text UNIQUE", `on table "dishes"`},
		{"ALTER TABLE dishes ADD UNIQUE (name)", `on table "dishes"`},
		{"ALTER TABLE dishes ADD EXCLUDE (name WITH =)", `on table "dishes"`},
		{"ALTER TABLE dishes ADD CHECK (price > 0)", `verifying table "dishes"`},
		{"ALTER TABLE dishes ADD CONSTRAINT a CHECK (price > 0) NOT VALID; ALTER TABLE dishes VALIDATE CONSTRAINT a",
			`verifying table "dishes"`},
		{"ALTER TABLE dishes ADD CONSTRAINT a FOREIGN KEY (name) REFERENCES stores",
			`validating foreign key constraint "a" blocks writes to dishes`},
		{"ALTER TABLE dishes ALTER COLUMN store_id SET NOT NULL", `verifying table "dishes"`},
		{"ALTER TABLE dishes ALTER COLUMN name SET NOT NULL", `verifying table "dishes"`}, // its check is not valid yet
	} {
		problems := strings.Join(db.apply("20990101_bad.tx.up.sql", test.text, "ROLLBACK"), ", ")
		if !strings.Contains(problems, test.want) {
			t.Errorf("%s\ngot problems %q, want %s", test.text, problems, test.want)
		}
	}
}

// Outside of a transaction, a statement must not block writes either, and must be repeatable.
func TestRuleForLaterMigrationsWithoutTransaction(t *testing.T) {
	t.Parallel()
	db := trialOf(t, persistencetest.New(t).OwnerURL)
	db.exec(existing)
	good := "-- A repeated migration drops the rest of an interrupted build.\n" +
		"DROP INDEX CONCURRENTLY IF EXISTS a;\n--bun:split\n" +
		"CREATE INDEX CONCURRENTLY a ON dishes (name);\n--bun:split\n" +
		"ALTER TABLE dishes VALIDATE CONSTRAINT named;\n"
	if problems := db.apply("20990101_good.up.sql", good, ""); len(problems) > 0 {
		t.Errorf("%s\ngot refused: %s", good, strings.Join(problems, ", "))
	}
	for _, test := range []struct{ text, want string }{
		{"CREATE INDEX b ON dishes (name)", "is not one statement"},
		{"ALTER TABLE dishes ADD COLUMN IF NOT EXISTS a text", "is not one statement"},
		{"DROP INDEX IF EXISTS dishes_by_price", "is not one statement"},
		{"DROP INDEX CONCURRENTLY IF EXISTS dishes_by_price; DROP INDEX dishes_by_name", "is not one statement"},
		{"CREATE INDEX CONCURRENTLY b ON dishes (name)", "cannot be repeated"},
	} {
		problems := strings.Join(db.apply("20990101_bad.up.sql", test.text, ""), ", ")
		if !strings.Contains(problems, test.want) {
			t.Errorf("%s\ngot problems %q, want %s", test.text, problems, test.want)
		}
	}
}

// trial applies migrations to a database and finds those that block writes for long. PostgreSQL itself reports each
// read, rewrite and index build of a whole table, at the level DEBUG1, so no statement needs to be parsed.
type trial struct {
	*testing.T
	*pgx.Conn
	reports *[]string
}

func trialOf(t *testing.T, address string) trial {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	must(t, err)
	var reports []string
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { reports = append(reports, notice.Message) }
	config.RuntimeParams["client_min_messages"] = "debug1"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return trial{t, conn, &reports}
}

func (r trial) exec(statement string) {
	r.Helper()
	if _, err := r.Exec(r.Context(), statement); err != nil {
		r.Fatalf("%s: %v", statement, err)
	}
}

// apply applies a migration and returns its violations of the rules. end is COMMIT or ROLLBACK.
func (r trial) apply(name, text, end string) (problems []string) {
	r.Helper()
	if !strings.HasSuffix(name, ".tx.up.sql") {
		return r.applyStatements(text)
	}
	tables := list(r.T, r.Conn, `SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`)
	*r.reports = nil
	r.exec("BEGIN")
	r.exec(text)
	reports := *r.reports
	blocked := list(r.T, r.Conn, `SELECT DISTINCT relation::regclass::text FROM pg_locks WHERE pid = pg_backend_pid()
		AND relation IS NOT NULL AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`)
	for _, report := range reports {
		table := r.tableOf(report)
		if !slices.Contains(tables, table) || !slices.Contains(blocked, table) {
			continue
		}
		problems = append(problems, report+" blocks writes to "+table)
	}
	r.exec(end)
	return problems
}

// wholeTable matches the reports of work on a whole table.
var wholeTable = regexp.MustCompile(
	`^(?:(?:rewriting|verifying|building index "\w+" on) table|(validating foreign key constraint)) "(\w+)"`)

// tableOf returns the table of a report, or "".
func (r trial) tableOf(report string) string {
	found := wholeTable.FindStringSubmatch(report)
	switch {
	case found == nil:
		return ""
	case found[1] == "":
		return found[2]
	}
	var table string
	must(r.T, r.QueryRow(r.Context(), "SELECT conrelid::regclass::text FROM pg_constraint WHERE conname = $1", found[2]).
		Scan(&table))
	return table
}

var (
	sqlComment = regexp.MustCompile(`(?m)--.*$`)
	// unblocking matches the statements that are allowed outside of a transaction.
	unblocking = regexp.MustCompile(`^(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY|DROP INDEX CONCURRENTLY IF EXISTS|` +
		`REINDEX (?:INDEX|TABLE) CONCURRENTLY|ALTER TABLE \w+ VALIDATE CONSTRAINT) [^;]*;?$`)
)

// applyStatements is apply for a migration without a transaction, which may end after each statement. It applies the
// statements twice.
func (r trial) applyStatements(text string) (problems []string) {
	r.Helper()
	statements := strings.Split(text, "--bun:split\n")
	for i, statement := range statements {
		statements[i] = strings.TrimSpace(sqlComment.ReplaceAllString(statement, ""))
		if !unblocking.MatchString(statements[i]) {
			problems = append(problems, statements[i]+" is not one statement that builds or drops an index CONCURRENTLY, or "+
				"validates a constraint; separate statements with --bun:split")
		}
	}
	if len(problems) > 0 {
		return problems
	}
	for _, statement := range statements {
		r.exec(statement)
	}
	for _, statement := range statements {
		if _, err := r.Exec(r.Context(), statement); err != nil {
			problems = append(problems, statement+" cannot be repeated: "+err.Error())
		}
	}
	return problems
}
