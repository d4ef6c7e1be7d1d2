package ordering_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// till is a store with one order of 19 EUR by a guest.
type till struct {
	*testing.T
	db    *persistencetest.Database
	store app.StoreID
	order app.Order
	ticks *atomic.Int64
}

// now returns a time that is a second later at each call.
func (c till) now() time.Time { return noon.Add(time.Duration(c.ticks.Add(1)) * time.Second) }

func newTill(t *testing.T) till {
	t.Helper()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	return till{t, db, r.Stores[0], r.PlaceOne(t, db), &atomic.Int64{}}
}

func (c till) pay(in app.NewPayment) (app.Payment, bool, error) {
	var once pg.Once
	p, err := c.db.RecordPayment(c.Context(), c.now(), c.store, c.order.ID, in, &once)
	return p, once.Existed, err
}

func (c till) refund(payment app.PaymentID, id string, amount int64) (app.Refund, bool, error) {
	var once pg.Once
	r, err := c.db.RefundPayment(c.Context(), c.now(), c.store, payment,
		app.NewRefund{AmountMinor: amount, Reason: "cold", ProviderRefundID: id}, app.Actor{}, &once)
	return r, once.Existed, err
}

func (c till) complete() {
	c.Helper()
	_, err := c.db.ChangeOrderStatus(c.Context(), c.now(), c.store, c.order.ID, 0,
		app.OrderStatusChange{To: app.OrderCompleted})
	must(c.T, err)
}

// money checks the paid and refunded amounts of the order against the arguments and the rows.
func (c till) money(paid, refunded int64, status app.PaymentStatus) {
	c.Helper()
	order, err := c.db.Order(c.Context(), c.store, c.order.ID, "")
	must(c.T, err)
	if order.PaidMinor != paid || order.RefundedMinor != refunded || order.PaymentStatus != status {
		c.Errorf("order: got paid %d, refunded %d, %s, want %d, %d, %s", order.PaidMinor, order.RefundedMinor,
			order.PaymentStatus, paid, refunded, status)
	}
	sum := func(query string) int64 { return int64(count(c.T, c.db, query, c.order.ID)) }
	if n := sum(`SELECT coalesce(sum(amount_minor - tip_minor), 0) FROM payments
		WHERE order_id = $1 AND status = 'SUCCEEDED'`); n != paid {
		c.Errorf("sum of the payments: got %d, want %d", n, paid)
	}
	for _, query := range []string{
		`SELECT coalesce(sum(refunded_minor), 0) FROM payments
			WHERE order_id = $1`, "SELECT coalesce(sum(amount_minor - tip_minor), 0) FROM refunds WHERE order_id = $1",
	} {
		if n := sum(query); n != refunded {
			c.Errorf("%s: got %d, want %d", query, n, refunded)
		}
	}
}

func (c till) events(t app.EventType) int {
	c.Helper()
	return count(c.T, c.db, "SELECT count(*) FROM outbox WHERE type = $1", t)
}

// outcomes runs a function twenty times concurrently and counts its results.
func outcomes(run func(i int) string) map[string]int {
	ended := make(chan string, 20)
	start := make(chan struct{})
	var wait sync.WaitGroup
	for i := range cap(ended) {
		wait.Go(func() {
			<-start
			ended <- run(i)
		})
	}
	close(start)
	wait.Wait()
	close(ended)
	counts := map[string]int{}
	for outcome := range ended {
		counts[outcome]++
	}
	return counts
}

func outcome(existed bool, err error) string {
	if err != nil {
		return string(app.CodeOf(err))
	}
	if existed {
		return "existed"
	}
	return "made"
}

func TestConcurrentRefundsNeverExceedPayment(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(aPayment("pi_1", 750))
	must(t, err)
	got := outcomes(func(i int) string {
		_, existed, err := c.refund(payment.ID, fmt.Sprint("re_", i), 100)
		return outcome(existed, err)
	})
	if diff := cmp.Diff(map[string]int{"made": 7, "REFUND_EXCEEDS_PAYMENT": 13}, got); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	c.money(750, 700, app.PaymentPartiallyPaid) // 1900 are due: these refunds return a deposit
	if n := c.events(app.EventPaymentRefunded); n != 7 {
		t.Errorf("payment.refunded events: got %d, want 7", n)
	}
	if n := count(t, c.db, `SELECT count(*) FROM audit WHERE action = 'refund.issued'
		AND target = $1`, payment.ID); n != 7 {
		t.Errorf("audit entries: got %d, want 7", n)
	}
}

func TestTransactionIsRecordedOnce(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	got := outcomes(func(int) string {
		_, existed, err := c.pay(aPayment("pi_1", 1900))
		return outcome(existed, err)
	})
	if diff := cmp.Diff(map[string]int{"made": 1, "existed": 19}, got); diff != "" {
		t.Error("payments (-want +got):", diff)
	}
	payments, _, err := c.db.Payments(t.Context(), c.store, c.order.ID, "", pg.Cursor{},
		app.PageLimit{Rows: 10, Bytes: app.MaxEvent})
	must(t, err)
	got = outcomes(func(int) string {
		_, existed, err := c.refund(payments[0].ID, "re_1", 1900)
		return outcome(existed, err)
	})
	if diff := cmp.Diff(map[string]int{"made": 1, "existed": 19}, got); diff != "" {
		t.Error("refunds (-want +got):", diff)
	}
	c.money(1900, 1900, app.PaymentRefunded)
	if succeeded, refunded := c.events(app.EventPaymentSucceeded), c.events(app.EventPaymentRefunded); succeeded != 1 ||
		refunded != 1 {
		t.Errorf("events: got %d payment.succeeded and %d payment.refunded, want 1 and 1", succeeded, refunded)
	}
}

// If a transaction is recorded for two orders concurrently, it belongs to one of them.
func TestTransactionBelongsToOneOrder(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	in := app.NewOrder{
		Items:           []app.NewOrderItem{{ProductID: *c.order.Items[0].ProductID, Quantity: 1}},
		FulfillmentType: app.FulfillmentPickup, Source: app.SourcePOS, Guest: app.OrderCustomer{Name: "Bob"},
		StoreViewID: c.order.StoreViewID,
	}
	other, err := c.db.PlaceOrder(t.Context(), noon, c.store, in, nil)
	must(t, err)
	orders := []app.OrderID{c.order.ID, other.ID}
	got := outcomes(func(i int) string {
		_, err := c.db.RecordPayment(t.Context(), noon, c.store, orders[i%2], aPayment("pi_1", 100), nil)
		return string(app.CodeOf(err))
	})
	if diff := cmp.Diff(map[string]int{"": 10, "CONFLICT": 10}, got); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
	if n := count(t, c.db, "SELECT sum(paid_minor) FROM orders"); n != 100 {
		t.Errorf("paid amount of all orders: got %d, want 100", n)
	}
}

// Concurrent payments and refunds of one order add up.
func TestConcurrentPaymentsAndRefunds(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.complete()
	var first [2]app.Payment
	for i := range first {
		var err error
		first[i], _, err = c.pay(aPayment(fmt.Sprint("pi_", i), 1000))
		must(t, err)
	}
	got := outcomes(func(i int) string {
		if i%2 == 0 {
			_, existed, err := c.pay(aPayment(fmt.Sprint("pi_more_", i), 50))
			return outcome(existed, err)
		}
		_, existed, err := c.refund(first[i/2%2].ID, fmt.Sprint("re_", i), 150)
		return outcome(existed, err)
	})
	if diff := cmp.Diff(map[string]int{"made": 20}, got); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	c.money(2500, 1500, app.PaymentPartiallyRefunded)
	c.points(10) // 19 points for 1900, of which 1000 are left: 19 - ⌊19·900/1900⌋
}

// Of concurrent refunds of two payments with one id of the provider, one is recorded.
func TestConcurrentRefundsWithOneID(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	c := till{T: t, db: db, store: r.Stores[0], ticks: &atomic.Int64{}}
	var payments [2]app.Payment
	for i := range payments {
		c.order = r.PlaceOne(t, db)
		var err error
		payments[i], _, err = c.pay(aPayment(fmt.Sprint("pi_", i), 900))
		must(t, err)
	}
	got := outcomes(func(i int) string {
		_, existed, err := c.refund(payments[i%2].ID, "re_1", 900)
		return outcome(existed, err)
	})
	if diff := cmp.Diff(map[string]int{"made": 1, "existed": 9, "CONFLICT": 10}, got); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	if n := c.events(app.EventPaymentRefunded); n != 1 {
		t.Errorf("payment.refunded events: got %d, want 1", n)
	}
}

// points checks the loyalty points of the order's customer and of the ledger.
func (c till) points(want int) {
	c.Helper()
	if n := count(c.T, c.db, "SELECT loyalty_points FROM customers WHERE id = $1", c.order.Customer.ID); n != want {
		c.Errorf("points of the customer: got %d, want %d", n, want)
	}
	if n := count(c.T, c.db, `SELECT coalesce(sum(points), 0) FROM loyalty_entries
		WHERE customer_id = $1`, c.order.Customer.ID); n != want {
		c.Errorf("points of the ledger: got %d, want %d", n, want)
	}
}

func TestLoyaltyLedger(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(aPayment("pi_1", 1900))
	must(t, err)
	c.points(0)
	for range 2 {
		c.complete()
		c.points(19)
	}
	partial, _, err := c.refund(payment.ID, "re_1", 950)
	must(t, err)
	c.points(10)
	_, _, err = c.pay(aPayment("pi_2", 500))
	must(t, err)
	c.points(15)
	_, _, err = c.pay(app.NewPayment{
		Provider: "STRIPE", TransactionID: "pi_3", Status: app.PaymentFailed, AmountMinor: 450, Currency: "EUR",
		PaymentMethod: "card", ErrorCode: "declined",
	})
	must(t, err)
	c.points(15)
	full, _, err := c.refund(payment.ID, "re_2", 950)
	must(t, err)
	entries, err := c.db.LoyaltyEntries(t.Context(), c.store, *c.order.Customer.ID, pg.Cursor{}, 10)
	must(t, err)
	want := []app.LoyaltyEntry{
		{Kind: app.PointsReversed, Points: -10, RefundID: full.ID}, {Kind: app.PointsRestored, Points: 5},
		{Kind: app.PointsReversed, Points: -9, RefundID: partial.ID}, {Kind: app.PointsEarned, Points: 19},
	}
	for i := range entries {
		if entries[i].OrderNumber != "1" || !entries[i].CreatedAt.After(noon) {
			t.Errorf("entry: got %+v, want order number 1 and a time after %v", entries[i], noon)
		}
		entries[i].ID, entries[i].OrderNumber, entries[i].CreatedAt = "", "", app.Time{}
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("loyalty entries (-want +got):\n%s", diff)
	}
	c.points(5)
	var page []app.LoyaltyEntry
	for cursor := (pg.Cursor{}); ; {
		next, err := c.db.LoyaltyEntries(t.Context(), c.store, *c.order.Customer.ID, cursor, 1)
		must(t, err)
		if len(next) == 0 {
			break
		}
		page = append(page, next...)
		cursor = pg.Cursor{At: next[0].CreatedAt.Time, ID: string(next[0].ID)}
	}
	if len(page) != len(want) {
		t.Errorf("entries in pages of one: got %d, want %d", len(page), len(want))
	}
}

// The business date of a refund is that of its creation time, in the store's time zone and with its cutoff.
func TestRefundBusinessDate(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	_, err := c.db.System().DB.ExecContext(t.Context(), `UPDATE stores SET business_day_cutoff_hour = 4
		WHERE id = $1`, c.store)
	must(t, err)
	payment, _, err := c.pay(aPayment("pi_1", 1000))
	must(t, err)
	for i, c2 := range []struct{ at, want string }{
		{"2026-03-29T01:59:59Z", "2026-03-28"}, // 03:59:59 in Berlin, after the clock has jumped forward
		{"2026-03-29T02:00:00Z", "2026-03-29"},
		{"2026-10-25T02:59:59Z", "2026-10-24"}, // 03:59:59 in Berlin, after the clock has gone back
		{"2026-10-25T03:00:00Z", "2026-10-25"},
		{"2026-12-31T23:30:00Z", "2026-12-31"},
	} {
		at, err := time.Parse(time.RFC3339, c2.at)
		must(t, err)
		refund, err := c.db.RefundPayment(t.Context(), at, c.store, payment.ID,
			app.NewRefund{AmountMinor: 1, Reason: "x", ProviderRefundID: fmt.Sprint(i)}, app.Actor{}, nil)
		must(t, err)
		if refund.BusinessDate != c2.want {
			t.Errorf("business date of a refund at %s: got %s, want %s", c2.at, refund.BusinessDate, c2.want)
		}
	}
	payments, _, err := c.db.Payments(t.Context(), c.store, c.order.ID, "", pg.Cursor{},
		app.PageLimit{Rows: 10, Bytes: app.MaxEvent})
	must(t, err)
	if len(payments[0].Refunds) != 5 || payments[0].Refunds[0].BusinessDate != "2026-03-28" {
		t.Errorf("refunds: got %+v, want 5, the first on 2026-03-28", payments[0].Refunds)
	}
}
