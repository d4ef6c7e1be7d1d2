package delivery_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Each attempt carries the position and the resource of its event: of first deliveries, of retries, and of replays of
// missed events. A test has neither.
func TestOutgoingPositions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	first := r.Subscribe(t, db, 0, app.EventTypes[:]...)
	order := r.PlaceOne(t, db)
	_, err := db.RecordPayment(t.Context(), noon, store, order.ID, persistencetest.Payment("txn_1", 1_000), nil)
	must(t, err)
	reservation, err := db.Reserve(t.Context(), noon, store, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 2, StartAt: app.At(noon.Add(24 * time.Hour)),
	}, nil)
	must(t, err)
	dispatchAll(t, db)
	second := r.Subscribe(t, db, 0, app.EventTypes[:]...)
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: second.ID, DeliveryStatus: app.ReplayedMissed, From: app.At(noon),
		To: app.At(noon.Add(time.Hour)),
	})
	step(t, db, store, replay.ID, 100)
	want := map[string]bool{
		"product.created product/" + string(r.Menu[0].ID):           true,
		"customer.created customer/" + string(*order.Customer.ID):   true,
		"order.created order/" + string(order.ID):                   true,
		"payment.succeeded order/" + string(order.ID):               true,
		"reservation.created reservation/" + string(reservation.ID): true,
	}
	positions := map[app.EventID]int64{}
	for _, e := range listed(t, db, store, app.EventFilter{}, true, 0) {
		positions[e.ID] = e.Position
	}
	got := map[app.SubscriptionID]map[string]bool{first.ID: {}, second.ID: {}}
	for range 2 { // the bulk replay delivers the payment after the order
		for _, c := range claimOnce(t, db.Queue, later, all) {
			for number := range 2 {
				o, err := db.Outgoing(t.Context(), c.ID, number+1)
				must(t, err)
				if o.Position == 0 || o.Position != positions[o.EventID] {
					t.Errorf("position of %s: got %d, want %d", o.EventType, o.Position, positions[o.EventID])
				}
				got[o.SubscriptionID][string(o.EventType)+" "+o.Resource] = true
			}
		}
		deliver(t, db)
	}
	for id, resources := range got {
		if diff := cmp.Diff(want, resources); diff != "" {
			t.Errorf("resources of the events for %s (-want +got):\n%s", id, diff)
		}
	}
	test, err := db.CreateTest(t.Context(), noon, store, first.ID)
	must(t, err)
	o, err := db.OutgoingTest(t.Context(), test)
	must(t, err)
	if o.Position != 0 || o.Resource != "" {
		t.Errorf("test: got position %d and resource %q, want neither", o.Position, o.Resource)
	}
}

// A secret that cannot be decrypted fails only the attempts of its subscription, even if the
// statement loads attempts of other subscriptions.
func TestUnreadableSecret(t *testing.T) {
	t.Parallel()
	for column, statement := range map[string]string{
		"secret":  "UPDATE subscriptions SET secret = 'damaged' WHERE id = $1",
		"headers": `UPDATE subscriptions SET headers = 'damaged' WHERE id = $1`,
		"previous secret": `UPDATE subscriptions SET previous_secret = 'damaged',
			previous_secret_until = now() + interval '1 h' WHERE id = $1`,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			damaged := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			for range 3 {
				r.Subscribe(t, db, 0, app.EventOrderCreated)
			}
			enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
			change(t, db, statement, damaged)
			var loads sync.WaitGroup
			for _, c := range claimOnce(t, db.Queue, noon, all) {
				loads.Go(func() {
					o, err := db.Outgoing(t.Context(), c.ID, 1)
					if err != nil {
						t.Error(err)
						return
					}
					unreadable := c.SubscriptionID == damaged
					if o.Unreadable != unreadable || (o.Secret.Reveal() == "") != unreadable ||
						o.SubscriptionID != c.SubscriptionID {
						t.Errorf("%s: unreadable %v, want %v", c.SubscriptionID, o.Unreadable, unreadable)
					}
				})
			}
			loads.Wait()
		})
	}
}

// A webhook whose row is locked, for example by a bulk replay, does not delay the attempts that are loaded with its
// own, although its previous secret is to be erased.
func TestLoadDoesNotWaitForALockedWebhook(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	locked := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	change(t, db, `UPDATE subscriptions SET previous_secret = secret, previous_secret_until = now() - interval '1 s'
		WHERE id = $1`, locked)
	var ids []app.DeliveryID
	for _, c := range claimOnce(t, db.Queue, noon, all) {
		ids = append(ids, c.ID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	load := func() (previous int) {
		t.Helper()
		loaded, err := db.OutgoingAll(ctx, ids, 1)
		must(t, err)
		for _, o := range loaded {
			if o == nil || o.PreviousSecret.Len() > 0 {
				t.Errorf("loaded %+v, want an attempt without a previous secret", o)
			}
		}
		return count(t, db, "SELECT count(*) FROM subscriptions WHERE previous_secret IS NOT NULL")
	}
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM subscriptions WHERE id = ? FOR SHARE", locked)
	must(t, err)
	if n := load(); n != 1 {
		t.Errorf("previous secrets while the row is locked: got %d, want 1", n)
	}
	must(t, tx.Rollback())
	if n := load(); n != 0 {
		t.Errorf("previous secrets after the lock: got %d, want 0", n)
	}
}

// A large body is not loaded with its attempt, but apart, and not after it was erased.
func TestLargeBodiesAreLoadedApart(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 2, r.Stores[0])
	claims := claimOnce(t, db.Queue, noon, all)
	most := delivery.DefaultPolicy().SmallBody
	small, large := strings.Repeat("s", most), strings.Repeat("l", most+1)
	for i, body := range []string{small, large} {
		change(t, db, "UPDATE outbox SET body = $2 WHERE id = $1", claims[i].EventID, body)
	}
	for i, c := range claims {
		o, err := db.Outgoing(t.Context(), c.ID, 1)
		must(t, err)
		if want := []string{small, ""}[i]; string(o.Body) != want || o.Unloaded != i*len(large) {
			t.Errorf("delivery %d: got a body of %d bytes and %d unloaded ones", i, len(o.Body), o.Unloaded)
		}
	}
	for _, want := range []string{large, ""} {
		body, err := db.OutgoingBody(t.Context(), claims[1].ID)
		must(t, err)
		if string(body) != want {
			t.Errorf("large body: got %d bytes, want %d", len(body), len(want))
		}
		change(t, db, "UPDATE outbox SET body = NULL WHERE id = $1", claims[1].EventID)
	}
}
