package pg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// open connects to a test's database, with a pool for each role.
func open(t testing.TB, db *persistencetest.Database) *pg.DB {
	t.Helper()
	pools, err := pg.Open(pg.Config{URL: db.URL, SystemURL: db.SystemURL})
	must(t, err)
	t.Cleanup(func() { pools.Close() })
	return pools
}

// listen listens to a channel. It returns a function that returns the payloads until the next "end".
func listen(t *testing.T, db *pg.DB, channel string) func() []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	began, payloads, ended := make(chan struct{}), make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.Listen(ctx, pg.RoleSystem, channel,
			func() { close(began) }, func(payload string) { payloads <- payload })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	<-began
	return func() (got []string) {
		t.Helper()
		for {
			select {
			case payload := <-payloads:
				if payload == "end" {
					return got
				}
				got = append(got, payload)
			case <-time.After(30 * time.Second):
				t.Fatalf("got payloads %q within 30 s, want \"end\"", got)
			}
		}
	}
}

// Notifications are sent after the commit, in their order and without duplicates. A failed transaction
// sends none.
func TestNotifySendsAfterCommit(t *testing.T) {
	t.Parallel()
	db := open(t, persistencetest.New(t))
	next := listen(t, db, "letters")
	notify := func(err error, payloads ...string) {
		t.Helper()
		got := db.InSystem(t.Context(), func(ctx context.Context, _ bun.Tx) error {
			for _, payload := range payloads {
				must(t, pg.Notify(ctx, "letters", payload))
			}
			return err
		})
		if !errors.Is(got, err) {
			t.Fatalf("InSystem: got error %v, want %v", got, err)
		}
	}
	notify(errors.New("refused"), "lost")
	notify(nil, "b", "a", "b", "c")
	tries := 0
	must(t, db.InStore(t.Context(), "sto_1", func(ctx context.Context, _ bun.Tx) error {
		tries++
		must(t, pg.Notify(ctx, "letters", fmt.Sprintf("try %d", tries)))
		if tries == 1 {
			return &pgconn.PgError{Code: "40001"}
		}
		return nil
	}))
	notify(nil, "end")
	if diff := cmp.Diff([]string{"b", "a", "c", "try 2"}, next()); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	if err := pg.Notify(t.Context(), "letters", "x"); err == nil {
		t.Error("Notify without a transaction: got no error")
	}
}

// Close sends the notifications of committed transactions.
func TestCloseSendsNotifications(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	next := listen(t, open(t, database), "letters")
	db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL})
	must(t, err)
	must(t, db.InSystem(t.Context(), func(ctx context.Context, _ bun.Tx) error {
		return errors.Join(pg.Notify(ctx, "letters", "a"), pg.Notify(ctx, "letters", "end"))
	}))
	must(t, db.Close())
	if diff := cmp.Diff([]string{"a"}, next()); diff != "" {
		t.Errorf("payloads before Close (-want +got):\n%s", diff)
	}
}

// BenchmarkNotify compares notifications inside transactions, whose commits wait for each other,
// notifications after the commit, and transactions without notifications. Commits are flushed to disk.
func BenchmarkNotify(b *testing.B) {
	database := persistencetest.New(b)
	owner, err := pgx.Connect(b.Context(), database.OwnerURL)
	must(b, err)
	defer owner.Close(context.WithoutCancel(b.Context()))
	for _, statement := range []string{
		"ALTER SYSTEM SET fsync = on", "ALTER SYSTEM SET synchronous_commit = on", "SELECT pg_reload_conf()",
		"CREATE TABLE letters (n bigserial, text text)", "GRANT ALL ON letters, letters_n_seq TO comanda_system",
	} {
		_, err := owner.Exec(b.Context(), statement)
		must(b, err)
	}
	db := open(b, database)
	for _, test := range []struct {
		name   string
		notify func(ctx context.Context, tx bun.Tx) error
	}{
		{"none", func(context.Context, bun.Tx) error { return nil }},
		{"inside", func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.ExecContext(ctx, "SELECT pg_notify('letters', '')")
			return err
		}},
		{"after", func(ctx context.Context, _ bun.Tx) error { return pg.Notify(ctx, "letters", "") }},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.SetParallelism(8) // times GOMAXPROCS
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					must(b, db.InSystem(b.Context(), func(ctx context.Context, tx bun.Tx) error {
						if _, err := tx.ExecContext(ctx, "INSERT INTO letters (text) VALUES ('a')"); err != nil {
							return err
						}
						return test.notify(ctx, tx)
					}))
				}
			})
		})
	}
}
