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

// counter is a store whose orders all take one connection.
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
	db, err := persistence.Open(persistence.Config{URL: database.URL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer()})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return counter{t, database, db, r.Stores[0], r.Order(t, database, 0)}
}

// place places an order and returns its number.
func (c counter) place() string {
	c.Helper()
	order, err := c.db.PlaceOrder(c.Context(), noon, c.store, c.wanted, nil, nil)
	must(c.T, err)
	return order.Number
}

// tell returns what a statement tells of the connection.
func (c counter) tell(statement string) int64 {
	c.Helper()
	n, err := c.db.OnOneConnection(c.Context(), statement)
	must(c.T, err)
	return n
}

func (c counter) prepared() int64 {
	c.Helper()
	return c.tell("SELECT count(*) FROM pg_prepared_statements")
}

// What has its values in its text is another statement each time: the connection keeps none
// of them. What has arguments it keeps, once.
func TestOnlyStatementsWithArgumentsArePrepared(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	if c.prepared() != 0 {
		t.Error("a new connection has prepared statements")
	}
	order, err := c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil, nil)
	must(t, err)
	placing := c.prepared()
	if placing == 0 || placing > 15 {
		t.Errorf("%d statements of an order are prepared", placing)
	}
	for range 5 {
		c.place()
		_, err = c.db.Order(t.Context(), c.store, order.ID, "")
		must(t, err)
		_, err = c.db.Orders(t.Context(), c.store, "", app.OrderFilter{Query: "ada"}, persistence.Cursor{}, 20)
		must(t, err)
		_, err = c.db.Settings(t.Context(), c.store)
		must(t, err)
	}
	if now := c.prepared(); now > placing+1 { // that a first guest is made is said on the first day only
		t.Errorf("%d statements are prepared after the first order, %d after reading", placing, now)
	}
	if n := c.tell("SELECT count(*) FROM pg_prepared_statements WHERE statement !~ '\\$1'"); n != 0 {
		t.Errorf("%d statements without arguments are prepared", n)
	}
	if used := c.tell("SELECT max(generic_plans) FROM pg_prepared_statements"); used < 5 {
		t.Errorf("no plan is used more than %d times", used)
	}
	if replanned := c.tell("SELECT sum(custom_plans)::bigint FROM pg_prepared_statements"); replanned != 0 {
		t.Errorf("%d statements were planned for their arguments", replanned)
	}
}

// A connection that was ended is followed by another one, which prepares what it needs.
func TestPreparedStatementsSurviveTheirConnection(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place()
	must(t, ended(t.Context(), c.database, c.tell("SELECT pg_backend_pid()")))
	order, err := c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil, nil)
	if app.CodeOf(err) == app.CodeUnavailable { // nobody could know before
		order, err = c.db.PlaceOrder(t.Context(), noon, c.store, c.wanted, nil, nil)
	}
	if must(t, err); order.Number != "2" {
		t.Errorf("the order after the connection's end is number %s", order.Number)
	}
}

// ended ends a connection and waits until it is gone.
func ended(ctx context.Context, db *persistencetest.Database, backend int64) error {
	owner, err := pgx.Connect(ctx, db.OwnerURL)
	if err != nil {
		return err
	}
	defer owner.Close(ctx)
	var gone bool
	err = owner.QueryRow(ctx, "SELECT pg_terminate_backend($1, 10000)", backend).Scan(&gone)
	if err == nil && !gone {
		err = errors.New("the connection does not end")
	}
	return err
}

// A migration that changes what a prepared statement returns fails no order.
func TestPreparedStatementsSurviveMigrations(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place()
	owner, err := pgx.Connect(t.Context(), c.database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	for _, change := range []string{"ALTER TABLE products ALTER name TYPE varchar(500)", "ALTER TABLE orders ADD COLUMN wrapped boolean"} {
		_, err = owner.Exec(t.Context(), change)
		must(t, err)
		c.place()
	}
	if number := c.place(); number != "4" {
		t.Errorf("the order after the migrations is number %s", number)
	}
}

// An order that waits for its number ends with its request: nothing of it stays, neither a
// lock nor a number.
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
		_, err := c.db.PlaceOrder(ctx, noon, c.store, c.wanted, nil, nil)
		failed <- err
	}()
	waits := func() bool {
		var n int
		must(t, other.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))").Scan(&n))
		return n > 0
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for waits() {
		time.Sleep(time.Millisecond)
	}
	must(t, other.Rollback(t.Context()))
	if number := c.place(); number != "2" {
		t.Errorf("the order after the cancelled one is number %s", number)
	}
}
