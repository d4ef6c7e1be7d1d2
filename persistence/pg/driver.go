package pg

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes connections that prepare only what has arguments of its own. Bun writes
// values into the text of a statement, which is another one each time: to prepare it would
// cost a round trip, and a place in the cache that it is never taken out of again.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connection{conn.(*stdlib.Conn)}, nil
}

type connection struct{ *stdlib.Conn }

// QueryContext runs a query. Without arguments it is sent in one go, without its name.
func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		args = []driver.NamedValue{{Ordinal: 1, Value: pgx.QueryExecModeExec}}
	}
	return c.Conn.QueryContext(ctx, query, args)
}
