package api

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// A request that waits too long for a row gets 503 with the time of a retry, and stores nothing. The retry succeeds.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pools := pg.ServePools(pg.MinConns)
	for i := range pools {
		pools[i].Lock = 10 * time.Millisecond
	}
	db, err := persistence.Open(persistence.Config{
		URL: w.db.URL, SystemURL: w.db.SystemURL, Pools: pools, Sealer: persistencetest.Keyring().Sealer(),
	})
	w.must(err)
	defer db.Close()
	server := w.serverOn(db, func(*Config) {})
	w.exec("UPDATE products SET stock_quantity = 5")
	stored := func() string {
		return w.text(`SELECT concat_ws(' ', (SELECT count(*) FROM orders), (SELECT sum(stock_quantity) FROM products),
			(SELECT count(*) FROM outbox), (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM audit))`)
	}
	before := stored()

	tx, err := w.db.System().DB.BeginTx(t.Context(), nil)
	w.must(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM products FOR UPDATE")
	w.must(err)
	order := func() *response { return w.doOn(server, "POST", "/orders", w.tokens["OWNER"], w.orderBody("own")) }
	a := order()
	a.refused(app.CodeUnavailable)
	if after := a.Header().Get("Retry-After"); a.Code != 503 || after != "1" {
		t.Errorf("order of a locked product: got status %d and Retry-After %q, want 503 and 1", a.Code, after)
	}
	w.must(tx.Rollback())
	if after := stored(); after != before {
		t.Errorf("orders, stock, events, keys and audit after the refusal: got %s, want %s", after, before)
	}
	order().ok(201, nil)
}
