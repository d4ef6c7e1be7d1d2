package persistence

import "context"

// CountAsApp counts the rows that the role of one store sees in a table without having
// said which store.
func (db *DB) CountAsApp(ctx context.Context, table string) (n int, err error) {
	err = db.app.DB.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}
