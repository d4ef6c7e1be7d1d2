package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// orderedStore is a store with one ordered webhook, whose plan is unlimited.
func orderedStore(t *testing.T) (*persistencetest.Database, restaurant, app.Subscription) {
	t.Helper()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanEnterprise)
	return db, r, subscribeOrdered(t, db, r, app.EventOrderCreated)
}

// deliveryOf returns the delivery of an event of emitOf.
func deliveryOf(t *testing.T, db *persistencetest.Database, number int) (id app.DeliveryID) {
	t.Helper()
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM deliveries WHERE event_id = $1", x(number)[0]).
		Scan(&id))
	return id
}

// A delivery that fails for its whole schedule holds back all later ones of its order, also while a client retries it.
// A delivery that is held back cannot be retried or replayed.
func TestFailingDeliveryHoldsBackLaterOnes(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	var orders []string
	for range 51 {
		orders = append(orders, "ord_1")
	}
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, orders...)
	first := wantClaims(t, db, "at first", 1)[0].ID
	for number := 1; number < 6; number++ {
		attempt(t, db, first, number, app.AttemptRetrying, time.Second)
		wantClaims(t, db, fmt.Sprint("after attempt ", number))
	}
	store, held := r.Stores[0], deliveryOf(t, db, 2)
	_, err := db.RequestRetry(t.Context(), noon.Add(20*time.Hour), store, owner, first)
	must(t, err)
	if _, err := db.RequestRetry(t.Context(), noon, store, owner, held); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("retry of a delivery that is held back: got %v, want %s", err, app.CodeConflict)
	}
	if _, err := db.Replay(t.Context(), noon, store, owner, held); app.CodeOf(err) != app.CodeDeliveryInProgress {
		t.Errorf("replay of a delivery that is held back: got %v, want %s", err, app.CodeDeliveryInProgress)
	}
	wantClaims(t, db, "after the requests")
	attempt(t, db, first, 6, app.AttemptDeadLetter, time.Second)
	wantClaims(t, db, "after the dead letter", 2)
}

// A replay that is only queued gives its turn to a first delivery. One in progress keeps it.
func TestFirstDeliveryPrecedesQueuedReplay(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	replay := func() {
		_, err := db.Replay(t.Context(), noon, r.Stores[0], owner, deliveryOf(t, db, 1))
		must(t, err)
	}
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
	wantClaims(t, db, "at first", 1)
	deliver(t, db)
	replay()
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
	wantClaims(t, db, "beside a queued replay", 2)
	deliver(t, db)
	claims := wantClaims(t, db, "after the first delivery", 1)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
	wantClaims(t, db, "beside a replay in progress")
	must(t, db.Requeue(t.Context(), claims))
	wantClaims(t, db, "after the replay was queued again", 3)
	deliver(t, db)
	wantClaims(t, db, "after the third event", 1)
}

// A relay that dies between its claim and the start keeps the turn for the relay that takes over. A delivery whose plan
// window has ended is queued again and keeps the turn.
func TestTakeoverKeepsTheTurn(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	subscribeOrdered(t, db, r, app.EventOrderCreated)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1")
	wantClaims(t, db, "at first", 1)
	taken, err := db.ClaimAbandoned(t.Context(), noon.Add(2*time.Minute), all)
	must(t, err)
	if len(taken) != 1 {
		t.Fatalf("took over %d claims, want 1", len(taken))
	}
	wantClaims(t, db, "after the takeover")
	later := noon.Add(90 * time.Minute)
	taken, err = db.ClaimAbandoned(t.Context(), later, all)
	must(t, err)
	if len(taken) != 0 {
		t.Fatalf("took over %d claims of a past window, want 0", len(taken))
	}
	if got := events(claimOnce(t, db.Queue, later, all)); len(got) != 1 || got[0] != x(1)[0] {
		t.Fatalf("claimed events %v in the next window, want %v", got, x(1))
	}
	deliver(t, db)
	if got := events(claimOnce(t, db.Queue, later, all)); len(got) != 1 || got[0] != x(2)[0] {
		t.Fatalf("claimed events %v after the first, want %v", got, x(2))
	}
}

// Two relays that claim at the same time never claim two deliveries of a resource.
func TestRelaysClaimOneOfAResource(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	relays := []*delivery.Queue{db.Queue, withPolicy(t, db, func(*delivery.Policy) {})}
	var orders []string
	for range 3 {
		for order := range 20 {
			orders = append(orders, fmt.Sprint("ord_", order))
		}
	}
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, orders...)
	for left := 60; left > 0; {
		var claimed sync.WaitGroup
		for _, relay := range relays {
			claimed.Go(func() {
				if _, err := relay.Claim(context.WithoutCancel(t.Context()), noon, batches(7)); err != nil {
					t.Error(err)
				}
			})
		}
		claimed.Wait()
		pending := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'pending'")
		if n := count(t, db, "SELECT count(DISTINCT resource) FROM deliveries WHERE status = 'pending'"); n != pending {
			t.Fatalf("%d deliveries of %d orders are pending", pending, n)
		}
		if pending == 0 {
			t.Fatalf("no claim, although %d deliveries are left", left)
		}
		left -= pending
		deliver(t, db)
	}
}

// The end of a delivery and the dispatch of the next one of its order can commit in both orders. The turn is passed on
// in both cases.
func TestEndBesideDispatch(t *testing.T) {
	t.Parallel()
	end := "UPDATE deliveries SET status = 'delivered', ended_at = now() WHERE status = 'pending'"
	insert := `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, queue, status,
			scheduled_for, created_at, resource, position, ordered, held)
		SELECT 'dlv_x', store_id, '` + string(x(2)[0]) + `', subscription_id, event_type, queue, 'queued', now(), now(),
			resource, position + 1, true, true FROM deliveries`
	for name, statements := range map[string][2]string{
		"the end first": {end, insert}, "the dispatch first": {insert, end},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, r, _ := orderedStore(t)
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
			wantClaims(t, db, "at first", 1)
			tx, err := db.System().DB.BeginTx(t.Context(), nil)
			must(t, err)
			_, err = tx.ExecContext(t.Context(), statements[0])
			must(t, err)
			second := make(chan error, 1)
			go func() {
				_, err := db.System().DB.ExecContext(context.WithoutCancel(t.Context()), statements[1])
				second <- err
			}()
			waitForLocks(t, db, 1)
			must(t, tx.Commit())
			must(t, <-second)
			wantClaims(t, db, "after both", 2)
		})
	}
}

// The deletion of a webhook cancels held-back deliveries and leaves no turn. A webhook that is switched off ends them
// as dead letters; when it is switched on again, the remaining ones are delivered in order. Rotation changes nothing.
func TestChangesOfWebhookWhileHeldBack(t *testing.T) {
	t.Parallel()
	db, r, s := orderedStore(t)
	store := r.Stores[0]
	emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_1", "ord_1", "ord_1", "ord_1")
	first := wantClaims(t, db, "at first", 1)[0].ID
	_, err := db.RotateSecret(t.Context(), noon, store, owner, s.ID, app.NewSecret("another secret of 32 characters!"),
		time.Hour, 0)
	must(t, err)
	setActive := func(active bool) {
		change := app.SubscriptionChange{IsActive: &active}
		_, err := db.ChangeSubscription(t.Context(), noon, store, owner, s.ID, change, 0)
		must(t, err)
	}
	setActive(false)
	must(t, db.EndDelivery(t.Context(), noon, first, app.DeliveryDeadLetter, app.ReasonInactive))
	wantClaims(t, db, "while the webhook is inactive")
	ended, err := db.EndQueued(t.Context(), noon, store, s.ID, 2)
	must(t, err)
	setActive(true)
	held := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND held")
	if ended != 2 || held != 2 {
		t.Errorf("ended %d deliveries, %d are held back, want 2 and 2", ended, held)
	}
	wantClaims(t, db, "after the activation", 4)
	must(t, db.DeleteSubscription(t.Context(), noon, store, owner, s.ID, 0))
	for n := 1; n > 0; {
		n, err = db.CancelQueued(t.Context(), noon, store, s.ID, 1)
		must(t, err)
	}
	must(t, db.EndDelivery(t.Context(), noon, deliveryOf(t, db, 4), app.DeliveryCancelled, app.ReasonDeleted))
	open := count(t, db, "SELECT count(*) FROM deliveries WHERE status IN ('queued', 'pending', 'retrying')")
	if turns := count(t, db, "SELECT count(*) FROM turns"); open != 0 || turns != 0 {
		t.Errorf("%d deliveries are open and %d turns exist after the deletion, want none", open, turns)
	}
}

// An event is dispatched as a whole, however small a dispatch is, and the next one of its order after it.
func TestDispatchKeepsTheOrderOfAResource(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	for range 4 {
		subscribeOrdered(t, db, r, app.EventOrderCreated)
	}
	enqueue(t, db, app.EventProductUpdated, 0, r.Stores...) // dispatches the events of the restaurant
	change(t, db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject)
		SELECT 'evt_x' || lpad(i::text, 12, '0'), $1, $2, '{}', $3, 'ord_1' FROM generate_series(1, 3) i`),
		r.Stores[0], app.EventOrderCreated, noon)
	for event := range 3 {
		_, err := db.Dispatch(t.Context(), noon, 1)
		must(t, err)
		total := count(t, db, "SELECT count(*) FROM deliveries")
		held := count(t, db, "SELECT count(*) FROM deliveries WHERE held")
		if total != 5*(event+1) || held != 5*event {
			t.Errorf("after dispatch %d: %d deliveries, %d of them held back, want %d and %d", event+1, total, held,
				5*(event+1), 5*event)
		}
	}
	// A webhook that another transaction is changing keeps the events of its store undispatched.
	tx, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = tx.ExecContext(t.Context(), "SELECT FROM subscriptions ORDER BY id LIMIT 1 FOR NO KEY UPDATE")
	must(t, err)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_2")
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE resource = 'ord_2'"); n != 0 {
		t.Errorf("%d deliveries beside a change of a webhook, want 0", n)
	}
	must(t, tx.Commit())
	did, err := db.Dispatch(t.Context(), noon, 100)
	must(t, err)
	if did.Events != 1 || did.Deliveries != 5 {
		t.Errorf("dispatched %+v after the change, want 1 event and 5 deliveries", did)
	}
}

// The deliveries that an order holds back cost the claims, attempts and ends of other deliveries nothing.
func TestHeldBackDeliveriesCostNothing(t *testing.T) {
	t.Parallel()
	few, many := readsBesideHeld(t, 10), readsBesideHeld(t, 5_000)
	for step, read := range many {
		if read > few[step]+500 {
			t.Errorf("%s: read %d rows and entries beside 5,000 deliveries that are held back, %d beside 10", step,
				read, few[step])
		}
	}
}

// readsBesideHeld returns the rows and index entries of deliveries that steps read while a number of deliveries of one
// order is held back.
func readsBesideHeld(t *testing.T, held int) map[string]int {
	t.Helper()
	database, r, s := orderedStore(t)
	emitOf(t, database, r.Stores[0], app.EventOrderCreated, "ord_runaway", "ord_runaway")
	seed(t, database, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, queue, status,
			scheduled_for, created_at, resource, position, ordered, held)
		SELECT 'dlv_y' || i, d.store_id, 'evt_y' || i, d.subscription_id, d.event_type, d.queue, 'queued', now(), now(),
			d.resource, d.position + i, true, true FROM deliveries d, generate_series(1, $1::int) i WHERE d.held`, held)
	other := open(t, database, "two.example")
	subscribeOrdered(t, database, other, app.EventOrderCreated)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	vacuum(t, owner)
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	read := map[string]int{}
	step := func(name string, do func()) {
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		do()
		must(t, db.FlushReads(t.Context()))
		after := reads(t, owner).minus(before)
		read[name] += after.sequential + after.fetched + after.entries
	}
	for range 3 {
		emitOf(t, database, r.Stores[0], app.EventOrderCreated, "ord_1")
		emitOf(t, database, other.Stores[0], app.EventOrderCreated, "ord_2")
		var claims []app.Claim
		step("claim", func() {
			found, err := db.Claim(t.Context(), noon, all)
			must(t, err)
			claims = found.Claims
		})
		step("load", func() {
			for _, c := range claims {
				_, err := db.Outgoing(t.Context(), c.ID, 1)
				if app.CodeOf(err) != app.CodeNotFound { // the runaway deliveries have no events
					must(t, err)
				}
			}
		})
		step("end", func() {
			for _, c := range claims {
				must(t, db.EndDelivery(t.Context(), noon, c.ID, app.DeliveryCancelled, ""))
			}
		})
		step("search", func() {
			_, err := db.ClaimAbandoned(t.Context(), noon, all)
			must(t, err)
		})
	}
	left := count(t, database, "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND held", s.ID)
	if left < held-9 {
		t.Errorf("%d deliveries are held back, want about %d", left, held)
	}
	return read
}

// The record of an attempt that ends a delivery does not wait for others if its turn is passed on.
func TestRecordsThatPassATurnDoNotWait(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	queue := withPolicy(t, db, func(p *delivery.Policy) { p.Record.Pause = time.Hour })
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1", "ord_1", "ord_1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for event, awaited := range []bool{true, true, true, false} {
		c := wantClaims(t, db, "after the end of the one before", event+1)[0]
		outgoing, err := queue.Outgoing(t.Context(), c.ID, 1)
		must(t, err)
		made := app.MadeAttempt{
			DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: noon,
		}
		if made.PassesTurn() != awaited {
			t.Fatalf("event %d passes a turn: got %t, want %t", event+1, !awaited, awaited)
		}
		if !awaited {
			break
		}
		_, err = queue.RecordAttempt(ctx, made)
		must(t, err)
	}
}

// The end of an ordered delivery wakes the relays, so that the next one starts without a poll.
func TestEndOfOrderedDeliveryWakesRelays(t *testing.T) {
	t.Parallel()
	db, r, _ := orderedStore(t)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1", "ord_1")
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan struct{}, 1_000)
	var listening sync.WaitGroup
	listening.Go(func() { _ = db.Listen(ctx, func() { woken <- struct{}{} }, func() {}) })
	<-woken // listening has begun
	for event, end := range []func(app.DeliveryID){
		func(id app.DeliveryID) { attempt(t, db, id, 1, app.AttemptDelivered, time.Second) },
		func(id app.DeliveryID) { must(t, db.EndDelivery(t.Context(), noon, id, app.DeliveryCancelled, "")) },
	} {
		first := wantClaims(t, db, "after the end of the one before", event+1)[0].ID
		for len(woken) > 0 {
			<-woken
		}
		end(first)
		<-woken
	}
	wantClaims(t, db, "at last", 3)
	cancel()
	listening.Wait()
}
