package delivery_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The statements of the relays read no whole table, regardless of the number of deliveries.
func TestRelayStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{
		`INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
			SELECT $2, $2, i, 'evt_x' || i, 'order.created', now() FROM generate_series(1, 300) i WHERE $1 <> ''`,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
				created_at)
			SELECT 'dlv_x' || i, $2, $2, 'evt_x' || i, CASE WHEN i % 2 = 0 THEN $1 ELSE $1 || i % 100 END, 'order.created',
				CASE WHEN i % 4 = 0 THEN 'queued' ELSE 'delivered' END, now() + interval '1 s' * i, now()
				FROM generate_series(1, 50000) i`,
		`INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
			SELECT 'job_' || i, $2, $2, 'soldout', 'prd_' || i, false, now(), now() FROM generate_series(1, 50000) i
			WHERE $1 <> ''`,
		`INSERT INTO plan_windows SELECT $1 || i % 100, now() + interval '1 h' * i, 500, 0
			FROM generate_series(1, 10000) i WHERE $2 <> ''`,
	} {
		_, err := owner.ExecContext(t.Context(), statement, s.ID, r.Stores[0])
		must(t, err)
	}
	_, err = owner.ExecContext(t.Context(), "ANALYZE")
	must(t, err)
	for name, statement := range delivery.Statements {
		plan, err := db.Explain(t.Context(), statement.SQL, statement.Args)
		must(t, err)
		for _, table := range []string{"deliveries", "undispatched", "plan_windows", "jobs"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
	}
}
