package delivery_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// changed is a resource that clients change concurrently.
type changed struct {
	types  []app.EventType                            // of its events
	change func(now time.Time, client, nth int) error // may return an error of a refused change
	least  int                                        // number of events
}

// contended returns changes of one resource of each kind.
func contended(t *testing.T, db *persistencetest.Database, r restaurant) map[string]changed {
	t.Helper()
	ctx, store := t.Context(), r.Stores[0]
	product, err := db.ChangeProduct(ctx, noon, store, owner, r.Menu[0].ID, 0, func(p *app.Product) error {
		p.SKU = "PIZZA"
		return nil
	})
	must(t, err)
	placed := r.PlaceOne(t, db)
	payment, err := db.RecordPayment(ctx, noon, store, placed.ID, persistencetest.Payment("txn_1", 1_000), nil)
	must(t, err)
	customer, err := db.RegisterCustomer(ctx, noon, store, app.Actor{}, identity.NewCustomer{Email: "eve@example.com"},
		time.Hour)
	must(t, err)
	caller := r.Caller(t, db.DB, 0)
	steps := []app.OrderStatus{app.OrderConfirmed, app.OrderPreparing, app.OrderReady, app.OrderCompleted}
	reserved, err := db.Reserve(ctx, noon, store, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 2, StartAt: app.At(noon.Add(24 * time.Hour)),
	}, nil)
	must(t, err)
	return map[string]changed{
		"product": {[]app.EventType{app.EventProductUpdated}, func(now time.Time, client, nth int) error {
			price := int64(1_000 + 100*client + nth)
			switch client % 3 {
			case 0:
				_, err := db.ChangeProduct(ctx, now, store, owner, product.ID, 0, func(p *app.Product) error {
					p.PriceMinor = price
					return nil
				})
				return err
			case 1:
				_, err := db.ChangeStock(ctx, now, store, product.ID, 0, app.StockChange{Set: new(int64(nth % 2))}, nil)
				return err
			}
			_, err := db.ImportProducts(ctx, now, store, owner, []ordering.ProductRow{{
				SKU: product.SKU, Apply: func(p *app.Product, _ bool) []app.Detail {
					p.PriceMinor = price
					return nil
				},
			}}, false, nil)
			return err
		}, 100},
		"order": {[]app.EventType{app.EventOrderStatusUpdated, app.EventOrderCompleted},
			func(now time.Time, _, nth int) error {
				_, err := db.ChangeOrderStatus(ctx, now, store, placed.ID, 0, app.OrderStatusChange{To: steps[nth%4]})
				return err
			}, 5},
		"payment": {[]app.EventType{app.EventPaymentRefunded}, func(now time.Time, client, nth int) error {
			_, err := db.RefundPayment(ctx, now, store, payment.ID, app.NewRefund{
				AmountMinor: 1, ProviderRefundID: fmt.Sprint(client, "/", nth),
			}, owner, nil)
			return err
		}, app.MaxRefunds}, // further ones are refused
		"customer": {[]app.EventType{app.EventCustomerUpdated}, func(now time.Time, client, nth int) error {
			_, err := db.ChangeCustomer(ctx, now, caller, owner, customer.Customer.ID, 0, func(c *app.Customer) error {
				c.FirstName = fmt.Sprint(client, "/", nth)
				return nil
			})
			return err
		}, 160},
		"reservation": {[]app.EventType{app.EventReservationConfirmed, app.EventReservationCancelled},
			func(now time.Time, client, _ int) error {
				to := []app.ReservationStatus{app.ReservationConfirmed, app.ReservationCancelled}[client%2]
				_, err := db.ChangeReservationStatus(ctx, now, store, reserved.ID, 0, app.ReservationStatusChange{To: to})
				return err
			}, 1},
	}
}

// Positions of the events of a resource follow its versions. Eight clients change it concurrently, so that a request
// that began earlier commits later, and the clocks of their two servers differ by a minute.
func TestPositionsFollowTheCommits(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]bool{"dispatched meanwhile": true, "dispatched afterwards": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			resources := contended(t, db, r)
			stop, relay := make(chan struct{}), make(chan error, 1)
			go func() { relay <- dispatchUntil(t, db, stop, meanwhile) }()
			for _, resource := range resources {
				changeConcurrently(t, resource)
			}
			close(stop)
			must(t, <-relay)
			dispatchAll(t, db)
			for name, resource := range resources {
				events := listed(t, db, r.Stores[0], app.EventFilter{Types: resource.types}, true, 0)
				if len(events) < resource.least {
					t.Errorf("events of the %s: got %d, want at least %d", name, len(events), resource.least)
				}
				if late := afterLater(t, events); late > 0 {
					t.Errorf("events of the %s with a position after that of a later version: got %d of %d, want 0", name,
						late, len(events))
				}
			}
		})
	}
}

// changeConcurrently lets eight clients change a resource twenty times each.
func changeConcurrently(t *testing.T, resource changed) {
	t.Helper()
	const clients, each = 8, 20
	ended := make(chan error, clients)
	for client := range clients {
		go func() {
			for nth := range each {
				now := time.Now().Add(time.Duration(client%2) * time.Minute)
				if err := resource.change(now, client, nth); app.CodeOf(err) == app.CodeInternal {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range clients {
		must(t, <-ended)
	}
}

// dispatchUntil dispatches until stop is closed, if enabled.
func dispatchUntil(t *testing.T, db *persistencetest.Database, stop <-chan struct{}, enabled bool) error {
	for enabled {
		select {
		case <-stop:
			return nil
		default:
		}
		if _, err := db.Dispatch(t.Context(), time.Now(), 10); err != nil {
			return err
		}
	}
	return nil
}

// afterLater counts the events that follow an event of a later version of their resource.
func afterLater(t *testing.T, events []app.StoredEvent) (n int) {
	t.Helper()
	var latest int64
	for _, e := range events {
		var body struct {
			Data struct{ Version, TotalRefundedMinor int64 }
		}
		must(t, json.Unmarshal(e.Body, &body))
		version := max(body.Data.Version, body.Data.TotalRefundedMinor)
		if version == 0 {
			t.Fatalf("event: got %s, want a version", e.Body)
		}
		if version < latest {
			n++
		}
		latest = max(latest, version)
	}
	return n
}

// Events that a transaction emits, in one statement or in several, keep their order, also if their ids contradict it.
func TestPositionsFollowTheOrderOfEmission(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	dispatchAll(t, db)
	head, err := db.EventHead(t.Context(), r.Stores[0])
	must(t, err)
	const rows = 500
	want := make([]string, rows)
	imported := make([]ordering.ProductRow, rows)
	for i := range imported {
		sku := fmt.Sprint("SKU", (i*7919)%rows) // not in the order of any index
		want[i] = sku
		imported[i] = ordering.ProductRow{SKU: sku, Apply: func(p *app.Product, _ bool) []app.Detail {
			p.Name, p.SKU, p.PriceMinor, p.Currency = sku, sku, 100, "EUR"
			return nil
		}}
	}
	_, err = db.ImportProducts(t.Context(), noon, r.Stores[0], owner, imported, false, nil)
	must(t, err)
	dispatchAll(t, db)
	var got []string
	for _, e := range listed(t, db, r.Stores[0], app.EventFilter{}, true, head) {
		var body struct{ Data struct{ SKU string } }
		must(t, json.Unmarshal(e.Body, &body))
		got = append(got, body.Data.SKU)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("imported products by position (-want +got):\n%s", diff)
	}
}

// A position is the first one of the event's millisecond, or the next one. A clock that is ahead counts for a minute at
// most. Each position is a whole number that JavaScript can represent.
func TestPositions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	dispatchAll(t, db)
	q := withPolicy(t, db, func(*delivery.Policy) {})
	now := noon
	rapid.Check(t, func(rt *rapid.T) {
		last, err := db.EventHead(t.Context(), store)
		must(t, err)
		first := last
		now = now.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(rt, "ms later")) * time.Millisecond)
		var want []int64
		for i := range rapid.IntRange(1, 8).Draw(rt, "dispatches") {
			for range rapid.IntRange(0, 10).Draw(rt, "events") {
				at := now.Add(time.Duration(rapid.IntRange(-120_000, 120_000).Draw(rt, "clock")) * time.Millisecond)
				if rapid.Bool().Draw(rt, "same time") {
					at = now
				}
				emitAt(t, db, store, app.EventOrderCreated, at)
				latest := now.Add(time.Minute)
				if at.After(latest) {
					at = latest
				}
				last = max(last+1, app.FirstPosition(at))
				want = append(want, last)
			}
			for more := true; more; {
				d, err := q.Dispatch(t.Context(), now, rapid.IntRange(1, 6).Draw(rt, fmt.Sprint("limit of ", i)))
				must(t, err)
				more = d.More
			}
		}
		var got []int64
		for _, e := range listed(t, db, store, app.EventFilter{}, true, first) {
			got = append(got, e.Position)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			rt.Fatalf("positions (-want +got):\n%s", diff)
		}
		if last > 1<<53-1 {
			rt.Fatalf("position: got %d, want at most 2^53 - 1", last)
		}
	})
}
