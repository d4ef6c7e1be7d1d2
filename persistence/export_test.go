package persistence

import (
	"context"
)

// CountAsApp counts the rows of a table that the role of one store sees without a selected store.
func (db *DB) CountAsApp(ctx context.Context, table string) (n int, err error) {
	err = db.pg.App().DB.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// SealedColumns returns the columns that Reseal seals again.
func SealedColumns() (names []string) {
	for _, c := range sealedColumns {
		names = append(names, c.table+"."+c.column)
	}
	return names
}

// QueryApp runs a statement with one number in the pool of the role of one store.
func (db *DB) QueryApp(ctx context.Context, statement string) (n int64, err error) {
	err = db.pg.App().DB.QueryRowContext(ctx, statement).Scan(&n)
	return n, err
}
