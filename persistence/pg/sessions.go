package pg

import (
	"context"
	"errors"

	"github.com/uptrace/bun"
)

// errSharedSessions is the error of [DB.CheckSessions].
var errSharedSessions = errors.New("the connections do not keep their sessions of PostgreSQL; " +
	"if PgBouncer is in front of it, set pool_mode = session")

// CheckSessions returns an error if a connection pooler shares a session between connections, as PgBouncer does unless
// pool_mode is session. Statements could then run with the role of another pool, or of another process. A pooler has
// separate sessions for each login, so each is checked with two connections of its own.
func (db *DB) CheckSessions(ctx context.Context) error {
	for _, role := range roles {
		pool, err := openPool(db.config.url(role), Pool{Role: role, Conns: 2})
		if err != nil {
			return err
		}
		if err := errors.Join(checkSessions(ctx, pool.db), pool.close()); err != nil {
			return Classify(err)
		}
	}
	return nil
}

func checkSessions(ctx context.Context, db *bun.DB) error {
	one, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer one.Close()
	other, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer other.Close()
	// Two transactions at a time have two sessions. Then the next statement gets the session that was returned first
	// or last, depending on the pooler.
	for _, order := range [...][2]bun.Conn{{one, other}, {other, one}} {
		own, err := returnSessions(ctx, order[0], order[1], one)
		if err != nil {
			return err
		}
		next, err := session(ctx, one)
		if err != nil {
			return err
		}
		if next != own {
			return errSharedSessions
		}
	}
	return nil
}

// returnSessions commits two transactions of two connections in this order, and returns the session of one of them.
func returnSessions(ctx context.Context, first, second, of bun.Conn) (pid int, err error) {
	var open []bun.Tx
	for _, conn := range []bun.Conn{first, second} {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback() //nolint:errcheck // without effect after the commit
		got, err := session(ctx, tx)
		if err != nil {
			return 0, err
		}
		if conn == of {
			pid = got
		}
		open = append(open, tx)
	}
	return pid, errors.Join(open[0].Commit(), open[1].Commit())
}

// session returns the process of PostgreSQL that runs a statement.
func session(ctx context.Context, db bun.IDB) (pid int, err error) {
	err = db.NewRaw("SELECT pg_backend_pid()").Scan(ctx, &pid)
	return pid, err
}
