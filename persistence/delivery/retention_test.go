package delivery_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var retention = app.Retention{
	Bodies: 30 * 24 * time.Hour, Log: 90 * 24 * time.Hour, Audit: 400 * 24 * time.Hour,
}

func erase(t *testing.T, db *persistencetest.Database, now time.Time) (app.Erased, int) {
	t.Helper()
	beats := 0
	erased, err := db.Erase(t.Context(), now, retention, func() { beats++ })
	must(t, err)
	return erased, beats
}

// history inserts an event that occurred some days ago, with deliveries that ended the given number of
// days ago ("-" = not ended). Each delivery has one attempt.
func history(
	t *testing.T, db *persistencetest.Database, store app.StoreID, name string, occurred float64, deliveries ...string,
) {
	t.Helper()
	ago := func(days float64) time.Time { return noon.Add(-time.Duration(days * float64(24*time.Hour))) }
	at := ago(occurred)
	change(t, db, `INSERT INTO outbox (id, store_id, type, body, occurred_at)
		VALUES ($1, $2, 'order.created', '{}', $3)`, name, store, at)
	for i, ended := range deliveries {
		id := fmt.Sprint(name, "_", i)
		var end *time.Time
		status := "retrying"
		if ended != "-" {
			var days float64
			fmt.Sscan(ended, &days)
			at := ago(days)
			end, status = &at, "dead_letter"
		}
		change(t, db, `INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status,
			scheduled_for, created_at, ended_at)
			VALUES ($1, $2, $2, $3, 'whk_' || $1, 'order.created', $4, $5, $5, $6)`, id, store, name, status, at, end)
		change(t, db, `INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number,
			status, status_code,
				response_time_ms, error, response_headers, response_body, attempted_at)
			VALUES ($1, $2, $1, 'whk_' || $1, $3, 'order.created', 1, 'failed', 500, 1, '', '{}', 'secret',
				$4)`, id, store, name, at)
	}
}

// Bodies are erased thirty days after the last delivery of their event, other rows ninety days after
// their own delivery. A repeated erasure finds nothing.
func TestErase(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	history(t, db, store, "evt_old", 200, "100", "91")
	history(t, db, store, "evt_open", 200, "100", "-")
	history(t, db, store, "evt_replayed", 200, "100", "29.9")
	history(t, db, store, "evt_quiet", 31)
	history(t, db, store, "evt_quiet_new", 29)
	history(t, db, store, "evt_quiet_old", 91)
	history(t, db, store, "evt_ended", 80, "31", "30.1")
	history(t, db, store, "evt_recent", 31, "30.1", "29.9")
	history(t, db, store, "evt_waiting", 100)
	change(t, db, `INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
		SELECT store_queue(store_id), store_id, number, id, type, occurred_at FROM outbox
		WHERE store_id = $1 AND id = 'evt_waiting'`, store)
	for name, days := range map[string]float64{"evt_tested": 31, "evt_tested_old": 91} {
		t.Run(name, func(t *testing.T) { // tests have no delivery
			history(t, db, store, name, days)
			change(t, db, `INSERT INTO attempts (id, store_id, subscription_id, event_id, event_type, number, status,
			status_code,
				response_time_ms, error, response_headers, response_body, attempted_at)
			VALUES ($1, $2, 'whk_1', $1, 'test.ping', 1, 'delivered', 200, 1, '', '{}', 'secret',
				$3)`, name, store, noon)
		})
	}
	got, _ := erase(t, db, noon)
	want := app.Erased{Bodies: 6, Deliveries: 4, Events: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("erased rows (-want +got):\n%s", diff)
	}
	// "-" marks an erased body, "+" an existing one.
	for want, statement := range map[string]string{
		"evt_ended- evt_open+ evt_quiet- evt_quiet_new+ evt_recent+ evt_replayed+ evt_tested- evt_waiting+": `
			SELECT id || CASE WHEN body IS NULL THEN '-' ELSE '+' END AS x
			FROM outbox WHERE type = 'order.created'`,
		"evt_ended_0 evt_ended_1 evt_open_1 evt_recent_0 evt_recent_1 evt_replayed_1": `
			SELECT id AS x FROM deliveries`,
		"evt_ended_0- evt_ended_1- evt_open_1+ evt_recent_0+ evt_recent_1+ evt_replayed_1+ evt_tested-": `
			SELECT id || CASE WHEN response_body IS NULL AND response_headers IS NULL THEN '-' ELSE '+' END AS x
			FROM attempts`,
	} {
		var left string
		must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT string_agg(x, ' ' ORDER BY x)
			FROM (`+statement+") t").Scan(&left))
		if left != want {
			t.Errorf("%s:\n%s, want\n%s", statement, left, want)
		}
	}
	if again, _ := erase(t, db, noon); again != (app.Erased{}) {
		t.Errorf("second Erase: got %+v, want nothing", again)
	}
	_, err := db.Replay(t.Context(), noon, store, app.Actor{}, "evt_ended_0")
	if app.CodeOf(err) != app.CodePayloadErased {
		t.Errorf("Replay of an erased event: got error %v, want %s", err, app.CodePayloadErased)
	}
}

// Expired sessions, invitations, mails, bulk replays and idempotency keys are erased.
func TestEraseExpiredRows(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	persistencetest.Session(t, db.DB, noon, r.Owner, r.Stores[0], time.Hour)
	persistencetest.Session(t, db.DB, noon, r.Owner, r.Stores[0], 1000*time.Hour)
	_, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	replay := createReplay(t, db, r.Stores[0], allOf(""))
	step(t, db, r.Stores[0], replay.ID, 10)
	running := createReplay(t, db, r.Stores[0], allOf(""))
	change(t, db, `INSERT INTO invitations (id, website_id, email, name, role, store_ids, token_hash, invited_by,
		created_at, expires_at)
		VALUES ('inv_1', $1, 'a@b.c', '', 'STAFF', ARRAY['x'], 'x', $2, $3, $3)`, r.Website, r.Owner.ID, noon)
	change(t, db, `INSERT INTO idempotency_keys (store_id, credential, route, key, body_hash, response, created_at)
		SELECT $1, 'c', 'r', i::text, '', '', $2::timestamptz + i * interval '1 hour'
		FROM generate_series(1, 1200) i`, r.Stores[0], noon)
	change(t, db, `INSERT INTO platform_idempotency_keys (credential, route, key, body_hash, response, existed,
			created_at)
		SELECT 'c', 'r', i::text, '', '', false, $1::timestamptz + i * interval '1 hour' FROM generate_series(1, 3) i`,
		noon)
	change(t, db, `INSERT INTO mails
			(id, store_id, queue, kind, subject, details, status, lease_until, created_at, ended_at)
		VALUES ('mail_1', $1, $1, 'invitation', 'inv_1', '{}', 'sent', $2, $2, $2),
			('mail_2', $1, $1, 'invitation', 'inv_2', '{}', 'queued', $2, $2, NULL)`, r.Stores[0], noon)
	if got, _ := erase(t, db, noon.Add(24*time.Hour)); got != (app.Erased{}) {
		t.Errorf("Erase before the retention: got %+v, want nothing", got)
	}
	got, beats := erase(t, db, later.Add(90*24*time.Hour+time.Hour))
	if diff := cmp.Diff(app.Erased{Replays: 1, Sessions: 2, Invitations: 1, Mails: 1, IdempotencyKeys: 1203},
		got); diff != "" {
		t.Errorf("erased rows after 90 days (-want +got):\n%s", diff)
	}
	if beats < 10 {
		t.Errorf("heartbeats: got %d, want at least 10", beats)
	}
	if _, err := db.BulkReplay(t.Context(), r.Stores[0], "", running.ID); err != nil {
		t.Errorf("running bulk replay after Erase: got error %v, want none", err)
	}
	if n := count(t, db, "SELECT count(*) FROM sessions"); n != 1 {
		t.Errorf("sessions: got %d, want 1", n)
	}
}

// The time of a webhook's last delivery outlives the attempt.
func TestEraseKeepsTheTimeOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	webhook := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	last := func() *app.Time {
		t.Helper()
		s, err := db.Subscription(t.Context(), r.Stores[0], webhook)
		must(t, err)
		return s.LastDeliveryAt
	}
	enqueue(t, db, app.EventOrderCreated, 2, r.Stores[0])
	for i, c := range claimOnce(t, db.Queue, noon, all) {
		attempt(t, db, c.ID, 1, app.AttemptDelivered, time.Millisecond)
		change(t, db, "UPDATE attempts SET attempted_at = $1 WHERE delivery_id = $2", noon.Add(time.Duration(i)*time.Hour),
			c.ID)
	}
	before := last()
	if erased, _ := erase(t, db, noon.AddDate(0, 0, 100)); erased.Deliveries != 2 {
		t.Fatalf("erased %+v, want both deliveries", erased)
	}
	if after := last(); before == nil || after == nil || *after != *before {
		t.Errorf("last delivery: got %v, and %v after the erasure, want the same", before, after)
	}
}

// Erase processes many batches, and skips a few rows that must stay.
func TestEraseManyBatches(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	backlog(t, db, store, 2600, noon.Add(-100*24*time.Hour))
	change(t, db, `UPDATE deliveries SET ended_at = NULL, status = 'retrying'
		WHERE id IN (SELECT id FROM deliveries ORDER BY id LIMIT 7)`)
	got, beats := erase(t, db, noon)
	if diff := cmp.Diff(app.Erased{Bodies: 2593, Deliveries: 2593, Events: 2593}, got); diff != "" || beats < 18 {
		t.Errorf("got %d heartbeats, want at least 18; erased (-want +got): %s", beats, diff)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts"); n != 7 {
		t.Errorf("attempts: got %d, want 7", n)
	}
}

// backlog inserts one event per minute from a time on, each with a delivery and an attempt.
func backlog(t *testing.T, db *persistencetest.Database, store app.StoreID, n int, from time.Time) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, body, occurred_at)
			SELECT 'evt_' || lpad(i::text, 12, '0'), $1, 'order.created', '{}',
				$2::timestamptz + i * interval '1 minute' FROM generate_series(1, $3::int) i`,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
			created_at, ended_at)
			SELECT 'dlv_' || uuidv7_hex($2::timestamptz + i * interval '1 minute', i), $1, $1,
				'evt_' || lpad(i::text, 12, '0'), 'whk_1', 'order.created', 'delivered', $2,
				$2::timestamptz + i * interval '1 minute',
				$2::timestamptz + i * interval '1 minute' FROM generate_series(1, $3::int) i`,
		`INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || event_id, store_id, id, subscription_id, event_id, event_type, 1, 'delivered', 200, 1, '',
				created_at
			FROM deliveries WHERE store_id = $1 AND created_at > $2::timestamptz AND $3::int > 0`,
	} {
		change(t, db, statement, store, from, n)
	}
}

// The events of a transaction have a bounded number of attempts.
func TestEraseManyAttempts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	for i := range 5 {
		history(t, db, store, fmt.Sprint("evt_many_", i), 40, "35", "35")
	}
	_, few := erase(t, db, noon.AddDate(0, 0, -10))
	change(t, db, "UPDATE deliveries SET attempts = 3000")
	erased, many := erase(t, db, noon)
	if erased.Bodies != 5 || many != few+5 {
		t.Errorf("erased %d bodies in %d transactions, want 5 in %d: one for each event", erased.Bodies, many, few+5)
	}
}

// Erase skips a body that a concurrent replay has locked.
func TestEraseSkipsLockedBodies(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	history(t, db, store, "evt_1", 31, "31")
	replay, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = replay.ExecContext(t.Context(), "SELECT FROM outbox WHERE id = 'evt_1' AND body IS NOT NULL FOR KEY SHARE")
	must(t, err)
	if got, _ := erase(t, db, noon); got.Bodies != 0 {
		t.Errorf("Erase during a replay: got %+v, want nothing", got)
	}
	must(t, replay.Rollback())
	if got, _ := erase(t, db, noon); got.Bodies != 1 {
		t.Errorf("Erase after the replay: got %+v, want 1 body", got)
	}
}

var seqScan = regexp.MustCompile(`Seq Scan on (\w+)`)

// Erase reads large tables by indexes.
func TestEraseUsesIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	backlog(t, db, store, 50_000, noon)
	change(t, db, "UPDATE outbox SET body = NULL WHERE id < 'evt_000000030000'")
	change(t, db, `INSERT INTO idempotency_keys (store_id, credential, route, key, body_hash, response, created_at)
		SELECT $1, 'c', 'r', i::text, '', '', $2::timestamptz + i * interval '1 minute'
		FROM generate_series(1, 20000) i`, store, noon)
	change(t, db, `INSERT INTO sessions (id, user_id, created_at, proven_at, expires_at)
		SELECT 'ses_' || i, $1, $2, $2, $2 FROM generate_series(1, 100000) i`, r.Owner.ID, noon)
	pool, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer pool.Close()
	owner, err := pool.Conn(t.Context())
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{"ANALYZE", "SET plan_cache_mode = force_generic_plan"} {
		_, err := owner.ExecContext(t.Context(), statement)
		must(t, err)
	}
	for statement, args := range delivery.ErasingStatements(noon.Add(time.Hour)) {
		plan := explain(t, owner, statement, args...)
		if strings.Contains(statement, "(occurred_at, id)") && !strings.Contains(plan, "outbox_kept") {
			t.Errorf("plan without outbox_kept:\n%s", plan)
		}
		for _, scan := range seqScan.FindAllStringSubmatch(plan, -1) {
			if strings.Contains("outbox deliveries attempts idempotency_keys sessions", scan[1]) {
				t.Errorf("plan: got a scan of all rows, want none: %s\n%s", statement, plan)
			}
		}
	}
}

// explain returns PostgreSQL's plan of a statement.
func explain(t *testing.T, conn *sql.Conn, statement string, args ...any) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN "+statement, args...)
	must(t, err)
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	must(t, rows.Err())
	return plan.String()
}

// A replaced secret is erased after its overlap, the secret of a webhook when the webhook is deleted.
func TestEraseSecrets(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	_, err := db.RotateSecret(t.Context(), noon, r.Stores[0], app.Actor{}, s.ID,
		app.NewSecret("another secret of many characters"), time.Hour, 0)
	must(t, err)
	for _, c := range []struct {
		after time.Duration
		kept  int
	}{{time.Hour - time.Second, 1}, {time.Hour, 0}} {
		erase(t, db, noon.Add(c.after))
		if n := count(t, db, "SELECT count(*) FROM subscriptions WHERE previous_secret IS NOT NULL"); n != c.kept {
			t.Errorf("replaced secrets %v after the rotation: got %d, want %d", c.after, n, c.kept)
		}
	}
	must(t, db.DeleteSubscription(t.Context(), noon, r.Stores[0], app.Actor{}, s.ID, 0))
	if n := count(t, db, "SELECT count(*) FROM subscriptions WHERE secret <> ''"); n != 0 {
		t.Errorf("secrets of deleted webhooks: got %d, want 0", n)
	}
}
