package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"github.com/comanda-dev/comanda/persistence/migrations"
)

var (
	// ErrOldSchema means that the database lacks migrations that this program needs.
	ErrOldSchema = errors.New("the database schema is older than this program; run `comanda migrate up`")
	// ErrOtherSchema means that the database has migrations that this program does not have.
	ErrOtherSchema = errors.New("another version of Comanda created this database, with migrations that this version " +
		"does not have; use that version, or an empty database")
)

// migrationSet changes the schema of databases with the migrations of a folder.
type migrationSet struct {
	files fs.FS
	waits waits
}

// released are the migrations of this program.
var released = migrationSet{migrations.Files, waits{lockTimeout, lockPause, lockLimit}}

// Migrate applies all missing migrations, as the role that owns the schema, and writes their names to
// out, and what they wait for. It returns ErrOtherSchema if the database has unknown migrations, too.
func Migrate(ctx context.Context, ownerURL string, out io.Writer) error {
	return released.up(ctx, ownerURL, out)
}

// Revert reverts the migrations of the last call of [Migrate] that applied any. Without deleteData it
// changes nothing and returns an error that lists the data that it would delete; with it, the list goes
// to out.
func Revert(ctx context.Context, ownerURL string, deleteData bool, out io.Writer) error {
	return released.down(ctx, ownerURL, deleteData, out)
}

// ListMigrations writes the migrations and their states to out. It does not wait for a running migration.
func ListMigrations(ctx context.Context, ownerURL string, out io.Writer) error {
	return released.list(ctx, ownerURL, out)
}

func (s migrationSet) up(ctx context.Context, ownerURL string, out io.Writer) error {
	return s.change(ctx, ownerURL, out, func(m *migrator) error {
		if err := checkMigrations(ctx, m.Migrator); err != nil && !errors.Is(err, ErrOldSchema) {
			return err
		}
		group, err := m.Migrate(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", group, err)
		}
		m.report("applied", group)
		return nil
	})
}

func (s migrationSet) down(ctx context.Context, ownerURL string, deleteData bool, out io.Writer) error {
	return s.change(ctx, ownerURL, out, func(m *migrator) error {
		unknown, err := m.MissingMigrations(ctx)
		if err != nil {
			return err
		}
		if len(unknown) > 0 { // only their version can revert them, and they come before the known ones
			return fmt.Errorf("%w (%s)", ErrOtherSchema, unknown)
		}
		all, err := m.MigrationsWithStatus(ctx)
		if err != nil {
			return err
		}
		last := all.LastGroup()
		lost, err := m.deletions(ctx, s.files, last.Migrations)
		switch {
		case err != nil:
			return err
		case lost != "" && !deleteData:
			return fmt.Errorf("reverting %s would delete:\n%sto delete this data, add --delete-data",
				last.Migrations, lost)
		case lost != "":
			fmt.Fprintf(out, "deleting:\n%s", lost)
		}
		if last, err = m.Rollback(ctx); err != nil {
			return err
		}
		m.report("reverted", last)
		return nil
	})
}

func (s migrationSet) list(ctx context.Context, ownerURL string, out io.Writer) error {
	m, err := s.open(ownerURL, out)
	if err != nil {
		return err
	}
	defer m.db.Close()
	all := m.files.Sorted()
	var unknown migrate.MigrationSlice
	exists, err := hasMigrations(ctx, m.db)
	if err == nil && exists {
		all, err = m.MigrationsWithStatus(ctx)
	}
	if err == nil && exists {
		unknown, err = m.MissingMigrations(ctx)
	}
	if err != nil {
		return Classify(err)
	}
	for _, migration := range all {
		state := "applied " + migration.MigratedAt.UTC().Format("2006-01-02 15:04:05Z")
		if !migration.IsApplied() {
			state = "missing"
		}
		fmt.Fprintf(out, "%s  %s\n", migration, state)
	}
	for _, migration := range unknown {
		fmt.Fprintf(out, "%s  applied by another version of Comanda\n", migration.Name)
	}
	return nil
}

// migrator reads and changes the schema of one database.
type migrator struct {
	*migrate.Migrator
	db    *bun.DB
	files *migrate.Migrations
	out   io.Writer
	waits waits

	blocker string // last cause of a wait of the running migration
	unwatch func() // ends watch
}

func (s migrationSet) open(ownerURL string, out io.Writer) (*migrator, error) {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return nil, err
	}
	files, err := discover(s.files)
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(3) // one for the advisory lock, one for the migrations, one to watch them
	m := &migrator{db: bun.NewDB(pool, pgdialect.New()), files: files, out: out, waits: s.waits, unwatch: func() {}}
	repeated := migrate.NewMigrations()
	for _, migration := range files.Sorted() {
		migration.Up, migration.Down = m.repeat(migration.Up), m.repeat(migration.Down)
		repeated.Add(migration)
	}
	m.Migrator = migrate.NewMigrator(m.db, repeated, migrate.WithMarkAppliedOnSuccess(true),
		migrate.BeforeMigration(m.before))
	return m, nil
}

// change calls a function with a migrator while no other process changes the schema.
func (s migrationSet) change(ctx context.Context, ownerURL string, out io.Writer, call func(*migrator) error) error {
	m, err := s.open(ownerURL, out)
	if err != nil {
		return err
	}
	defer m.db.Close()
	lock, err := m.db.Conn(ctx)
	if err != nil {
		return Classify(err)
	}
	defer lock.Close()
	if err := m.takeLock(ctx, lock); err != nil {
		return Classify(err)
	}
	// The end of the connection releases the lock too, but later than it closes.
	defer func() {
		_, _ = lock.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(?)", migrationLock)
	}()
	if err := m.Init(ctx); err != nil {
		return err
	}
	return call(m)
}

func (m *migrator) report(verb string, group *migrate.MigrationGroup) {
	if group.IsZero() {
		fmt.Fprintln(m.out, "nothing to do")
		return
	}
	for _, migration := range group.Migrations {
		fmt.Fprintf(m.out, "%s  %s\n", migration, verb)
	}
}

// CheckSchema returns ErrOldSchema or ErrOtherSchema unless every migration is applied. It accepts a
// newer schema, because a migration keeps the tables and columns that the previous version needs.
func (db *DB) CheckSchema(ctx context.Context) error {
	files, err := discover(migrations.Files)
	if err != nil {
		return err
	}
	exists, err := hasMigrations(ctx, db.System())
	switch {
	case err != nil:
		return Classify(err)
	case !exists:
		return ErrOldSchema
	}
	err = checkMigrations(ctx, migrate.NewMigrator(db.System(), files))
	if hasState(err, stateInsufficientPrivilege) { // the first migration grants it
		return ErrOldSchema
	}
	return Classify(err)
}

// checkMigrations returns ErrOldSchema if migrations are missing, and ErrOtherSchema if others are unknown, too.
func checkMigrations(ctx context.Context, m *migrate.Migrator) error {
	all, err := m.MigrationsWithStatus(ctx)
	if err != nil || len(all.Unapplied()) == 0 {
		return err
	}
	unknown, err := m.MissingMigrations(ctx)
	switch {
	case err != nil:
		return err
	case len(unknown) > 0:
		return fmt.Errorf("%w (%s)", ErrOtherSchema, unknown)
	}
	return ErrOldSchema
}

func discover(files fs.FS) (*migrate.Migrations, error) {
	all := migrate.NewMigrations()
	return all, all.Discover(files)
}

// hasMigrations reports whether the database has the table that lists the applied migrations.
func hasMigrations(ctx context.Context, db *bun.DB) (exists bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT to_regclass('bun_migrations') IS NOT NULL").Scan(&exists)
	return exists, err
}
