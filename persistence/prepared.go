package persistence

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/uptrace/bun"
)

// Statements of the busiest transactions have their values as arguments ($1, not ?), so that
// each connection parses and plans them once.

// selectPrepared reads all rows of such a statement.
func selectPrepared(ctx context.Context, tx bun.Tx, rows any, statement string, args ...any) error {
	found, err := tx.Tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	return tx.NewSelect().DB().ScanRows(ctx, found, rows)
}

// insertPrepared writes rows, at least one and at most 65,535 values in all.
func insertPrepared[T any](ctx context.Context, tx bun.Tx, rows ...T) error {
	table := tx.Dialect().Tables().Get(reflect.TypeFor[T]())
	columns := make([]string, len(table.Fields))
	for i, field := range table.Fields {
		columns[i] = string(field.SQLName)
	}
	var values []string
	var args []any
	for _, row := range rows {
		places := make([]string, len(table.Fields))
		for i, field := range table.Fields {
			args = append(args, field.Value(reflect.ValueOf(&row).Elem()).Interface())
			places[i] = fmt.Sprintf("$%d", len(args))
		}
		values = append(values, "("+strings.Join(places, ", ")+")")
	}
	_, err := tx.Tx.ExecContext(ctx, "INSERT INTO "+string(table.SQLName)+" ("+strings.Join(columns, ", ")+") VALUES "+strings.Join(values, ", "), args...)
	return err
}
