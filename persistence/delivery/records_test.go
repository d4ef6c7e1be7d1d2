package delivery_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// An attempt that is recorded late counts, but does not reopen an ended delivery; only a replay does. A delivered
// delivery stays delivered.
func TestLateAttemptKeepsEndedDelivery(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	for _, test := range []struct {
		before app.DeliveryStatus
		late   app.AttemptStatus
		after  app.DeliveryStatus
	}{
		{app.DeliveryDelivered, app.AttemptRetrying, app.DeliveryDelivered},
		{app.DeliveryDelivered, app.AttemptDeadLetter, app.DeliveryDelivered},
		{app.DeliveryDelivered, app.AttemptDelivered, app.DeliveryDelivered},
		{app.DeliveryDeadLetter, app.AttemptRetrying, app.DeliveryDeadLetter},
		{app.DeliveryDeadLetter, app.AttemptDelivered, app.DeliveryDelivered},
		{app.DeliveryCancelled, app.AttemptRetrying, app.DeliveryCancelled},
		{app.DeliveryCancelled, app.AttemptDelivered, app.DeliveryCancelled},
		{app.DeliveryPending, app.AttemptRetrying, app.DeliveryRetrying},
		{app.DeliveryRetrying, app.AttemptDelivered, app.DeliveryDelivered},
		{app.DeliveryQueued, app.AttemptDelivered, app.DeliveryDelivered}, // queued again while its workflow runs
	} {
		t.Run(fmt.Sprintf("%s, late %s", test.before, test.late), func(t *testing.T) {
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			id := claimOnce(t, db.Queue, noon, all)[0].ID
			change(t, db, "UPDATE deliveries SET status = $2, attempts = 1 WHERE id = $1", id, test.before)
			attempt(t, db, id, 2, test.late, time.Millisecond)
			d, err := db.Delivery(t.Context(), r.Stores[0], id)
			must(t, err)
			if d.Status != test.after {
				t.Errorf("status: got %s, want %s", d.Status, test.after)
			}
			if d.Attempts != 2 {
				t.Errorf("attempts: got %d, want 2", d.Attempts)
			}
			if (d.NextRetryAt != nil) != (test.after == app.DeliveryRetrying) {
				t.Errorf("next retry: got %v, want one only if retrying", d.NextRetryAt)
			}
			retries := count(t, db, "SELECT count(*) FROM attempts WHERE status = 'retrying' OR next_retry_at IS NOT NULL")
			if (retries > 0) != (test.after == app.DeliveryRetrying) {
				t.Errorf("attempts with a retry: got %d, want one only if retrying", retries)
			}
			change(t, db, "UPDATE deliveries SET status = 'delivered' WHERE id = $1", id)
			change(t, db, "DELETE FROM attempts WHERE delivery_id = $1", id)
		})
	}
}

// After a restore that lacks an attempt, its successor ends the retry of the attempt before.
func TestRecordAfterALostAttempt(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	id := claimOnce(t, db.Queue, noon, all)[0].ID
	attempt(t, db, id, 1, app.AttemptRetrying, time.Millisecond)
	attempt(t, db, id, 3, app.AttemptDelivered, time.Millisecond)
	if n := count(t, db, "SELECT count(*) FROM attempts WHERE status = 'retrying' OR next_retry_at IS NOT NULL"); n != 0 {
		t.Errorf("attempts with a retry to come: got %d, want 0", n)
	}
}

// If a delivery ends while its failed attempt is being recorded, no attempt has a pending retry, and the reason is that
// of the end, regardless of the order of the two transactions.
func TestEndDuringRecordLeavesNoRetry(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ends := map[app.DeliveryStatus]string{
		app.DeliveryCancelled: app.ReasonCancelled, app.DeliveryDeadLetter: app.ReasonInactive,
	}
	for status, reason := range ends {
		end := func(id app.DeliveryID) {
			if err := db.EndDelivery(t.Context(), noon, id, status, reason); err != nil {
				t.Error(err)
			}
		}
		record := func(id app.DeliveryID) { attempt(t, db, id, 1, app.AttemptRetrying, time.Millisecond) }
		for name, order := range map[string]struct {
			first  string
			second func(app.DeliveryID)
		}{
			"record first": {`WITH recorded AS (
				INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
					status_code, response_time_ms, error, next_retry_at, attempted_at)
				SELECT 'att' || id, store_id, id, subscription_id, event_id, event_type, 1, 'retrying', 503, 1, '', $2, $2
				FROM deliveries WHERE id = $1
			) UPDATE deliveries SET status = 'retrying', attempts = 1, next_retry_at = $2 WHERE id = $1`, end},
			"end first": {fmt.Sprintf("UPDATE deliveries SET status = '%s', reason = '%s', ended_at = $2 WHERE id = $1",
				status, reason), record},
		} {
			t.Run(fmt.Sprintf("%s, %s", status, name), func(t *testing.T) {
				enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
				id := claimOnce(t, db.Queue, noon, all)[0].ID
				tx, err := db.System().DB.BeginTx(t.Context(), nil)
				must(t, err)
				_, err = tx.ExecContext(t.Context(), order.first, id, noon)
				must(t, err)
				var second sync.WaitGroup
				second.Go(func() { order.second(id) })
				waitForLocks(t, db, 1)
				must(t, tx.Commit())
				second.Wait()
				var got, why string
				var made app.AttemptStatus
				var retry bool
				must(t, db.System().DB.QueryRowContext(t.Context(), `
					SELECT d.status, d.reason, a.status, a.next_retry_at IS NOT NULL
					FROM deliveries d JOIN attempts a ON a.delivery_id = d.id WHERE d.id = $1`, id).
					Scan(&got, &why, &made, &retry))
				if got != string(status) || why != reason || made != app.AttemptDeadLetter || retry {
					t.Errorf("got delivery %s with the reason %q, attempt %s with a retry: %v, want %s, %q, dead_letter and false",
						got, why, made, retry, status, reason)
				}
			})
		}
	}
}

// A replay that was accepted is made, with its whole schedule, even if an attempt or the end of an earlier run of the
// delivery is recorded after the replay was queued.
func TestLateRecordKeepsQueuedReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	for name, late := range map[string]func(t *testing.T, made app.MadeAttempt) (attempts int){
		"retrying":  func(t *testing.T, made app.MadeAttempt) int { return recordAs(t, db, made, app.AttemptRetrying) },
		"delivered": func(t *testing.T, made app.MadeAttempt) int { return recordAs(t, db, made, app.AttemptDelivered) },
		"end": func(t *testing.T, made app.MadeAttempt) int {
			must(t, db.EndDelivery(t.Context(), noon, made.DeliveryID, app.DeliveryDeadLetter, app.ReasonInactive))
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := r.replayedDuringAttempt(t, db)
			attempts := late(t, made)
			claims := claimOnce(t, db.Queue, noon, all)
			if len(claims) != 1 || claims[0].ID != made.DeliveryID {
				t.Fatalf("claims after the late record: got %+v, want the replay", claims)
			}
			if c := claims[0]; c.Attempts != attempts || c.Place != 0 {
				t.Errorf("replay: got %d attempts and place %d in the schedule, want %d and 0", c.Attempts, c.Place, attempts)
			}
			if n := count(t, db, "SELECT count(*) FROM attempts WHERE delivery_id = $1", made.DeliveryID); n != attempts {
				t.Errorf("recorded attempts: got %d, want %d", n, attempts)
			}
			if n := count(t, db, `SELECT count(*) FROM attempts
				WHERE delivery_id = $1 AND (status = 'retrying' OR next_retry_at IS NOT NULL)`, made.DeliveryID); n != 0 {
				t.Errorf("attempts with a retry to come: got %d, want 0", n)
			}
			deliver(t, db)
		})
	}
}

// The first attempt of a replay that has started has the number of an attempt of an earlier run that was not recorded.
// The replay takes neither a result of that attempt nor an end of the earlier run.
func TestLateRecordKeepsStartedReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	for _, late := range []app.AttemptStatus{app.AttemptRetrying, app.AttemptDeadLetter, app.AttemptDelivered} {
		t.Run(string(late), func(t *testing.T) {
			made := r.replayedDuringAttempt(t, db)
			id := claimOnce(t, db.Queue, noon, all)[0].ID
			if n := recordAs(t, db, made, late); n != 0 {
				t.Errorf("recorded attempts after the late record: got %d, want 0", n)
			}
			must(t, db.EndLoaded(t.Context(), noon, id, made.Outgoing.Replays, app.DeliveryDeadLetter, app.ReasonInactive))
			if n := count(t, db, "SELECT count(*) FROM deliveries WHERE id = $1 AND status = 'pending'", id); n != 1 {
				t.Error("the late record or end has changed the replay")
			}
			attempt(t, db, id, 1, app.AttemptRetrying, time.Millisecond)
			if n := recordAs(t, db, made, late); n != 1 {
				t.Errorf("recorded attempts after that of the replay: got %d, want 1", n)
			}
			d, err := db.Delivery(t.Context(), r.Stores[0], id)
			must(t, err)
			if d.Status != app.DeliveryRetrying || d.Attempts != 1 {
				t.Errorf("replay: got %s after %d attempts, want retrying after 1", d.Status, d.Attempts)
			}
			change(t, db, "UPDATE deliveries SET status = 'delivered' WHERE id = $1", id)
		})
	}
}

// A replay that is queued again while its workflow runs is recorded as what it became.
func TestRecordOfARequeuedReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.replayedDuringAttempt(t, db)
	claims := claimOnce(t, db.Queue, noon, all)
	must(t, db.Requeue(t.Context(), claims))
	attempt(t, db, claims[0].ID, 1, app.AttemptDelivered, time.Millisecond)
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'delivered'"); n != 1 {
		t.Error("the replay was delivered and stays queued")
	}
}

// A first attempt that is recorded after its delivery was queued again or ended counts in the window of its claim, but
// only once.
func TestLateFirstAttemptIsCounted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	end := func(status app.DeliveryStatus, reason string) func(app.Claim) error {
		return func(c app.Claim) error { return db.EndDelivery(t.Context(), noon, c.ID, status, reason) }
	}
	for name, uncount := range map[string]func(app.Claim) error{
		"queued again": func(c app.Claim) error { return db.Requeue(t.Context(), []app.Claim{c}) },
		"dead letter":  end(app.DeliveryDeadLetter, app.ReasonInactive),
		"cancelled":    end(app.DeliveryCancelled, app.ReasonDeleted),
	} {
		t.Run(name, func(t *testing.T) {
			before := startedIn(t, db, string(r.Website), noon)
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			c := claimOnce(t, db.Queue, noon, all)[0]
			must(t, uncount(c))
			uncounted := startedIn(t, db, string(r.Website), noon)
			attempt(t, db, c.ID, 1, app.AttemptDeadLetter, time.Millisecond)
			attempt(t, db, c.ID, 1, app.AttemptDeadLetter, time.Millisecond)
			attempt(t, db, c.ID, 2, app.AttemptDelivered, time.Millisecond)
			if got := startedIn(t, db, string(r.Website), noon); uncounted != before || got != before+1 {
				t.Errorf("counted starts: got %d, and %d after the record, want %d and %d", uncounted, got, before, before+1)
			}
		})
	}
}

// The same applies if the record begins before the transaction commits that queues the delivery again or ends it.
func TestLateFirstAttemptBesideAnEndIsCounted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for name, uncount := range map[string]func(app.Claim) error{
		"queued again": func(c app.Claim) error { return db.Requeue(t.Context(), []app.Claim{c}) },
		"ended": func(c app.Claim) error {
			return db.EndDelivery(t.Context(), noon, c.ID, app.DeliveryDeadLetter, app.ReasonInactive)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := startedIn(t, db, string(r.Website), noon)
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			c := claimOnce(t, db.Queue, noon, all)[0]
			window, err := db.System().BeginTx(t.Context(), nil)
			must(t, err)
			defer func() { _ = window.Rollback() }()
			_, err = window.ExecContext(t.Context(), "UPDATE plan_windows SET started = started")
			must(t, err)
			var both sync.WaitGroup
			both.Go(func() {
				if err := uncount(c); err != nil {
					t.Error(err)
				}
			})
			waitForLocks(t, db, 1)
			both.Go(func() { attempt(t, db, c.ID, 1, app.AttemptDelivered, time.Millisecond) })
			waitForLocks(t, db, 2)
			must(t, window.Commit())
			both.Wait()
			if got := startedIn(t, db, string(r.Website), noon); got != before+1 {
				t.Errorf("starts after the record: got %d, want %d", got, before+1)
			}
		})
	}
}

// replayedDuringAttempt returns the first attempt of a delivery that has become a dead letter and was replayed before
// the attempt ended.
func (r restaurant) replayedDuringAttempt(t *testing.T, db *persistencetest.Database) app.MadeAttempt {
	t.Helper()
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	id := claimOnce(t, db.Queue, noon, all)[0].ID
	outgoing, err := db.Outgoing(t.Context(), id, 1)
	must(t, err)
	must(t, db.EndDelivery(t.Context(), noon, id, app.DeliveryDeadLetter, app.ReasonInactive))
	_, err = db.Replay(t.Context(), noon, r.Stores[0], owner, id)
	must(t, err)
	return app.MadeAttempt{DeliveryID: id, Outgoing: outgoing, Number: 1, At: noon, RetryIn: time.Minute}
}

// recordAs records an attempt with a status, and returns the number of recorded attempts of its delivery.
func recordAs(t *testing.T, db *persistencetest.Database, made app.MadeAttempt, status app.AttemptStatus) int {
	t.Helper()
	made.Status = status
	_, err := db.RecordAttempt(t.Context(), made)
	must(t, err)
	return count(t, db, "SELECT count(*) FROM attempts WHERE delivery_id = $1", made.DeliveryID)
}

// One attempt that a batch contains twice is one attempt: it fails its subscription once.
func TestAttemptTwiceInABatchCountsOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	id := claimOnce(t, db.Queue, noon, all)[0].ID
	outgoing, err := db.Outgoing(t.Context(), id, 1)
	must(t, err)
	made := app.MadeAttempt{
		DeliveryID: id, Outgoing: outgoing, Number: 1, Status: app.AttemptRetrying, StatusCode: 503, At: noon,
		RetryIn: time.Minute,
	}
	fresh, err := db.RecordAttempts(t.Context(), []app.MadeAttempt{made, made})
	must(t, err)
	if !slices.Equal(fresh, []bool{true, false}) {
		t.Errorf("new records: got %v, want only the first", fresh)
	}
	if n := count(t, db, "SELECT failure_count FROM subscription_health"); n != 1 {
		t.Errorf("failures: got %d, want 1", n)
	}
}
