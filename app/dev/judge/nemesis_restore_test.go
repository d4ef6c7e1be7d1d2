package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestFailOver checks that a failover loses rows, and only those that were confirmed in the lost time, also if
// PostgreSQL has a disk of its own.
func TestFailOver(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp(localpg.TempDir(), "comanda-judge-*")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o755))
	w := &world{dir: dir, clock: harness.Clock{File: filepath.Join(dir, "clock")}}
	must(t, w.clock.Set(0))
	w.port, err = freeport.Ports(postgresPort + 1)
	must(t, err)
	w.log, err = os.Create(filepath.Join(dir, "postgres.log"))
	must(t, err)
	defer w.log.Close()
	if diskMissing() == "" {
		must(t, limitDisk(t.Context(), w))
		defer func() { must(t, w.disk.unmount()) }()
	}
	must(t, w.startPostgres(t.Context()))
	must(t, w.administer(t.Context(), "CREATE TABLE kept (number int)"))

	writing, stop := context.WithCancel(t.Context())
	written := w.write(writing, t)
	lost, err := w.replacePostgres(t.Context(), time.Second)
	stop()
	must(t, err)
	must(t, w.startPostgres(t.Context()))
	defer func() { must(t, w.stopPostgres(context.WithoutCancel(t.Context()))) }()
	var kept int
	must(t, ask(t.Context(), w.postgres, "postgres", "SELECT max(number) FROM kept", &kept))
	rows := <-written
	for number, at := range rows {
		if number > kept && at.Before(lost.Begin) {
			t.Errorf("row %d of %s is lost, want a loss after %s", number, at, lost.Begin)
		}
	}
	if kept >= len(rows)-1 {
		t.Errorf("got %d rows of %d, want a loss", kept+1, len(rows))
	}
}

// write writes numbered rows until ctx ends. The channel returns the times at which they were confirmed.
func (w *world) write(ctx context.Context, t *testing.T) <-chan []time.Time {
	t.Helper()
	config, err := pgx.ParseConfig(w.postgres.URL("postgres"))
	must(t, err)
	written := make(chan []time.Time, 1)
	go func() {
		var rows []time.Time
		for ctx.Err() == nil {
			conn, err := pgx.ConnectConfig(ctx, config)
			if err != nil {
				continue
			}
			for {
				if _, err := conn.Exec(ctx, "INSERT INTO kept VALUES ($1)", len(rows)); err != nil {
					break
				}
				rows = append(rows, time.Now())
			}
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		written <- rows
	}()
	return written
}
