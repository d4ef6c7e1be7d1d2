package pg

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes connections that prepare only statements with arguments ($1). The text of a statement of bun
// (?) depends on its values, so preparing it would cost a round trip and a place in the statement cache.
type connector struct {
	driver.Connector
	pool *pool
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.pool.acquire(ctx, c.Connector)
	if err != nil {
		return nil, err
	}
	return connection{conn.(*stdlib.Conn)}, nil
}

type connection struct{ *stdlib.Conn }

// QueryContext runs a query. A query of bun is not prepared and takes one round trip.
func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		query, args = separate(query)
	}
	return c.Conn.QueryContext(ctx, query, args)
}

// ExecContext is [connection.QueryContext] for a statement without rows.
func (c connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		if query, args = separate(query); len(args) == 1 {
			args = nil // the text may have several statements
		}
	}
	return c.Conn.ExecContext(ctx, query, args)
}

// separate separates a statement from its values, which become arguments after the mode of execution.
func separate(query string) (string, []driver.NamedValue) {
	query, values := parameters(query)
	args := make([]driver.NamedValue, 1+len(values))
	args[0] = driver.NamedValue{Ordinal: 1, Value: pgx.QueryExecModeExec}
	for i, value := range values {
		args[1+i] = driver.NamedValue{Ordinal: 2 + i, Value: value}
	}
	return query, args
}
