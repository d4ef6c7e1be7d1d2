package persistence_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// With every filter, a page of many customers is read by indexes.
func TestCustomersUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = db.System().DB.ExecContext(t.Context(), `INSERT INTO customers (id, store_id, kind, email, first_name,
		last_name, phone, created_at, updated_at)
		SELECT 'cus_' || uuidv7_hex(), $1, CASE WHEN n % 50 = 0 THEN 'registered' ELSE 'guest' END,
			'c' || n || '@example.com', 'First' || n, 'Last' || n,
			'+49151' || 1000000 + n, '2026-03-14'::timestamptz + n * interval '1 minute',
			'2026-03-14'::timestamptz + n * interval '1 minute'
		FROM generate_series(1, 20000) n`, r.Stores[0])
	must(t, err)
	_, err = owner.ExecContext(t.Context(), `ANALYZE customers`)
	must(t, err)
	since := app.At(noon.Add((13*24 + 9) * time.Hour))
	for name, test := range map[string]struct {
		own     app.CustomerID
		filter  app.CustomerFilter
		indexes string
	}{
		"all":     {"", app.CustomerFilter{}, "customers_newest"},
		"kind":    {"", app.CustomerFilter{Kind: app.CustomerRegistered}, "customers_by_kind"},
		"changed": {"", app.CustomerFilter{UpdatedSince: &since}, "customers_by_update"},
		"search": {"", app.CustomerFilter{Query: "last77"},
			"customers_by_name customers_by_surname customers_by_search_email customers_by_phone"},
		"oneself": {"cus_1", app.CustomerFilter{}, "customers_pkey"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, after := range []persistence.Cursor{{}, {At: noon.Add(300 * time.Hour), ID: "cus_7"}} {
				if name == "changed" && after.ID != "" {
					continue
				}
				plan, err := db.ExplainCustomers(t.Context(), r.Stores[0], test.own, test.filter, after)
				must(t, err)
				for index := range strings.FieldsSeq(test.indexes) {
					if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
						t.Errorf("plan of %s after %v does not use %s only:\n%s", name, after, index, plan)
					}
				}
			}
		})
	}
}

// An order changes a customer's counters but neither the version nor the profile.
func TestOrdersKeepCustomerVersion(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(aPayment("pi_1", 1900))
	must(t, err)
	c.complete()
	_, _, err = c.refund(payment.ID, "re_1", 1000)
	must(t, err)
	got, err := c.db.Customer(t.Context(), c.store, c.order.Customer.ID)
	must(t, err)
	want := app.Customer{
		ID: c.order.Customer.ID, Email: "ada@example.com", FirstName: "Ada", LoyaltyPoints: 9, TotalOrders: 1,
		StoreID: c.store, Kind: app.CustomerGuest, Metadata: map[string]string{}, Version: 1,
		CreatedAt: app.At(noon), UpdatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("customer (-want +got): %s", diff)
	}
	if n := c.events(app.EventCustomerUpdated); n != 0 {
		t.Errorf("customer.updated events: got %d, want 0", n)
	}
}
