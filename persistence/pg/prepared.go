package pg

import (
	"context"
	"reflect"
	"strconv"

	"github.com/uptrace/bun"
)

// The statements of the most frequent transactions have arguments ($1) instead of bun's values in
// the text (?), so that each connection parses and plans them once.

// SelectPrepared reads all rows of a statement with arguments into rows, a pointer to a slice.
func SelectPrepared(ctx context.Context, tx bun.Tx, rows any, statement string, args ...any) error {
	found, err := tx.Tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	if err := tx.NewSelect().DB().ScanRows(ctx, found, rows); err != nil {
		return err
	}
	return found.Err()
}

// InsertPrepared inserts at least one row. All rows together have at most 65,535 values.
func InsertPrepared[T any](ctx context.Context, tx bun.Tx, rows ...T) error {
	table := tx.Dialect().Tables().Get(reflect.TypeFor[T]())
	args := make([]any, 0, len(rows)*len(table.Fields))
	statement := []byte("INSERT INTO " + string(table.SQLName) + " (")
	for i, field := range table.Fields {
		statement = append(append(statement, ", "[:min(i, 1)*2]...), field.SQLName...)
	}
	statement = append(statement, ") VALUES "...)
	for r := range rows {
		statement = append(append(statement, ", "[:min(r, 1)*2]...), '(')
		row := reflect.ValueOf(&rows[r]).Elem()
		for i, field := range table.Fields {
			args = append(args, field.Value(row).Interface())
			statement = append(append(statement, ", "[:min(i, 1)*2]...), '$')
			statement = strconv.AppendInt(statement, int64(len(args)), 10)
		}
		statement = append(statement, ')')
	}
	_, err := tx.Tx.ExecContext(ctx, string(statement), args...)
	return err
}
