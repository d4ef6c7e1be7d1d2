package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Times of connections.
const (
	// maxIdle is the time after which an unused connection is closed, so that a peak of one process does not keep the
	// sessions of PostgreSQL, or those of a pooler, from others.
	maxIdle = time.Minute
	// connectTimeout is the default for a new connection. It continues to be established after its caller gave up.
	connectTimeout = 5 * time.Second
	// pingTimeout is the time after which a connection that was unused for a second counts as lost.
	pingTimeout = time.Second
	// closeTimeout is the time for which a closing pool waits for its callers.
	closeTimeout = 5 * time.Second
)

// errNoConnection means that all connections of a pool stayed in use.
var errNoConnection = errors.New("no connection became free in time")

// pool is a pool of connections. database/sql neither limits nor measures the current waits for a connection, so it
// takes each one from a pgxpool.Pool and keeps none.
type pool struct {
	limits Pool
	conns  *pgxpool.Pool
	db     *bun.DB

	waiting, served, refused, waited atomic.Int64 // waited in nanoseconds
}

func openPool(url string, limits Pool) (*pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	conn := c.ConnConfig
	conn.RuntimeParams["application_name"] = limits.Role
	conn.RuntimeParams["timezone"] = "UTC"
	maps.Copy(conn.RuntimeParams, lostHost)
	if conn.ConnectTimeout <= 0 {
		conn.ConnectTimeout = connectTimeout
	}
	as(limits.Role, conn, fmt.Sprintf(
		"%s; SET statement_timeout = %[2]d; SET idle_in_transaction_session_timeout = %[2]d; SET lock_timeout = %[3]d",
		planning, limits.Statement.Milliseconds(), limits.Lock.Milliseconds()))
	c.MaxConns = int32(limits.Conns) //nolint:gosec // at most maxDatabaseConnections of package boot
	c.MaxConnIdleTime = maxIdle
	c.PingTimeout = pingTimeout
	conns, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		return nil, err
	}
	p := &pool{limits: limits, conns: conns}
	sqldb := sql.OpenDB(connector{stdlib.GetPoolConnector(conns), p})
	sqldb.SetMaxIdleConns(-1)
	p.db = bun.NewDB(sqldb, dialect{pgdialect.New()})
	return p, nil
}

// login returns the login role.
func (p *pool) login() string { return p.conns.Config().ConnConfig.User }

// address returns the server and the database, for errors.
func (p *pool) address() string {
	c := p.conns.Config().ConnConfig
	return fmt.Sprintf("%s/%s", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database)
}

// ping returns UNAVAILABLE if the database does not accept the login, or does not respond. A pool whose connections are
// all in use has logged in, and busy connections must not end the readiness of a process.
func (p *pool) ping(ctx context.Context) error {
	if stat := p.conns.Stat(); stat.AcquiredConns() == stat.MaxConns() {
		return nil
	}
	_, err := p.db.DB.ExecContext(ctx, "SELECT 1")
	return Classify(err)
}

// acquire takes a connection of the pool.
func (p *pool) acquire(ctx context.Context, connector driver.Connector) (driver.Conn, error) {
	limited := ctx
	if p.limits.Wait > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, p.limits.Wait)
		defer cancel()
	}
	p.waiting.Add(1)
	began := time.Now()
	conn, err := connector.Connect(limited)
	p.waited.Add(int64(time.Since(began)))
	p.waiting.Add(-1)
	if err == nil {
		p.served.Add(1)
		return conn, nil
	}
	if limited.Err() != nil {
		p.refused.Add(1)
		if ctx.Err() == nil {
			return nil, fmt.Errorf("%w: pool %s of %s", errNoConnection, p.limits.Purpose, p.limits.Role)
		}
	}
	return nil, err
}

// close closes the idle connections. The others close when they are returned.
func (p *pool) close() error {
	err := p.db.Close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.conns.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
	return err
}

// PoolStats describes the use of one pool.
type PoolStats struct {
	Pool
	InUse   int           // connections
	Waiting int           // callers that wait for a connection
	Waited  time.Duration // sum of the waits of all callers so far, including the time to connect
	Served  int           // callers so far that got a connection
	Refused int           // callers so far that got no connection in time
}

// Exhausted reports whether callers wait for a connection, and none got one since earlier statistics of the pool.
func (s PoolStats) Exhausted(earlier PoolStats) bool {
	return s.Waiting > 0 && earlier.Waiting > 0 && s.InUse == s.Conns && s.Served == earlier.Served
}

// PoolStats returns the use of all pools.
func (db *DB) PoolStats() []PoolStats {
	all := make([]PoolStats, len(db.pools))
	for i, p := range db.pools {
		all[i] = PoolStats{
			Pool: p.limits, InUse: int(p.conns.Stat().AcquiredConns()), Waiting: int(p.waiting.Load()),
			Waited: time.Duration(p.waited.Load()), Served: int(p.served.Load()), Refused: int(p.refused.Load()),
		}
	}
	return all
}
