package migrations_test

import (
	"context"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/migrations"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// oldRows are rows of earlier releases, by the migration before which they are inserted. Backfills change them.
var oldRows = map[string]string{
	"20261121000010": `
		INSERT INTO websites (id, name, domain, plan, created_at)
			VALUES ('web_1', 'One', 'one.example', 'STARTER', '2026-03-01');
		INSERT INTO stores (id, website_id, name, country_code, timezone, business_day_cutoff_hour, created_at) VALUES
			('sto_1', 'web_1', 'One', 'DE', 'Europe/Berlin', 4, '2026-03-01'),
			('sto_2', 'web_1', 'Two', 'DE', 'Europe/Berlin', 0, '2026-03-01');
		INSERT INTO store_views (id, store_id, code, locale, currency, is_default)
			VALUES ('viw_1', 'sto_1', 'de', 'de-DE', 'EUR', true), ('viw_2', 'sto_2', 'de', 'de-DE', 'EUR', true);
		INSERT INTO users (id, email, name, password_hash, created_at) VALUES
			('usr_1', 'Ada@example.com', 'Ada', '-', '2026-03-01'),
			('usr_2', 'bob@example.com', 'Bob', '-', '2026-03-01');
		INSERT INTO memberships (user_id, store_id, role, created_at)
			VALUES ('usr_1', 'sto_1', 'OWNER', '2026-03-01'), ('usr_2', 'sto_1', 'STAFF', '2026-03-02');
		INSERT INTO sessions (id, user_id, active_store_id, active_view_id, created_at, expires_at)
			VALUES ('ses_1', 'usr_1', 'sto_1', 'viw_1', '2026-03-01', '2026-03-08');
		INSERT INTO products (id, store_id, name, price_minor, currency, created_at, updated_at)
			VALUES ('prd_1', 'sto_1', 'Pizza', 950, 'EUR', '2026-03-01', '2026-03-01');
		INSERT INTO customers (id, store_id, kind, email, created_at, updated_at) VALUES
			('cus_1', 'sto_1', 'guest', 'Eve@example.com', '2026-03-01 01:00Z', '2026-03-01'),
			('cus_2', 'sto_1', 'registered', 'Eve@Example.com', '2026-03-02', '2026-03-02');
		INSERT INTO order_numbers (store_id, last) VALUES ('sto_1', 2);
		INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
				customer_name, customer_email, customer_phone, subtotal_minor, discount_minor, delivery_fee_minor,
				tax_minor, tax_included, total_minor, currency, note, business_date, created_at, updated_at) VALUES
			('ord_1', 'sto_1', 1, 'viw_1', 'COMPLETED', 'PICKUP', 'WEB', 'cus_1', 'Eve', 'Eve@example.com', '', 1900, 0,
				0, 0, true, 1900, 'EUR', '', '2026-03-03', '2026-03-03 12:00Z', '2026-03-03'),
			('ord_2', 'sto_1', 2, 'viw_1', 'CANCELLED', 'PICKUP', 'WEB', 'cus_2', 'Eve', 'Eve@Example.com', '', 950, 0,
				0, 0, true, 950, 'EUR', '', '2026-03-04', '2026-03-04 12:00Z', '2026-03-04');
		INSERT INTO order_items (order_id, store_id, position, product_id, product_name, quantity, unit_price_minor,
				total_minor, discount_minor, tax_rate_ppm) VALUES
			('ord_1', 'sto_1', 1, 'prd_1', 'Pizza', 2, 950, 1900, 0, 0),
			('ord_2', 'sto_1', 1, 'prd_1', 'Pizza', 1, 950, 950, 0, 0);
		INSERT INTO outbox (id, store_id, type, body, occurred_at, dispatched_at)
			SELECT 'evt_' || n, 'sto_1', 'order.created', '{}', '2026-03-03', '2026-03-03' FROM generate_series(1, 3) n;
		INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
			VALUES ('whk_1', 'sto_1', 'https://example.com', '{order.created}', '-', '2026-03-01', '2026-03-01');
		INSERT INTO subscription_health (subscription_id, store_id) VALUES ('whk_1', 'sto_1');
		INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, attempts, scheduled_for,
				created_at)
			SELECT 'dlv_019cb1e8f4007000800000000000000' || n, 'sto_1', 'evt_' || n, 'whk_1', 'order.created', status,
				n, '2026-03-03', '2026-03-05'
			FROM (VALUES (1, 'queued'), (2, 'retrying'), (3, 'dead_letter')) d (n, status);
		INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
				status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || n, 'sto_1', 'dlv_019cb1e8f40070008000000000000003', 'whk_1', 'evt_3', 'order.created', n,
				CASE n WHEN 3 THEN 'dead_letter' ELSE 'failed' END, 500, 1, 'error ' || n, '2026-03-03'
			FROM generate_series(1, 3) n;`,
	"20261122000250": `
		INSERT INTO outbox (id, store_id, type, body, occurred_at)
			VALUES ('evt_waiting', 'sto_1', 'order.created', '{}', '2026-03-03');`,
	"20261121000032": `
		INSERT INTO stores (id, website_id, name, country_code, timezone, sandbox_of, created_at)
			VALUES ('sto_3', 'web_1', 'One (sandbox)', 'DE', 'Europe/Berlin', 'sto_1', '2026-03-01');
		INSERT INTO memberships (user_id, store_id, role, created_at) VALUES ('usr_2', 'sto_3', 'ADMIN', '2026-03-02');
		INSERT INTO api_keys (id, store_id, name, scopes, mode, hash, last_four, created_at)
			VALUES ('key_1', 'sto_1', 'Till', '{read:orders}', 'live', sha256('1'), '0000', '2026-03-01');
		INSERT INTO customer_sessions (id, store_id, customer_id, created_at, expires_at)
			VALUES ('ses_2', 'sto_1', 'cus_2', '2026-03-01', '2026-03-08');
		INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
			VALUES ('sto_1', 'google', '1', 'cus_2', '2026-03-01');
		INSERT INTO invitations (id, website_id, email, name, role, store_ids, token_hash, invited_by, created_at,
				expires_at)
			SELECT 'inv_' || n, 'web_1', email, 'Eve', 'STAFF', ARRAY[store], sha256(email::bytea), inviter,
				'2026-03-01', '2100-01-01'
			FROM (VALUES (1, 'Eve1@example.com', 'sto_3', 'usr_1'), (2, 'eve2@example.com', 'sto_1', 'usr_2'),
				(3, 'eve3@example.com', 'sto_1', 'usr_1')) i (n, email, store, inviter);
		INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
			VALUES ('aud_1', 'sto_1', 'login.failed', '', '', 'usr_1', '{}', '', '', '2026-03-01');`,
	"20261122000241": `UPDATE stores SET name = 'Kitchen' WHERE id = 'sto_3';`,
}

// walk applies all migrations as the owner and inserts the rows of oldRows as a superuser.
func walk(t *testing.T, owner, superuser *pgx.Conn) {
	t.Helper()
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	must(t, err)
	missing := maps.Clone(oldRows)
	for _, name := range names { // sorted
		number := strings.Split(name, "_")[0]
		if _, err := superuser.Exec(t.Context(), missing[number]); err != nil {
			t.Fatalf("rows before %s: %v", name, err)
		}
		delete(missing, number)
		text, err := migrations.Files.ReadFile(name)
		must(t, err)
		statements := []string{"BEGIN;" + string(text) + ";COMMIT"}
		if !strings.HasSuffix(name, ".tx.up.sql") {
			statements = strings.Split(string(text), "--bun:split\n")
		}
		for _, statement := range statements {
			if _, err := owner.Exec(t.Context(), statement); err != nil {
				t.Fatalf("%s as %s: %v", name, owner.Config().User, err)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("migrations of oldRows: got the unknown ones %v, want none", slices.Collect(maps.Keys(missing)))
	}
}

// content returns the rows of all tables as JSON.
func content(t *testing.T, superuser *pgx.Conn) map[string][]string {
	t.Helper()
	rows, err := superuser.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'bun_%'`)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	all := map[string][]string{}
	for _, table := range tables {
		rows, err := superuser.Query(t.Context(), "SELECT to_jsonb(t)::text FROM "+table+" t ORDER BY 1")
		must(t, err)
		all[table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
	}
	return all
}

// connect connects to a database of the tests' server. The connection is closed at the end of the test.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// asSuperuser returns the URL of the tests' superuser for the database of another URL.
func asSuperuser(t *testing.T, address string) string {
	t.Helper()
	superuser, err := url.Parse(persistencetest.New(t).OwnerURL)
	must(t, err)
	database, err := url.Parse(address)
	must(t, err)
	superuser.Path = database.Path
	return superuser.String()
}

// An owner who is no superuser is bound by forced row-level security, under which a statement finds no rows. Each
// backfill nevertheless changes the rows of all stores, as it does for a superuser.
func TestBackfillsAsOrdinaryOwner(t *testing.T) {
	t.Parallel()
	var contents [2]map[string][]string
	for i, owned := range []bool{true, false} {
		address := ownedDatabase(t)
		superuser := connect(t, asSuperuser(t, address))
		owner := superuser
		if owned {
			owner = connect(t, address)
		}
		_, err := owner.Exec(t.Context(), `CREATE TABLE bun_migrations (id bigserial, name text, group_id bigint,
			migrated_at timestamptz)`)
		must(t, err)
		walk(t, owner, superuser)
		contents[i] = content(t, superuser)
		var open []string
		must(t, superuser.QueryRow(t.Context(), `SELECT coalesce(array_agg(relname), '{}') FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relrowsecurity AND NOT relforcerowsecurity`).Scan(&open))
		if len(open) > 0 {
			t.Errorf("tables without forced row-level security: got %v, want none", open)
		}
	}
	if diff := cmp.Diff(contents[1], contents[0]); diff != "" {
		t.Errorf("rows after the migrations by a superuser (-) and by an ordinary owner (+):\n%s", diff)
	}
	for event, want := range map[string]bool{"evt_1": true, "evt_waiting": false} {
		if got := slices.ContainsFunc(contents[0]["event_log"], func(row string) bool {
			return strings.Contains(row, `"id": "`+event+`"`)
		}); got != want {
			t.Errorf("position of %s: got %v, want %v, for dispatched events only", event, got, want)
		}
	}
	for _, table := range backfilled(t) {
		if len(contents[0][table]) == 0 {
			t.Errorf("rows of %s, which a migration changes: got none, add some to oldRows", table)
		}
	}
}

// statement matches a statement of a migration, outside functions, that changes rows.
var statement = regexp.MustCompile(`(?m)^(?:UPDATE|INSERT INTO|DELETE FROM) (\w+)`)

// backfilled returns the tables whose rows a migration changes.
func backfilled(t *testing.T) (tables []string) {
	t.Helper()
	names, err := fs.Glob(migrations.Files, "*.up.sql")
	must(t, err)
	for _, name := range names {
		text, err := migrations.Files.ReadFile(name)
		must(t, err)
		for _, match := range statement.FindAllStringSubmatch(string(text), -1) {
			tables = append(tables, match[1])
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}

// The deliveries of an installation whose owner could not change them in migration 20261121000033 are repaired.
func TestDeliveryKeysAreRepaired(t *testing.T) {
	t.Parallel()
	address := ownedDatabase(t)
	migrate(t, address, pg.Up)
	superuser := connect(t, asSuperuser(t, address))
	rows := oldRows["20261121000010"]
	_, err := superuser.Exec(t.Context(), rows[strings.Index(rows, "INSERT INTO deliveries"):])
	must(t, err)
	text, err := migrations.Files.ReadFile("20261122000151_repair_delivery_keys.tx.up.sql")
	must(t, err)
	_, err = connect(t, address).Exec(t.Context(), string(text))
	must(t, err)
	var wrong int
	must(t, superuser.QueryRow(t.Context(), `SELECT count(*) FROM deliveries WHERE created_at <> '2026-03-03 04:16:00Z'
		OR reason <> CASE status WHEN 'dead_letter' THEN 'error 3' ELSE '' END`).Scan(&wrong))
	if wrong != 0 {
		t.Errorf("deliveries with a wrong time or reason: got %d, want 0", wrong)
	}
}
