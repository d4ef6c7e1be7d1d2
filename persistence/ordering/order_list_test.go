package ordering_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// TestOrdersUseIndexes checks that each filter reads at most a few hundred blocks of a store with many
// orders, on the first page and on a late page.
func TestOrdersUseIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	const orders = 40_000
	store := r.Stores[0]
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = owner.Exec(t.Context(), "SET session_replication_role = replica") // without triggers and foreign keys
	must(t, err)
	// There are ten thousand customers. One order in fifty is cancelled, one in a thousand is open. The
	// orders that match only one of the filters are the oldest.
	_, err = owner.Exec(t.Context(), `
		INSERT INTO customers (id, store_id, kind, email, business_date, created_at, updated_at)
		SELECT 'cus_' || n, $1, 'guest', n || '@example.com', now(), now(), now()
		FROM generate_series(0, 9999) n`, store)
	must(t, err)
	_, err = owner.Exec(t.Context(), `
		INSERT INTO orders (id, store_id, number, store_view_id, status, fulfillment_type, source, customer_id,
		customer_name, customer_email, customer_phone,
			subtotal_minor, discount_minor, delivery_fee_minor, tax_minor, tax_included, total_minor, currency,
			paid_minor, refunded_minor, note, delivery_address,
			item_count, business_date, promised_at, created_at, updated_at)
		SELECT 'ord_' || lpad(n::text, 8, '0'), $1, n, 'view',
			CASE WHEN n % 1000 = 0 THEN 'RECEIVED' WHEN n % 50 = 0 THEN 'CANCELLED' ELSE 'COMPLETED' END,
			CASE WHEN n <= 10 THEN 'DINE_IN' ELSE 'PICKUP' END, CASE WHEN n <= 10 THEN 'PHONE' ELSE 'WEB' END,
			'cus_' || n % 10000,
			chr(97 + n % 26) || 'da Number' || n, n || '@example.com', '+49' || 1000000 + n, 100, 0, 0, 0, true, 100,
			'EUR',
			CASE WHEN n <= 500 THEN 100 ELSE 0 END, 0, '', NULL,
			1, '2026-01-01'::date + n / 1000, '2026-01-01', '2026-01-01'::timestamptz + n * interval '1 minute',
			'2026-01-01'::timestamptz + n * interval '1 minute'
		FROM generate_series(1, $2::int) n`, store, orders)
	must(t, err)
	_, err = owner.Exec(t.Context(), "ANALYZE orders")
	must(t, err)
	deep := pg.Cursor{At: time.Date(2026, 1, 1, 0, 1000, 0, 0, time.UTC), ID: "ord_00001000"}
	day := app.At(time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC))
	recent := app.At(time.Date(2026, 1, 1, 0, orders-30, 0, 0, time.UTC))
	yes, no := true, false
	for name, filter := range map[string]app.OrderFilter{
		"all":                     {},
		"open":                    {Statuses: []app.OrderStatus{app.OrderReceived, app.OrderConfirmed}},
		"cancelled":               {Statuses: []app.OrderStatus{app.OrderCancelled}},
		"rare fulfillment":        {FulfillmentType: app.FulfillmentDineIn},
		"no such fulfillment":     {FulfillmentType: app.FulfillmentDelivery},
		"rare source":             {Source: app.SourcePhone},
		"a customer":              {CustomerID: "cus_17"},
		"a number":                {Number: 4711},
		"since a day":             {CreatedFrom: &day},
		"until a day":             {CreatedTo: &day},
		"a business day":          {BusinessDate: "2026-01-20"},
		"changed recently":        {UpdatedSince: &recent},
		"to refund":               {NeedsRefund: &yes},
		"not to refund":           {NeedsRefund: &no},
		"search of a number":      {Query: "4711"},
		"search of a name":        {Query: "Bda Number4711"},
		"search of a last name":   {Query: "number4711"},
		"search of an email":      {Query: "4711@example"},
		"search of a phone":       {Query: "+491004711"},
		"search of a common name": {Query: "b"},
		"search without results":  {Query: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			for page, after := range map[string]pg.Cursor{"first": {}, "deep": deep} {
				plan, err := db.ExplainOrders(t.Context(), store, "", filter, after)
				must(t, err)
				if blocks := blocksRead(t, plan); strings.Contains(plan, "Seq Scan") || blocks > 300 {
					t.Errorf("%s, %s page: got %d blocks, want at most 300 and no sequential scan\n%s",
						name, page, blocks, plan)
				}
			}
		})
	}
	plan, err := db.ExplainOrders(t.Context(), store, "cus_17", app.OrderFilter{}, pg.Cursor{})
	must(t, err)
	if strings.Contains(plan, "Seq Scan") || blocksRead(t, plan) > 300 {
		t.Errorf("plan: got a scan of all orders or more than 300 blocks, want neither:\n%s", plan)
	}
	if n := count(t, db, fmt.Sprintf("SELECT pg_relation_size('orders') / 8192 - %d", 1000)); n < 0 {
		t.Errorf("blocks of the table orders: got %d, want at least 1000", n+1000)
	}
}

var sharedBlocks = regexp.MustCompile(`(?m)Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`)

// blocksRead returns the number of blocks that a plan has read, from its first line with buffers.
func blocksRead(t *testing.T, plan string) int {
	t.Helper()
	match := sharedBlocks.FindStringSubmatch(plan)
	if match == nil {
		t.Fatalf("plan: got no line with buffers, want one:\n%s", plan)
	}
	hit, _ := strconv.Atoi(match[1])
	read, _ := strconv.Atoi(match[2])
	return hit + read
}
