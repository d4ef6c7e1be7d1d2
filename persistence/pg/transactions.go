package pg

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// InStore runs f in a transaction that sees the rows of one store. It repeats f after a serialization
// failure or a deadlock, and if the connection's prepared statements are outdated. Therefore f must
// have no effect except on the database. Errors are classified, see
// [Classify].
func (db *DB) InStore(ctx context.Context, store app.StoreID, f func(ctx context.Context, tx bun.Tx) error) error {
	return db.runTx(ctx, db.app, func(ctx context.Context, tx bun.Tx) error {
		if err := enterStore(ctx, tx, store); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// SnapshotOf runs f once, in a read-only transaction of one store whose statements see the same state of the database.
// f may have an effect outside of the database, which may take long, since the transaction locks no rows. Errors are
// classified, see [Classify].
func (db *DB) SnapshotOf(ctx context.Context, store app.StoreID, f func(ctx context.Context, tx bun.Tx) error) error {
	options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return Classify(db.app.RunInTx(ctx, options, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.Tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}
		if err := enterStore(ctx, tx, store); err != nil {
			return err
		}
		return f(ctx, tx)
	}))
}

// enterStore makes the rows of one store visible for a transaction.
func enterStore(ctx context.Context, tx bun.Tx, store app.StoreID) error {
	_, err := tx.Tx.ExecContext(ctx, "SELECT set_config('comanda.store_id', $1, true)", store)
	return err
}

// InSystem is [DB.InStore] with a transaction that sees the rows of all stores. A test lists its
// callers.
func (db *DB) InSystem(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	return db.runTx(ctx, db.system, f)
}

// LimitAccountLocks limits the waits for locks of a transaction of [DB.InSystem] to the Account of its [Pool], 0 = no
// further limit. Requests that may name no website call it before their first lock of the row of an account: they share
// few connections. The limit is below the deadlock_timeout of PostgreSQL: a deadlock ends like any other wait, with
// UNAVAILABLE, and the client repeats the request. A repetition here would keep the connection.
func (db *DB) LimitAccountLocks(ctx context.Context, tx bun.Tx) error {
	limit := db.first(RoleSystem).limits.Account
	if limit == 0 {
		return nil
	}
	_, err := tx.Tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", limit.Milliseconds()))
	return err
}

// MaxTries is the maximum number of runs of one transaction, see [DB.InStore].
const MaxTries = 8

func (db *DB) runTx(ctx context.Context, pool *bun.DB, f func(ctx context.Context, tx bun.Tx) error) error {
	var err error
	for range MaxTries {
		var notices []notice
		err = pool.RunInTx(context.WithValue(ctx, noticesKey{}, &notices), &sql.TxOptions{}, f)
		if err == nil {
			db.notifier.Add(notices...)
		}
		if !isRetryable(err) || ctx.Err() != nil {
			break
		}
	}
	return Classify(err)
}
