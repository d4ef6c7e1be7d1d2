package migrations_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var must = persistencetest.Must

// ownedDatabase creates an empty database. Its owner is no superuser, and row-level security applies to it.
func ownedDatabase(t *testing.T) (ownerURL string) {
	t.Helper()
	server := persistencetest.New(t).OwnerURL
	name := "comanda_owned_" + strings.ToLower(rand.Text()[:8])
	admin, err := pgx.Connect(t.Context(), server)
	must(t, err)
	exec := func(ctx context.Context, statements ...string) {
		for _, statement := range statements {
			if _, err := admin.Exec(ctx, statement); err != nil {
				t.Error(err)
			}
		}
	}
	exec(t.Context(), "CREATE ROLE "+name+" LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'owner'",
		"CREATE DATABASE "+name+" OWNER "+name)
	t.Cleanup(func() {
		ctx := context.Background()
		exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)", "DROP ROLE "+name)
		admin.Close(ctx)
	})
	address, err := url.Parse(server)
	must(t, err)
	address.Path, address.User = "/"+name, url.UserPassword(name, "owner")
	return address.String()
}

func migrate(t *testing.T, ownerURL string, direction pg.Direction) {
	t.Helper()
	must(t, pg.Migrate(t.Context(), ownerURL, direction, &bytes.Buffer{}))
}

// fill inserts deliveries of the previous release, past the fences of their tables.
func fill(t *testing.T, db *pgx.Conn) {
	t.Helper()
	exec := func(statement string) {
		_, err := db.Exec(t.Context(), statement)
		must(t, err)
	}
	for _, table := range []string{"stores", "deliveries", "attempts"} {
		exec("ALTER TABLE " + table + " NO FORCE ROW LEVEL SECURITY")
		defer exec("ALTER TABLE " + table + " FORCE ROW LEVEL SECURITY")
	}
	for _, statement := range []string{
		`INSERT INTO websites (id, name, domain, plan, created_at)
			VALUES ('web_1', 'One', 'one.example', 'STARTER', now())`,
		`INSERT INTO stores (id, website_id, name, country_code, timezone, sandbox_of, created_at) VALUES
			('sto_live', 'web_1', 'Live', 'DE', 'Europe/Berlin', NULL, now()),
			('sto_twin', 'web_1', 'Twin', 'DE', 'Europe/Berlin', 'sto_live', now())`,
		`INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, attempts, replays,
				scheduled_for, created_at)
			SELECT id, store, 'evt_' || id, 'whk_1', type, status, attempts, replays, now(), now() FROM (VALUES
				('dlv_1', 'sto_live', 'order.created', 'queued', 0, 0),
				('dlv_2', 'sto_live', 'customer.updated', 'pending', 0, 0),
				('dlv_3', 'sto_live', 'order.created', 'retrying', 2, 0),
				('dlv_4', 'sto_twin', 'customer.created', 'queued', 6, 1),
				('dlv_5', 'sto_twin', 'order.created', 'pending', 1, 1),
				('dlv_6', 'sto_live', 'order.created', 'retrying', 8, 1),
				('dlv_7', 'sto_live', 'order.created', 'retrying', 9, 3),
				('dlv_8', 'sto_live', 'order.created', 'delivered', 1, 0)
			) d (id, store, type, status, attempts, replays)`,
		// dlv_6 was a dead letter, and two attempts of its replay failed. dlv_7 was a dead letter and then delivered.
		`INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
				status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || d || n, 'sto_live', d, 'whk_1', 'evt_' || d, 'order.created', n, status, 503, 1, '', now()
			FROM (SELECT 'dlv_6' AS d, n,
					CASE n WHEN 6 THEN 'dead_letter' WHEN 8 THEN 'retrying' ELSE 'failed' END AS status
				FROM generate_series(1, 8) n
				UNION ALL
				SELECT 'dlv_7', n, CASE n WHEN 6 THEN 'dead_letter' WHEN 8 THEN 'delivered' WHEN 9 THEN 'retrying'
					ELSE 'failed' END FROM generate_series(1, 9) n) a`,
	} {
		exec(statement)
	}
}

// queued is the part of a delivery that the migration writes.
type queued struct {
	ID           string
	Queue        *string
	Class        int
	ScheduleBase int
}

func queuedRows(t *testing.T, db *pgx.Conn) []queued {
	t.Helper()
	tx, err := db.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "ALTER TABLE deliveries NO FORCE ROW LEVEL SECURITY")
	must(t, err)
	rows, err := tx.Query(t.Context(), "SELECT id, queue, class::int, schedule_base FROM deliveries ORDER BY id")
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[queued])
	must(t, err)
	return found
}

// The owner of the tables is bound by their row-level security. The migration completes the rows of all stores
// nevertheless, each time that it is applied, and leaves the fences as they were.
func TestQueuesAreFilledInForAllStores(t *testing.T) {
	t.Parallel()
	ownerURL := ownedDatabase(t)
	migrate(t, ownerURL, pg.Up)
	db, err := pgx.Connect(t.Context(), ownerURL)
	must(t, err)
	defer db.Close(context.Background())
	down, err := migrations.Files.ReadFile("20261122000001_queues.tx.down.sql")
	must(t, err)
	_, err = db.Exec(t.Context(), string(down))
	must(t, err)
	_, err = db.Exec(t.Context(), "DELETE FROM bun_migrations WHERE name = '20261122000001'")
	must(t, err)
	fill(t, db)

	live, twin := "web_1", "sto_twin"
	want := []queued{
		{"dlv_1", &live, 0, 0}, {"dlv_2", &live, 1, 0}, {"dlv_3", &live, 0, 0},
		{"dlv_4", &twin, 2, 6}, {"dlv_5", &twin, 2, 1}, {"dlv_6", &live, 2, 6}, {"dlv_7", &live, 2, 8},
		{"dlv_8", nil, 0, 0},
	}
	for range 2 {
		migrate(t, ownerURL, pg.Up)
		if diff := cmp.Diff(want, queuedRows(t, db)); diff != "" {
			t.Errorf("queued rows (-want +got):\n%s", diff)
		}
		var open int
		must(t, db.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace
			AND relrowsecurity AND NOT relforcerowsecurity`).Scan(&open))
		if open != 0 {
			t.Errorf("tables without forced row-level security: got %d, want 0", open)
		}
		migrate(t, ownerURL, pg.Down)
	}
	var columns int
	must(t, db.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.columns
		WHERE column_name IN ('queue', 'class', 'generation', 'schedule_base', 'burst_id', 'check_at', 'counted_in')
			AND table_name = 'deliveries'`).Scan(&columns))
	if columns != 0 {
		t.Errorf("columns after down: got %d, want 0", columns)
	}
}

// A delivery that the previous release queues while this one is starting enters the queue of its store.
func TestThePreviousReleaseEntersQueues(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := persistencetest.Open(t, db, "one.example")
	_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO deliveries (id, store_id, event_id, subscription_id,
			event_type, status, attempts, replays, scheduled_for, created_at)
		VALUES ('dlv_1', $1, 'evt_1', 'whk_1', 'customer.updated', 'queued', 0, 0, $2, $2)`, r.Stores[0], time.Now())
	must(t, err)
	for _, step := range []struct {
		change string
		want   string
	}{
		{"generation = generation", "queued 1 0 0"},
		{"status = 'pending'", "pending 1 1 0"},
		{"status = 'dead_letter', attempts = 6", "dead_letter 1 1 0"},
		{"status = 'queued', replays = replays + 1", "queued 2 1 6"},
		{"status = 'pending'", "pending 2 2 6"},
		{"status = 'delivered', attempts = 7", "delivered 2 2 6"},
		{"status = 'queued', replays = replays + 1", "queued 2 2 7"},
		{"status = 'pending', generation = generation + 1", "pending 2 3 7"}, // as this release does
	} {
		var got string
		statement := "UPDATE deliveries SET " + step.change +
			" WHERE queue = $1 RETURNING concat_ws(' ', status, class, generation, schedule_base)"
		must(t, db.System().DB.QueryRowContext(t.Context(), statement, r.Website).Scan(&got))
		if got != step.want {
			t.Errorf("%s: %s, want %s", step.change, got, step.want)
		}
	}
}
