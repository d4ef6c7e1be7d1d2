package persistence

import (
	"context"
)

// OnOneConnection runs a statement of one number as the role of one store.
func (db *DB) OnOneConnection(ctx context.Context, statement string) (n int64, err error) {
	err = db.pg.App().DB.QueryRowContext(ctx, statement).Scan(&n)
	return n, err
}
