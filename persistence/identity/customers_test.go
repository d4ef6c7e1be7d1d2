package identity_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
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
		last_name, phone, business_date, created_at, updated_at)
		SELECT 'cus_' || uuidv7_hex(), $1, CASE WHEN n % 50 = 0 THEN 'registered' ELSE 'guest' END,
			'c' || n || '@example.com', 'First' || n, 'Last' || n,
			'+49151' || 1000000 + n, '2026-03-14', '2026-03-14'::timestamptz + n * interval '1 minute',
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
			for _, after := range []pg.Cursor{{}, {At: noon.Add(300 * time.Hour), ID: "cus_7"}} {
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
