package pg

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes connections that prepare only statements with arguments. Bun writes values into
// the text of a statement, so that the text differs each time. To prepare such a statement would
// cost a round trip and a place in the statement cache.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connection{conn.(*stdlib.Conn)}, nil
}

type connection struct{ *stdlib.Conn }

// QueryContext runs a query. A query without arguments is not prepared and takes one round trip.
func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		args = []driver.NamedValue{{Ordinal: 1, Value: pgx.QueryExecModeExec}}
	}
	return c.Conn.QueryContext(ctx, query, args)
}
