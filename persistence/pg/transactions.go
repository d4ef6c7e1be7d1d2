package pg

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// Queryer is a pool or a transaction.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// InStore runs f in a transaction that sees the rows of one store. Its errors are as in [RunTx].
func (db *DB) InStore(ctx context.Context, store app.StoreID, f func(ctx context.Context, tx bun.Tx) error) error {
	return RunTx(ctx, db.app, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.Tx.ExecContext(ctx, "SELECT set_config('comanda.store_id', $1, true)", store); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// MaxTries limits how often a transaction runs if PostgreSQL asks for a retry.
const MaxTries = 8

// RunTx runs f in a transaction. It runs f again after a serialization failure or a deadlock,
// and if the prepared statements of its connection are outdated. f must have no effect except
// on the database. Errors are classified, see [Classify].
func RunTx(ctx context.Context, pool *bun.DB, f func(ctx context.Context, tx bun.Tx) error) error {
	var err error
	for range MaxTries {
		err = pool.RunInTx(ctx, &sql.TxOptions{}, f)
		if !runsAgain(err) || ctx.Err() != nil {
			break
		}
	}
	return Classify(err)
}
