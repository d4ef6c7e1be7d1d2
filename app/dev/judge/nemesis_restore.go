package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// owners are the databases of Comanda and of Temporal with their owners.
var (
	comandaDatabases  = map[string]string{"comanda": "comanda_owner"}
	temporalDatabases = map[string]string{"temporal": "temporal", "temporal_visibility": "temporal"}
)

// restoreComanda copies Comanda's database, and later replaces the database by its copy. Temporal keeps the workflows
// of the time between. As docs/production.md#backup prescribes, no process of Comanda runs meanwhile.
func restoreComanda(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	lost := loss{Comanda: true, Begin: time.Now()}
	if err := w.copyDatabases(ctx, comandaDatabases, w.proxiesOfPostgres()); err != nil {
		return "", err
	}
	if err := wait(ctx, lasts); err != nil {
		return "", err
	}
	for _, p := range w.parts {
		if err := p.kill(w); err != nil {
			return "", err
		}
	}
	if err := w.swapDatabases(ctx, comandaDatabases); err != nil {
		return "", err
	}
	return w.lose(ctx, lost)
}

// restoreTemporal copies Temporal's databases, and later replaces the databases by their copies. Comanda keeps running.
func restoreTemporal(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	lost := loss{Temporal: true, Begin: time.Now()}
	if err := w.copyDatabases(ctx, temporalDatabases, []*harness.Proxy{w.storage}); err != nil {
		return "", err
	}
	if err := w.startParts(ctx); err != nil { // Temporal may have ended
		return "", err
	}
	if err := wait(ctx, lasts); err != nil {
		return "", err
	}
	w.infra.Kill()
	if err := w.swapDatabases(ctx, temporalDatabases); err != nil {
		return "", err
	}
	return w.lose(ctx, lost)
}

// emptyTemporal deletes Temporal's databases. Later, Temporal starts with empty ones. Comanda keeps running.
func emptyTemporal(ctx context.Context, w *world, _ *rand.Rand, lasts time.Duration) (string, error) {
	w.infra.Kill()
	var statements []string
	for name := range temporalDatabases {
		statements = append(statements, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name))
	}
	if err := errors.Join(w.administer(ctx, statements...), wait(ctx, lasts)); err != nil {
		return "", err
	}
	return w.lose(ctx, loss{Temporal: true})
}

// lose records a loss that ends now. As an operator does, it ends suspensions of websites whose end is lost.
func (w *world) lose(ctx context.Context, lost loss) (detail string, err error) {
	lost.End = time.Now()
	w.losses = append(w.losses, lost)
	if !lost.Begin.IsZero() {
		detail = fmt.Sprintf("of the last %.1f s", lost.End.Sub(lost.Begin).Seconds())
	}
	if err := w.startPostgres(ctx); err != nil || !lost.Comanda {
		return detail, err
	}
	return detail, ask(ctx, w.postgres, "comanda", `WITH ended AS (
			UPDATE websites SET suspended_at = NULL WHERE suspended_at IS NOT NULL RETURNING id)
		SELECT count(*) FROM ended`, new(int))
}

// copyDatabases copies databases. Their sessions, which pass the proxies, end.
func (w *world) copyDatabases(ctx context.Context, owners map[string]string, proxies []*harness.Proxy) error {
	for _, p := range proxies {
		p.Cut()
		defer p.Mend()
	}
	var statements []string
	for name, owner := range owners {
		statements = append(statements,
			fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", name),
			fmt.Sprintf("DROP DATABASE IF EXISTS %s_copy", name),
			fmt.Sprintf("CREATE DATABASE %[1]s_copy TEMPLATE %[1]s OWNER %s STRATEGY file_copy", name, owner))
	}
	return w.administer(ctx, statements...)
}

// swapDatabases replaces databases by their copies.
func (w *world) swapDatabases(ctx context.Context, owners map[string]string) error {
	var statements []string
	for name := range owners {
		statements = append(statements, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name),
			fmt.Sprintf("ALTER DATABASE %[1]s_copy RENAME TO %[1]s", name))
	}
	return w.administer(ctx, statements...)
}

// administer executes statements as the superuser outside of the databases of Comanda and Temporal.
func (w *world) administer(ctx context.Context, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, w.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// failOver replaces PostgreSQL by an asynchronous standby that lacks the last seconds. Comanda keeps running, and
// Temporal, whose databases lose the same time, starts again.
func failOver(ctx context.Context, w *world, r *rand.Rand, _ time.Duration) (string, error) {
	lost, err := w.replacePostgres(ctx, time.Duration(1+r.IntN(8))*time.Second)
	if err != nil {
		return "", err
	}
	w.infra.Kill()
	return w.lose(ctx, lost)
}

// replacePostgres replaces the files of PostgreSQL by those of a standby that lacks the last seconds. PostgreSQL does
// not run afterwards.
func (w *world) replacePostgres(ctx context.Context, lag time.Duration) (lost loss, err error) {
	stream, err := w.proxy(w.address(postgresPort))
	if err != nil {
		return lost, err
	}
	defer stream.Close()
	standby, err := w.startStandby(ctx, stream)
	if err != nil {
		return lost, err
	}
	lost = loss{Comanda: true, Temporal: true, Begin: time.Now()}
	if err = w.awaitStandby(ctx, standby); err == nil {
		stream.Hold()
		err = wait(ctx, lag)
	}
	if err := errors.Join(err, w.killPostgres(ctx)); err != nil {
		return lost, errors.Join(err, standby.Stop(context.WithoutCancel(ctx)))
	}
	data := filepath.Join(w.cluster(), "data")
	return lost, errors.Join(promote(ctx, standby), os.RemoveAll(data),
		os.Rename(filepath.Join(w.standby(), "data"), data), os.RemoveAll(w.standby()))
}

// cluster and standby are the directories of PostgreSQL and of its standby, on one disk.
func (w *world) cluster() string { return filepath.Join(w.dir, "postgres") }
func (w *world) standby() string { return filepath.Join(w.cluster(), "standby") }

// startStandby starts a standby from a copy of PostgreSQL's files, which are consistent after a shutdown. It streams
// the changes through a proxy.
func (w *world) startStandby(ctx context.Context, stream *harness.Proxy) (*localpg.Server, error) {
	if err := w.stopPostgres(ctx); err != nil {
		return nil, err
	}
	data, password := filepath.Join(w.cluster(), "data"), filepath.Join(w.cluster(), "password")
	if err := errors.Join(os.Mkdir(w.standby(), 0o700), command("cp", "-a", data, password, w.standby())); err != nil {
		return nil, err
	}
	if err := w.startPostgres(ctx); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(w.standby(), "data", "standby.signal"), nil, 0o600); err != nil {
		return nil, err
	}
	o := w.postgresOptions()
	o.Dir, o.Port = w.standby(), 0
	o.Settings["primary_conninfo"] = databaseAt(w.postgres.URL("postgres"), stream.Address)
	return localpg.Start(ctx, o)
}

// awaitStandby waits until a standby has all changes that were committed before the call.
func (w *world) awaitStandby(ctx context.Context, standby *localpg.Server) error {
	var position string
	if err := ask(ctx, w.postgres, "postgres", "SELECT pg_current_wal_lsn()::text", &position); err != nil {
		return err
	}
	for {
		var has bool
		query := fmt.Sprintf("SELECT coalesce(pg_last_wal_receive_lsn() >= '%s', false)", position)
		if err := ask(ctx, standby, "postgres", query, &has); err != nil || has {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// promote ends the recovery of a standby and stops it.
func promote(ctx context.Context, standby *localpg.Server) error {
	var done bool
	err := ask(ctx, standby, "postgres", "SELECT pg_promote()", &done)
	if err == nil && !done {
		err = errors.New("the standby was not promoted")
	}
	return errors.Join(err, standby.Stop(ctx))
}

// ask reads one value from a database of a server.
func ask(ctx context.Context, server *localpg.Server, database, query string, value any) (err error) {
	conn, err := pgx.Connect(ctx, server.URL(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return conn.QueryRow(ctx, query).Scan(value)
}
