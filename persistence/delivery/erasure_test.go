package delivery_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A step of an erasure reads the events of the step and their deliveries, however many were erased before. The next
// pass erases attempts that were recorded after their event was erased.
func TestStepsOfAnErasureAreEqual(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	const events, step = 1_000, 100
	seed(t, database, `INSERT INTO outbox (id, store_id, type, body, occurred_at, erasing)
		SELECT 'evt_' || lpad(i::text, 4, '0'), $1, 'customer.updated', '{}', $2, 'cus_1' FROM generate_series(1, $3::int) i`,
		r.Stores[0], noon, events)
	seed(t, database, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, queue,
			scheduled_for, created_at, ended_at)
		SELECT 'dlv_' || e.id || i, e.store_id, e.id, 'sub_' || i, e.type, 'delivered', $1, $2, $2, $2
		FROM outbox e, generate_series(1, 10) i WHERE e.erasing = 'cus_1'`, r.Website, noon)
	seed(t, database, `INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number,
			status, request_headers, status_code, response_time_ms, error, attempted_at)
		SELECT 'att_' || id, store_id, id, subscription_id, event_id, event_type, 1, 'delivered', '{"a": "b"}', 200, 1, '', $1
		FROM deliveries`, noon)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	endOthers(t, owner)
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	rows := func() (n int) {
		must(t, db.FlushReads(t.Context()))
		must(t, owner.QueryRow(t.Context(), `SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables
			WHERE relname IN ('outbox', 'deliveries', 'attempts')`).Scan(&n))
		return n
	}
	var last app.EventID
	first := 0
	for i := range events / step {
		before := rows()
		got, err := db.EraseCustomerBodies(t.Context(), noon, r.Stores[0], "cus_1", last, step)
		must(t, err)
		read := rows() - before
		if first = max(first, read*toInt(i == 0)); read > 2*first {
			t.Errorf("step %d: got %d rows read, want at most twice the %d of the first step", i, read, first)
		}
		if last = got.Last; got.Erased != step || got.Waiting != 0 {
			t.Errorf("step %d: got %+v, want %d bodies and none that waits", i, got, step)
		}
	}
	_, err = owner.Exec(t.Context(), `UPDATE attempts SET response_body = 'late' WHERE event_id = 'evt_0007'`)
	must(t, err)
	got, err := db.EraseCustomerBodies(t.Context(), noon, r.Stores[0], "cus_1", "", step)
	must(t, err)
	var left int
	must(t, owner.QueryRow(t.Context(), `SELECT count(*) FROM attempts
		WHERE request_headers IS NOT NULL OR response_body IS NOT NULL`).Scan(&left))
	if left != 0 || got.Erased != 0 {
		t.Errorf("next pass: got %+v and %d attempts with data, want none", got, left)
	}
}
