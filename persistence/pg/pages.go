package pg

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
)

// Page reads the rows of a query until they fill a page of a list. Adjacent rows with the same key are one row of the
// list. more reports whether further rows follow. At most one of them is decoded, so that the memory that the page
// takes does not depend on their sizes.
func Page[T any, K comparable](
	ctx context.Context, q *bun.SelectQuery, limit app.PageLimit, key func(T) K,
) (page []T, more bool, err error) {
	rows, err := q.Rows(ctx)
	if err != nil {
		return nil, false, err
	}
	return pageOf(ctx, q.DB(), rows, limit, key)
}

// PagePrepared is [Page] for a statement with arguments.
func PagePrepared[T any, K comparable](
	ctx context.Context, tx bun.Tx, limit app.PageLimit, key func(T) K, statement string, args ...any,
) (page []T, more bool, err error) {
	rows, err := tx.Tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, false, err
	}
	return pageOf(ctx, tx.NewSelect().DB(), rows, limit, key)
}

// pageOf reads the page from rows and closes them.
func pageOf[T any, K comparable](
	ctx context.Context, db *bun.DB, rows *sql.Rows, limit app.PageLimit, key func(T) K,
) (page []T, more bool, err error) {
	defer rows.Close()
	var size texts
	var last K
	listed := 0
	for rows.Next() {
		var row T
		full := listed > 0 && (listed == limit.Rows || int(size) >= limit.Bytes)
		if err := errors.Join(db.ScanRow(ctx, rows, &row), size.add(rows)); err != nil {
			return nil, false, err
		}
		if listed == 0 || key(row) != last {
			if full {
				return page, true, nil
			}
			listed, last = listed+1, key(row)
		}
		page = append(page, row)
	}
	return page, false, rows.Err()
}

// Each calls each with the rows of a query, one at a time. Each must not run other statements of the transaction.
func Each[T any](ctx context.Context, q *bun.SelectQuery, each func(T) error) error {
	rows, err := q.Rows(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := q.DB().ScanRow(ctx, rows, &row); err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts counts the bytes of texts and JSON. It implements [sql.Scanner].
type texts int

// add counts a row.
func (t *texts) add(rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	counted := make([]any, len(columns))
	for i := range counted {
		counted[i] = t
	}
	return rows.Scan(counted...)
}

// Scan adds the size of a value.
func (t *texts) Scan(value any) error {
	switch value := value.(type) {
	case string:
		*t += texts(len(value))
	case []byte:
		*t += texts(len(value))
	}
	return nil
}

// PageRows is the number of rows in a page of [Pages]. Each row can have nearly [app.MaxEvent] bytes.
const PageRows = 10

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
