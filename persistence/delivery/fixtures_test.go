package delivery_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// Short names of frequently used functions of the test kit.
var (
	noon    = persistencetest.Noon
	limits  = persistencetest.Limits
	must    = persistencetest.Must
	count   = persistencetest.Count
	claim   = persistencetest.Claim
	attempt = persistencetest.Attempt
	mailing = persistencetest.WithMails
	change  = persistencetest.Exec

	undispatched = persistencetest.Undispatched
)

// restaurant adds methods of this package's tests to the restaurant of the test kit.
type restaurant struct{ persistencetest.Restaurant }

func open(t *testing.T, db *persistencetest.Database, domain string) restaurant {
	t.Helper()
	return restaurant{persistencetest.Open(t, db, domain)}
}

// owner is the actor of changes.
var owner = app.Actor{Realm: app.RealmTenant, ID: "usr_1", Address: "192.0.2.1", RequestID: "req_1"}

// all are claim limits that tests do not reach.
var all = batches(100_000)

// batches returns claim limits of which tests reach only the size of a claim.
func batches(n int) app.ClaimLimits {
	return app.ClaimLimits{
		Batch: n, SlowBatch: n, Unproven: 100_000, Quick: 100_000, Slow: 100_000, Lease: time.Minute,
	}
}

func setPlan(t *testing.T, db *persistencetest.Database, now time.Time, website app.WebsiteID, plan app.Plan) {
	t.Helper()
	_, err := db.ChangeWebsite(t.Context(), now, app.Actor{}, website, app.WebsiteChange{Plan: &plan})
	must(t, err)
}

// emit writes events that happened at noon, distributed over the stores. Their ids continue those of
// earlier events.
func emit(t *testing.T, db *persistencetest.Database, kind app.EventType, events int, stores ...app.StoreID) {
	t.Helper()
	emitSeveral(t, db, noon, kind, events, stores...)
}

// emitSeveral is [emit] for events of another time.
func emitSeveral(
	t *testing.T, db *persistencetest.Database, at time.Time, kind app.EventType, events int, stores ...app.StoreID,
) {
	t.Helper()
	change(t, db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), ($2::text[])[1 + i % cardinality($2::text[])], $3, '{}', $4
		FROM (SELECT count(*) AS base FROM outbox WHERE id LIKE 'evt_x%') b, generate_series(1, $1::bigint) i`),
		events, stores, kind, at)
}

// enqueue emits events and dispatches them.
func enqueue(t *testing.T, db *persistencetest.Database, kind app.EventType, events int, stores ...app.StoreID) {
	t.Helper()
	emit(t, db, kind, events, stores...)
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
}

// claimOnce runs one claim.
func claimOnce(t *testing.T, q *delivery.Queue, now time.Time, limits app.ClaimLimits) []app.Claim {
	t.Helper()
	found, err := q.Claim(t.Context(), now, limits)
	must(t, err)
	return found.Claims
}

// claimAll claims until a claim is empty, and returns all claims in their order.
func claimAll(t *testing.T, q *delivery.Queue, now time.Time, limits app.ClaimLimits) (claims []app.Claim) {
	t.Helper()
	for {
		found := claimOnce(t, q, now, limits)
		if len(found) == 0 {
			return claims
		}
		claims = append(claims, found...)
	}
}

// deliver marks the pending deliveries as delivered.
func deliver(t *testing.T, db *persistencetest.Database) {
	t.Helper()
	change(t, db, `UPDATE deliveries SET status = 'delivered', attempts = attempts + 1, ended_at = $1
		WHERE status = 'pending'`, noon)
}

// withPolicy opens a queue with another policy.
func withPolicy(t *testing.T, db *persistencetest.Database, change func(*delivery.Policy)) *delivery.Queue {
	t.Helper()
	pools, err := pg.Open(pg.Config{URL: db.URL, SystemURL: db.SystemURL, MaxConns: 4})
	must(t, err)
	policy := persistencetest.Policy()
	change(&policy)
	queue := delivery.New(pools, delivery.Config{Sealer: persistencetest.Keyring().Sealer(), Policy: policy})
	t.Cleanup(func() {
		queue.Close()
		pools.Close()
	})
	return queue
}

// perSubscription counts claims by subscription.
func perSubscription(claims []app.Claim) map[app.SubscriptionID]int {
	counts := map[app.SubscriptionID]int{}
	for _, c := range claims {
		counts[c.SubscriptionID]++
	}
	return counts
}

// endOthers ends the other connections to a database. Without it, PostgreSQL publishes what they have read up to ten
// seconds later, in the middle of a measurement. Their pools cannot be used afterwards.
func endOthers(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	_, err := owner.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)
	must(t, err)
}

// seed runs a statement as the owner of the database.
func seed(t *testing.T, db *persistencetest.Database, statement string, args ...any) {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = owner.Exec(t.Context(), statement, args...)
	must(t, err)
}

// waitForLocks waits until a number of statements wait for locks, which must have no limit that ends the wait.
func waitForLocks(t *testing.T, db *persistencetest.Database, statements int) {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	deadline := time.Now().Add(time.Minute)
	for waiting := false; !waiting; {
		must(t, owner.QueryRow(t.Context(), `SELECT count(*) >= $1 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`, statements).Scan(&waiting))
		if time.Now().After(deadline) {
			t.Fatalf("statements that wait for locks: got less than %d", statements)
		}
	}
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compare orders strings, for example ids.
func compare[T ~string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
