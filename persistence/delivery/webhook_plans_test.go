package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The statements about one subscription read only its rows; counts read no rows at all.
func TestSubscriptionStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	for _, statement := range []string{
		`INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || n, '` + string(store) + `', 'dlv_' || n, 'whk_' || n % 100, 'evt_' || n, 'order.created',
				1, 'delivered', 200, n % 50, '', timestamptz '2026-03-01' + n * interval '1 minute'
			FROM generate_series(1, 40000) n`,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
				created_at)
			SELECT 'dlv_' || n, '` + string(store) + `', 'web_1', 'evt_' || n, 'whk_' || n % 100, 'order.created',
				(ARRAY['delivered', 'delivered', 'delivered', 'delivered', 'delivered',
					'retrying', 'dead_letter', 'queued', 'pending', 'cancelled'])[1 + n / 100 % 10], now(), now()
			FROM generate_series(1, 40000) n`,
		"VACUUM ANALYZE attempts", "VACUUM ANALYZE deliveries",
	} {
		_, err := owner.Exec(t.Context(), statement)
		must(t, err)
	}
	from := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	for name, query := range map[string]struct {
		statement string
		args      []any
		indexOnly bool
	}{
		"attempts counted": {delivery.CountAttempts, []any{store, "whk_1"}, true},
		"statistics": {delivery.AttemptStats, []any{app.ByDay, store, "whk_1", from, from.AddDate(0, 0, 7)},
			true},
		"retrying now":       {delivery.RetryingNow, []any{store, "whk_1"}, false},
		"open deliveries":    {delivery.OpenDeliveries, []any{store, "whk_1", "", 100}, false},
		"queued to cancel":   {delivery.CancelQueued, []any{store, "whk_1", from, app.ReasonDeleted, 1000}, false},
		"last attempt shown": {delivery.LastAttempt, []any{"whk_1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := db.ExplainInStore(t.Context(), store, query.statement, query.args...)
			must(t, err)
			if strings.Contains(plan, "Seq Scan on attempts") || strings.Contains(plan, "Seq Scan on deliveries") ||
				query.indexOnly && !strings.Contains(plan, "Index Only Scan using attempts_of_subscription") {
				t.Errorf("plan: got a scan of all rows, or no index-only scan (wanted: %t):\n%s", query.indexOnly, plan)
			}
		})
	}
}
