package persistence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// counter is a store whose orders all use one connection.
type counter struct {
	*testing.T
	database *persistencetest.Database
	db       *persistence.DB
	store    app.StoreID
	wanted   app.NewOrder
}

func newCounter(t *testing.T) counter {
	t.Helper()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return counter{t, database, db, r.Stores[0], r.Order(t, database, 0)}
}

// place places an order and returns its number.
func (c counter) place() string {
	c.Helper()
	order, err := c.db.PlaceOrder(c.Context(), noon, c.store, c.wanted, nil)
	must(c.T, err)
	return order.Number
}

// query returns the number that a statement returns on that connection.
func (c counter) query(statement string) int64 {
	c.Helper()
	n, err := c.db.QueryApp(c.Context(), statement)
	must(c.T, err)
	return n
}

func (c counter) prepared() int64 {
	c.Helper()
	return c.query("SELECT count(*) FROM pg_prepared_statements")
}

// A connection prepares each statement with arguments once, and no statement with values in its text.
func TestOnlyStatementsWithArgumentsArePrepared(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	if c.prepared() != 0 {
		t.Errorf("prepared statements of a new connection: got %d, want 0", c.prepared())
	}
	order, err := c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil)
	must(t, err)
	placing := c.prepared()
	if placing == 0 || placing > 15 {
		t.Errorf("prepared statements after an order: got %d, want 1 to 15", placing)
	}
	for range 5 {
		c.place()
		_, err = c.db.Order(t.Context(), c.store, order.ID, "")
		must(t, err)
		_, _, err = c.db.Orders(t.Context(), c.store, "", app.OrderFilter{Query: "ada"}, persistence.Cursor{}, firstPage)
		must(t, err)
		_, err = c.db.Settings(t.Context(), c.store)
		must(t, err)
	}
	if now := c.prepared(); now > placing+1 { // one for an existing guest
		t.Errorf("prepared statements after more orders and lists: got %d, want at most %d", now, placing+1)
	}
	if n := c.query("SELECT count(*) FROM pg_prepared_statements WHERE statement !~ '\\$1'"); n != 0 {
		t.Errorf("prepared statements without arguments: got %d, want 0", n)
	}
	if used := c.query("SELECT max(generic_plans) FROM pg_prepared_statements"); used < 5 {
		t.Errorf("largest number of uses of a plan: got %d, want at least 5", used)
	}
	if replanned := c.query("SELECT sum(custom_plans)::bigint FROM pg_prepared_statements"); replanned != 0 {
		t.Errorf("plans for particular arguments: got %d, want 0", replanned)
	}
}

// After the end of a connection, the next connection prepares the statements again.
func TestPreparedStatementsAfterConnectionLoss(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place()
	must(t, terminate(t.Context(), c.database, c.query("SELECT pg_backend_pid()")))
	order, err := c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil)
	if app.CodeOf(err) == app.CodeUnavailable { // the first use of the ended connection fails
		order, err = c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil)
	}
	if must(t, err); order.Number != "2" {
		t.Errorf("number of the order after the connection's end: got %s, want 2", order.Number)
	}
}

// terminate ends a connection and waits for its end.
func terminate(ctx context.Context, db *persistencetest.Database, backend int64) error {
	owner, err := pgx.Connect(ctx, db.OwnerURL)
	if err != nil {
		return err
	}
	defer owner.Close(ctx)
	var ended bool
	err = owner.QueryRow(ctx, "SELECT pg_terminate_backend($1, 60000)", backend).Scan(&ended)
	if err == nil && !ended {
		err = errors.New("the connection did not end within a minute")
	}
	return err
}

// No order fails after a migration that changes the result type of a prepared statement.
func TestPreparedStatementsSurviveMigrations(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place()
	owner, err := pgx.Connect(t.Context(), c.database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	for _, change := range []string{"ALTER TABLE products ALTER name TYPE varchar(500)",
		"ALTER TABLE orders ADD COLUMN wrapped boolean"} {
		_, err = owner.Exec(t.Context(), change)
		must(t, err)
		c.place()
	}
	if number := c.place(); number != "4" {
		t.Errorf("number of the order after the migrations: got %s, want 4", number)
	}
}

// An order that waits for its number ends with its request. It leaves neither a lock nor a gap in the
// numbers.
func TestPreparedStatementsAreCancelled(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place()
	owner, err := pgx.Connect(t.Context(), c.database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	other, err := owner.Begin(t.Context())
	must(t, err)
	_, err = other.Exec(t.Context(), "SELECT FROM order_numbers WHERE store_id = $1 FOR UPDATE", c.store)
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.db.PlaceOrder(ctx, noon, c.store, c.wanted, nil)
		failed <- err
	}()
	waits := func() bool {
		var n int
		must(t, other.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks
			WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`).Scan(&n))
		return n > 0
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled order: got error %v, want %v", err, context.Canceled)
	}
	for waits() {
		time.Sleep(time.Millisecond)
	}
	must(t, other.Rollback(t.Context()))
	if number := c.place(); number != "2" {
		t.Errorf("number of the order after the cancelled one: got %s, want 2", number)
	}
}
