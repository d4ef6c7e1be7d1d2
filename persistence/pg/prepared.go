package pg

import (
	"context"
	"reflect"
	"strconv"

	"github.com/uptrace/bun"
)

// Statements of the most frequent transactions pass their values as arguments ($1, not ?), so that
// each connection parses and plans them once.

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

// InsertPrepared inserts rows: at least one row, and at most 65,535 values in total.
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
