package pg

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// PageRows is the number of rows in a page of [Pages].
const PageRows = 100

// Pages calls each with the rows of a query, in pages of at most [PageRows] rows. The memory that it takes does not
// depend on the number of rows. Each may run other statements of the transaction.
func Pages[T any](ctx context.Context, tx bun.Tx, query schema.QueryAppender, each func([]T) error) error {
	if _, err := tx.NewRaw("DECLARE pages NO SCROLL CURSOR FOR ?", query).Exec(ctx); err != nil {
		return err
	}
	for full := true; full; {
		var rows []T
		if err := tx.NewRaw("FETCH ? FROM pages", PageRows).Scan(ctx, &rows); err != nil {
			return err
		}
		if full = len(rows) == PageRows; len(rows) > 0 {
			if err := each(rows); err != nil {
				return err
			}
		}
	}
	_, err := tx.ExecContext(ctx, "CLOSE pages")
	return err
}
