package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"github.com/comanda-dev/comanda/persistence/migrations"
)

// Direction is the operation of [Migrate].
type Direction string

const (
	Up     Direction = "up"     // apply all missing migrations
	Down   Direction = "down"   // revert the newest group
	Status Direction = "status" // list the migrations
)

// Directions are all directions.
var Directions = [...]Direction{Up, Down, Status}

// migrationLock is the advisory lock that prevents concurrent migrations of one database. It ends with
// its connection, so that a killed process leaves no lock.
const migrationLock = 0x636f6d616e6461

// Migrate changes the schema, or lists the migrations, as the role that owns the schema. Each
// migration runs in a separate transaction. It writes its results to out.
func Migrate(ctx context.Context, ownerURL string, direction Direction, out io.Writer) error {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return err
	}
	pool := stdlib.OpenDB(*config)
	defer pool.Close()
	pool.SetMaxOpenConns(2) // one for the lock, one for the migrations
	db := bun.NewDB(pool, pgdialect.New())

	lock, err := db.Conn(ctx)
	if err != nil {
		return Classify(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(ctx, "SELECT pg_advisory_lock(?)", migrationLock); err != nil {
		return err
	}
	migrator, err := newMigrator(db)
	if err != nil {
		return err
	}
	if err := migrator.Init(ctx); err != nil {
		return err
	}
	switch direction {
	case Up:
		group, err := migrator.Migrate(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", group, err)
		}
		report(out, "applied", group)
	case Down:
		group, err := migrator.Rollback(ctx)
		if err != nil {
			return err
		}
		report(out, "reverted", group)
	case Status:
		all, err := migrator.MigrationsWithStatus(ctx)
		if err != nil {
			return err
		}
		for _, m := range all {
			state := "applied " + m.MigratedAt.UTC().Format("2006-01-02 15:04:05Z")
			if !m.IsApplied() {
				state = "missing"
			}
			fmt.Fprintf(out, "%s_%s  %s\n", m.Name, m.Comment, state)
		}
	default:
		return fmt.Errorf("unknown direction %q", direction)
	}
	return nil
}

func report(out io.Writer, verb string, group *migrate.MigrationGroup) {
	if group.IsZero() {
		fmt.Fprintln(out, "nothing to do")
		return
	}
	for _, m := range group.Migrations {
		fmt.Fprintf(out, "%s_%s  %s\n", m.Name, m.Comment, verb)
	}
}

func newMigrator(db *bun.DB) (*migrate.Migrator, error) {
	all := migrate.NewMigrations()
	if err := all.Discover(migrations.Files); err != nil {
		return nil, err
	}
	return migrate.NewMigrator(db, all, migrate.WithMarkAppliedOnSuccess(true)), nil
}

// ErrOldSchema means that the database lacks migrations that this program needs.
var ErrOldSchema = errors.New("the database schema is older than this program; run `comanda migrate up`")

// CheckSchema returns ErrOldSchema unless every migration is applied. It accepts a newer schema,
// because a migration keeps the tables and columns that the previous version needs.
func (db *DB) CheckSchema(ctx context.Context) error {
	migrator, err := newMigrator(db.System())
	if err != nil {
		return err
	}
	var exists sql.NullString
	if err := db.System().QueryRowContext(ctx, "SELECT to_regclass('bun_migrations')::text").Scan(&exists); err != nil {
		return Classify(err)
	}
	if !exists.Valid {
		return ErrOldSchema
	}
	missing, err := migrator.MigrationsWithStatus(ctx)
	if hasState(err, stateInsufficientPrivilege) { // the first migration grants it
		return ErrOldSchema
	}
	if err != nil {
		return Classify(err)
	}
	if len(missing.Unapplied()) > 0 {
		return ErrOldSchema
	}
	return nil
}
