package ordering_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Every event has a subject, so that the erasure of a customer finds its events by an index; those of an import, too.
func TestImportedProductsAreSubjects(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Place(t, db, 1)
	_, err := db.ImportProducts(t.Context(), noon, r.Stores[0], app.Actor{}, []ordering.ProductRow{
		{SKU: "1", Apply: func(p *app.Product, _ bool) []app.Detail {
			p.SKU, p.Name, p.Currency = "1", "Soup", "EUR"
			return nil
		}},
	}, false, nil)
	must(t, err)
	if n := count(t, db, `SELECT count(*) FROM outbox e WHERE subject = ''
		OR type = 'product.created' AND subject NOT IN (SELECT id FROM products)`); n != 0 {
		t.Errorf("events without a subject: got %d, want 0", n)
	}
}

// An erasure reads the rows of its customer, not those of all customers.
func TestErasureUsesIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	// Each of two thousand customers has ten rows in each table.
	_, err = owner.Exec(t.Context(), "SET session_replication_role = replica") // without triggers and foreign keys
	must(t, err)
	for _, statement := range []string{
		`INSERT INTO customers (id, store_id, kind, email, business_date, created_at, updated_at)
			SELECT 'cus_' || n, $1, 'registered', n || '@example.com', $2::timestamptz, $2, $2
			FROM generate_series(0, 1999) n`,
		`INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
				customer_name, customer_email, customer_phone, subtotal_minor, discount_minor, delivery_fee_minor,
				tax_minor, tax_included, total_minor, currency, note, item_count, business_date, promised_at,
				created_at, updated_at)
			SELECT 'ord_' || n, $1, n, 'view', 'COMPLETED', 'PICKUP', 'WEB', 'cus_' || n % 2000, '', '', '', 100, 0,
				0, 0,
				true, 100, 'EUR', '', 1, $2::timestamptz::date, $2, $2, $2
			FROM generate_series(1, 20000) n`,
		`INSERT INTO order_items (order_id, id, store_id, position, product_id, product_name, quantity,
			unit_price_minor,
				total_minor, discount_minor, tax_rate_ppm, business_date)
			SELECT id, 'itm_1', store_id, 1, 'prd_1', 'Pizza', 1, 100, 100, 0, 0, business_date FROM orders
			WHERE $2::timestamptz IS NOT NULL AND $1 <> ''`,
		`INSERT INTO order_history (order_id, store_id, version, to_status, reason, actor_realm, actor_id, event_id, at)
			SELECT id, store_id, 1, 'RECEIVED', '', 'tenant', '', '', $2 FROM orders WHERE $1 <> ''`,
		// Each order had another customer before.
		`INSERT INTO order_history (order_id, store_id, version, reason, changed_fields, item_changes, former_customer,
				event_number, actor_realm, actor_id, event_id, at)
			SELECT id, store_id, 2, '', '["customerId"]', '[]', 'cus_' || (number + 1) % 2000, number, 'tenant', '', '',
				$2
			FROM orders WHERE $1 <> ''`,
		`INSERT INTO payments (id, store_id, order_id, provider, transaction_id, status, amount_minor, currency,
				payment_method, card_last4, error_code, refunded_minor, business_date, created_at)
			SELECT 'pay_' || number, store_id, id, 'STRIPE', id, 'SUCCEEDED', 100, 'EUR', '', '', '', 100,
				business_date, $2
			FROM orders WHERE $1 <> ''`,
		`INSERT INTO refunds (id, store_id, payment_id, order_id, provider, amount_minor, currency, reason,
				provider_refund_id, business_date, created_at)
			SELECT 'ref_' || number, store_id, 'pay_' || number, id, 'STRIPE', 100, 'EUR', '', id, business_date, $2
			FROM orders WHERE $1 <> ''`,
		`INSERT INTO reservations (id, store_id, status, customer_id, customer_name, customer_email, customer_phone,
				party_size, start_at, end_at, notes, cancellation_reason, version, created_at, updated_at)
			SELECT 'res_' || n, $1, 'COMPLETED', 'cus_' || n % 2000, '', '', '', 1, $2,
				$2::timestamptz + interval '1 hour',
				'', '', 1, $2, $2
			FROM generate_series(1, 20000) n`,
		`INSERT INTO customer_sessions (id, store_id, customer_id, created_at, expires_at, ended_at)
			SELECT 'ses_' || n, $1, 'cus_' || n % 2000, $2, $2, CASE WHEN n % 2 = 0 THEN $2::timestamptz END
			FROM generate_series(1, 20000) n`,
		`INSERT INTO addresses (id, store_id, customer_id, label, address, is_default, version, created_at, updated_at)
			SELECT 'adr_' || n, $1, 'cus_' || n % 2000, '', '{}', false, 1, $2, $2 FROM generate_series(1, 20000) n`,
		`INSERT INTO customer_password_resets (id, store_id, customer_id, token_hash, created_at, expires_at)
			SELECT 'pwr_' || n, $1, 'cus_' || n % 2000, sha256(n::text::bytea), $2, $2 FROM generate_series(1,
				20000) n`,
		`INSERT INTO mails (id, store_id, queue, kind, subject, details, lease_until, created_at)
			SELECT 'mail_' || n, $1, $1, 'customer_password_reset', 'pwr_' || n, '{}', $2, $2
			FROM generate_series(1, 20000) n`,
		`INSERT INTO idempotency_keys (store_id, credential, route, key, body_hash, response, created_at, subject)
			SELECT store_id, 'key', 'POST /orders', id, '', '', $2, id FROM orders WHERE $1 <> ''`,
		`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject)
			SELECT 'evt_' || number, store_id, 'order.created', '{}', $2, id FROM orders WHERE $1 <> ''`,
	} {
		if _, err := owner.Exec(t.Context(), statement, store, noon); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	_, err = owner.Exec(t.Context(), "ANALYZE")
	must(t, err)
	plans, err := db.ExplainErasure(t.Context(), noon, store, "cus_17")
	must(t, err)
	for statement, plan := range plans {
		if blocks := blocksRead(t, plan); strings.Contains(plan, "Seq Scan") || blocks > 500 {
			t.Errorf("got %d blocks, want at most 500 and no sequential scan\n%s\n%s", blocks, statement, plan)
		}
	}
}

// A failed login is recorded in the background. If the customer is erased meanwhile, the entry has no address.
func TestFailedLoginAfterErasure(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	registered, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	id, client := registered.Customer.ID, app.Actor{Address: "192.0.2.7"}
	failed := func() {
		t.Helper()
		must(t, db.CustomerLoginFailed(t.Context(), noon, store, client, id, app.FaultPassword))
	}
	failed()
	if n := count(t, db, "SELECT count(*) FROM audit WHERE address = $1", client.Address); n != 1 {
		t.Errorf("entries with the address before the erasure: got %d, want 1", n)
	}
	staff := app.Principal{Realm: app.RealmTenant, StoreID: store}
	must(t, db.EraseCustomer(t.Context(), noon, staff, app.Actor{}, id, nil))
	failed()
	if n := count(t, db, "SELECT count(*) FROM audit WHERE address = $1", client.Address); n != 0 {
		t.Errorf("entries with the address after the erasure: got %d, want 0", n)
	}
	if n := count(t, db, "SELECT count(*) FROM audit WHERE action = 'login.failed' AND address = $1", id); n != 2 {
		t.Errorf("failed logins: got %d, want 2", n)
	}
}

// A reservation and the erasure of its customer take their locks in one order: a reservation that waits for the store
// does not block the erasure. Otherwise they would deadlock with a change of another reservation of the customer, which
// locks the store and waits for the reservation.
func TestReservationLocksTheStoreFirst(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	registered, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	customer := registered.Customer.ID
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	locked, err := owner.Begin(t.Context())
	must(t, err)
	_, err = locked.Exec(t.Context(), "SELECT FROM stores WHERE id = $1 FOR NO KEY UPDATE", store)
	must(t, err)
	reserved := make(chan error)
	go func() {
		_, err := db.Reserve(t.Context(), noon, store,
			app.NewReservation{CustomerID: customer, PartySize: 1, StartAt: app.At(noon.Add(time.Hour))}, nil)
		reserved <- err
	}()
	for waiting := false; !waiting; {
		_, err := locked.Exec(t.Context(), "SELECT pg_stat_clear_snapshot()") // else a new connection stays unseen
		must(t, err)
		must(t, locked.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
	}
	_, err = locked.Exec(t.Context(), "SET LOCAL lock_timeout = '10ms'")
	must(t, err)
	if _, err = locked.Exec(t.Context(), "SELECT FROM customers WHERE id = $1 FOR NO KEY UPDATE",
		customer); err != nil {
		t.Errorf("lock of the customer while a reservation waits for the store: got error %v, want none", err)
	}
	must(t, locked.Rollback(t.Context()))
	must(t, <-reserved)
}

// Erasures, reservations and their changes run concurrently without a deadlock. Either the customer has no reservation,
// or the customer is not erased.
func TestErasureRacesReservations(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	staff := app.Principal{Realm: app.RealmTenant, StoreID: store}
	for range 10 {
		registered, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
			identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
		must(t, err)
		wanted := app.NewReservation{
			CustomerID: registered.Customer.ID, PartySize: 1, StartAt: app.At(noon.Add(time.Hour)),
		}
		first, err := db.Reserve(t.Context(), noon, store, wanted, nil)
		must(t, err)
		cancel := func(id app.ReservationID) error {
			_, err := db.ChangeReservationStatus(t.Context(), noon, store, id, 0,
				app.ReservationStatusChange{To: app.ReservationCancelled, By: app.Actor{Realm: app.RealmTenant,
					ID: "usr_1"}})
			return err
		}
		var racing sync.WaitGroup
		var erased, reserved, changed, cancelled error
		var second app.Reservation
		racing.Go(func() { second, reserved = db.Reserve(t.Context(), noon, store, wanted, nil) })
		racing.Go(func() {
			_, changed = db.ChangeReservation(t.Context(), noon, store, app.Actor{}, first.ID, 0,
				func(r *app.Reservation) error {
					r.PartySize = 2
					return nil
				})
		})
		racing.Go(func() {
			if cancelled = cancel(first.ID); cancelled == nil {
				erased = db.EraseCustomer(t.Context(), noon, staff, app.Actor{}, registered.Customer.ID, nil)
			}
		})
		racing.Wait()
		if code := app.CodeOf(changed); code != "" && code != app.CodeInvalidTransition {
			t.Errorf("change: got error %v, want none or INVALID_TRANSITION", changed)
		}
		must(t, cancelled)
		if a, b := app.CodeOf(erased), app.CodeOf(reserved); !(a == app.CodeConflict && b == "") &&
			!(a == "" && b == app.CodeValidationFailed) {
			t.Errorf("got erasure %v and reservation %v, want one of them refused", erased, reserved)
		}
		if n := count(t, db, `SELECT count(*) FROM reservations r JOIN customers c ON c.id = r.customer_id
			WHERE c.erased_at IS NOT NULL AND r.status = 'PENDING'`); n != 0 {
			t.Errorf("reservations of erased customers: got %d, want 0", n)
		}
		if erased != nil {
			must(t, cancel(second.ID))
			must(t, db.EraseCustomer(t.Context(), noon, staff, app.Actor{}, registered.Customer.ID, nil))
		}
	}
	if n := count(t, db, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != 0 {
		t.Errorf("deadlocks: got %d, want 0", n)
	}
}
