package pg

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

// migrationLock is the advisory lock that prevents concurrent migrations of one database. It ends with its connection,
// so that a killed process leaves no lock.
const migrationLock = 0x636f6d616e6461

const (
	// lockTimeout is the time for which a statement of a migration waits for a lock. Requests that need
	// the same table wait behind the statement, even behind an ALTER TABLE that itself waits for a reader.
	lockTimeout = 2 * time.Second
	// lockPause is the time between two attempts, in which the requests that have waited are served.
	lockPause = 5 * time.Second
	// lockLimit is the time after which a migration that could not get its locks gives up.
	lockLimit = 10 * time.Minute
	// turnPause is the time between two attempts to take the advisory lock.
	turnPause = time.Second
)

// waits limits the time for which migrations wait for locks.
type waits struct{ timeout, pause, limit time.Duration }

// takeLock takes the advisory lock. It does not wait in PostgreSQL, because CREATE INDEX CONCURRENTLY of the process
// that has the lock would wait for the transaction of that wait.
func (m *migrator) takeLock(ctx context.Context, lock bun.Conn) error {
	for waiting := false; ; waiting = true {
		var taken bool
		err := lock.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(?)", migrationLock).Scan(&taken)
		if err != nil || taken {
			return err
		}
		if !waiting {
			fmt.Fprintln(m.out, "waiting for another process that migrates this database")
		}
		if err := sleep(ctx, turnPause); err != nil {
			return err
		}
	}
}

// step is the up or down part of a migration, as bun declares it.
type step = func(context.Context, *migrate.Migrator, *migrate.Migration) error

// repeat returns a step that is repeated if it did not get a lock in time, or had a deadlock with a request.
func (m *migrator) repeat(part step) step {
	return func(ctx context.Context, bunMigrator *migrate.Migrator, migration *migrate.Migration) error {
		m.blocker = ""
		for end := time.Now().Add(m.waits.limit); ; {
			err := part(ctx, bunMigrator, migration)
			m.unwatch()
			if !hasState(err, stateLockNotAvailable) && !hasState(err, stateDeadlock) {
				return err
			}
			if time.Now().After(end) {
				return fmt.Errorf("gave up after %s of waiting for %s; end it, and migrate again: %w",
					m.waits.limit, cmp.Or(m.blocker, "a lock"), err)
			}
			if err := sleep(ctx, m.waits.pause); err != nil {
				return err
			}
		}
	}
}

// before runs at the start of each attempt of a migration, on its connection. A migration outside of a transaction has
// no timeout: the wait of CREATE INDEX CONCURRENTLY delays no request, and a timeout would leave an invalid index.
func (m *migrator) before(ctx context.Context, conn bun.IConn, migration *migrate.Migration) error {
	var process int
	if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&process); err != nil {
		return err
	}
	m.watch(ctx, process, migration)
	if _, transaction := conn.(bun.Tx); !transaction {
		return nil
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", m.waits.timeout.Milliseconds()))
	return err
}

// watch writes to m.out what a migration waits for, until m.unwatch is called. m.blocker is the last cause of a wait.
func (m *migrator) watch(ctx context.Context, process int, migration *migrate.Migration) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(ctx, m.waits.timeout/4) == nil {
			var found string
			err := m.db.QueryRowContext(ctx, `
				SELECT coalesce(string_agg(DISTINCT format('process %s (%s)%s', b.pid,
					concat_ws(', ', a.usename, nullif(a.application_name, '')), ', which uses ' || l.relation::regclass),
					' and '), '')
				FROM pg_locks l CROSS JOIN unnest(pg_blocking_pids(l.pid)) AS b (pid)
					LEFT JOIN pg_stat_activity a ON a.pid = b.pid
				WHERE l.pid = ? AND NOT l.granted`, process).Scan(&found)
			if err == nil && found != "" && found != m.blocker {
				m.blocker = found
				fmt.Fprintf(m.out, "%s  waiting for %s\n", migration, found)
			}
		}
	}()
	m.unwatch = func() {
		cancel()
		<-done
		m.unwatch = func() {}
	}
}

// sleep waits for a time, or returns the error of the context if it ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
