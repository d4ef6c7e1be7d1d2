package delivery_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// all is limits that hold nothing back.
var all = app.ClaimLimits{Batch: 100_000, SlowBatch: 100_000, Unproven: 100_000, Quick: 100_000, Slow: 100_000, Lease: time.Minute}

func setPlan(t *testing.T, db *persistencetest.Database, now time.Time, website app.WebsiteID, plan app.Plan) {
	t.Helper()
	_, err := db.ChangeWebsite(t.Context(), now, app.Actor{}, website, app.WebsiteChange{Plan: &plan})
	must(t, err)
}

// emit writes events, spread over the stores. Their ids go on from those before.
func emit(t *testing.T, db *persistencetest.Database, events int, stores ...app.StoreID) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), ($2::text[])[1 + i % cardinality($2::text[])], 'order.created', '{}', now()
		FROM (SELECT count(*) AS base FROM outbox WHERE id LIKE 'evt_x%') b, generate_series(1, $1::bigint) i`, events, stores)
	must(t, err)
}

// However many deliveries there have been and however many wait, no table is read whole.
func TestPlansAndRelaysReadByIndex(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, occurred_at, dispatched_at)
			SELECT 'evt_x' || i, $2, 'order.created', now(), CASE WHEN i > 300 THEN now() END FROM generate_series(1, 50000) i WHERE $1 <> ''`,
		`INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
			SELECT 'dlv_x' || i, $2, 'evt_x' || i, CASE WHEN i % 2 = 0 THEN $1 ELSE $1 || i % 100 END, 'order.created',
				CASE WHEN i % 4 = 0 THEN 'queued' ELSE 'delivered' END, now() + interval '1 s' * i, now() FROM generate_series(1, 50000) i`,
		`INSERT INTO plan_windows SELECT $1 || i % 100, now() + interval '1 h' * i, 500, 0, now() FROM generate_series(1, 10000) i WHERE $2 <> ''`,
	} {
		_, err := owner.ExecContext(t.Context(), statement, s.ID, r.Stores[0])
		must(t, err)
	}
	_, err = owner.ExecContext(t.Context(), "ANALYZE")
	must(t, err)
	for name, statement := range delivery.Statements {
		plan, err := db.Explain(t.Context(), statement.SQL, statement.Args)
		must(t, err)
		for _, table := range []string{"deliveries", "outbox", "plan_windows"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
	}
}
