package ordering_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestReservationsUseIndexes checks that pages with each filter, and the search for occupied seats,
// read only the matching rows of a store with many reservations.
func TestReservationsUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	_, err := db.System().DB.ExecContext(t.Context(), `
		INSERT INTO reservations (id, store_id, status, customer_name, customer_email, customer_phone, party_size,
			start_at, end_at, notes, created_at, updated_at)
		SELECT 'res_' || n, CASE n % 10 WHEN 0 THEN $1 ELSE $2 END,
			(ARRAY['PENDING', 'CONFIRMED', 'CANCELLED', 'COMPLETED', 'NO_SHOW'])[1 + n % 5], 'Guest Number' || n,
			n || '@example.com', '+49' || 1000000 + n, 2,
			$3::timestamptz + n * interval '5 minutes', $3::timestamptz + n * interval '5 minutes' + interval '2 hours',
			'', now(), now()
		FROM generate_series(1, 50000) n`, r.Stores[1], r.Stores[0], noon)
	must(t, err)
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), "VACUUM ANALYZE reservations")
	must(t, err)
	from := app.At(noon.AddDate(0, 2, 0))
	for name, filter := range map[string]app.ReservationFilter{
		"all": {}, "a day": {Date: "2026-05-01"}, "all of a day": {Overlaps: "2026-05-01"}, "a time": {From: &from},
		"a status": {Statuses: []app.ReservationStatus{app.ReservationPending}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := db.ExplainReservations(t.Context(), r.Stores[0], filter)
			must(t, err)
			if !strings.Contains(plan, "Index Scan using reservations_") || strings.Contains(plan, "Seq Scan") ||
				strings.Contains(plan, "->  Sort") {
				t.Errorf("plan: got no index scan, a scan of all rows or a sort, want an index scan only:\n%s", plan)
			}
		})
	}
	for _, query := range []string{"guest number4711", "number4711", "4711@", "+491004711"} {
		plan, err := db.ExplainReservations(t.Context(), r.Stores[0], app.ReservationFilter{Query: query})
		must(t, err)
		if !strings.Contains(plan, "BitmapOr") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("plan of the search for %s: got no BitmapOr or a scan of all rows:\n%s", query, plan)
		}
	}
	plan, err := db.ExplainSeated(t.Context(), r.Stores[0], noon.AddDate(0, 2, 0),
		noon.AddDate(0, 2, 0).Add(2*time.Hour))
	must(t, err)
	if !strings.Contains(plan, "reservations_seated") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("plan of the seats: got a scan of all rows, want the index reservations_seated:\n%s", plan)
	}
}
