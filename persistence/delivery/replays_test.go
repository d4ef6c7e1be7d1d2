package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var byOwner = app.Actor{Realm: app.RealmTenant, ID: "usr_1", Address: "203.0.113.7", RequestID: "req_1"}

// deadLetters creates n dead letters of each subscription of the first store.
func (r restaurant) deadLetters(t *testing.T, db *persistencetest.Database, n int) {
	t.Helper()
	r.Place(t, db, n)
	claim(t, db)
	change(t, db, `UPDATE deliveries SET status = 'dead_letter', lease_until = NULL, ended_at = $1
		WHERE ended_at IS NULL`, noon.Add(time.Minute))
}

func allOf(s app.SubscriptionID) app.NewBulkReplay {
	return app.NewBulkReplay{
		SubscriptionID: s, DeliveryStatus: app.ReplayedDeadLetters, From: app.At(noon.Add(-time.Hour)),
		To: app.At(noon.Add(time.Hour)),
	}
}

var later = noon.Add(2 * time.Minute)

// createReplay creates a bulk replay.
func createReplay(t *testing.T, db *persistencetest.Database, store app.StoreID, in app.NewBulkReplay) app.BulkReplay {
	t.Helper()
	replay, err := db.CreateBulkReplay(t.Context(), later, store, byOwner, in, nil)
	must(t, err)
	return replay
}

// step runs one step of a bulk replay.
func step(t *testing.T, db *persistencetest.Database, store app.StoreID, id app.ReplayID, limit int) app.ReplayStep {
	t.Helper()
	got, err := db.ContinueBulkReplay(t.Context(), later, store, id, waiting(limit))
	must(t, err)
	return got
}

// waiting returns limits of which tests reach only the number of deliveries that wait for their first attempt.
func waiting(limit int) app.ReplayLimits {
	limits := app.DefaultReplayLimits()
	limits.Waiting, limits.Step = limit, 1_000
	return limits
}

// A step of a bulk replay reads a bounded number of deliveries, also if none of them has its reason.
func TestBulkReplayReadsInSteps(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, webhook := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.endedDeliveries(t, db, 25)
	change(t, db, "UPDATE deliveries SET reason = 'rare' WHERE id = (SELECT max(id) FROM deliveries)")
	wanted := allOf(webhook)
	wanted.DeliveryReason = "rare"
	replay := createReplay(t, db, store, wanted)
	limits := waiting(100)
	limits.List = 10
	for i, want := range []app.ReplayStep{
		{Status: app.ReplayRunning, Moved: true}, {Status: app.ReplayRunning, Moved: true},
		{Status: app.ReplayCompleted, Moved: true, Matched: 1, Replayed: 1, Decided: 1},
	} {
		got, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, limits)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// A bulk replay queues deliveries up to the limit, continues after these have started, and ends. It
// skips deliveries that have changed meanwhile, and ignores later ones.
func TestBulkReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 10)
	dry := allOf(s)
	dry.DryRun = true
	change(t, db, "UPDATE outbox SET body = NULL WHERE id = (SELECT event_id FROM deliveries ORDER BY id DESC LIMIT 1)")
	if got := createReplay(t, db, store, dry); got.ID != "" || got.Status != app.ReplayDryRun || *got.Matched != 10 ||
		got.Skipped != 1 {
		t.Errorf("dry run: got %+v, want 10 matched, 1 skipped", got)
	}
	if n := count(t, db, `SELECT (SELECT count(*) FROM replays) + (SELECT count(*) FROM jobs) + (SELECT count(*)
		FROM audit WHERE action = 'webhook.replayed')`); n != 0 {
		t.Errorf("rows of a dry run: got %d, want 0", n)
	}
	replay := createReplay(t, db, store, allOf(s))
	if replay.Matched != nil || replay.Status != app.ReplayRunning {
		t.Errorf("bulk replay: got %+v, want it running and not counted", replay)
	}
	want := func(waiting int, want app.ReplayStep) {
		t.Helper()
		if diff := cmp.Diff(want, step(t, db, store, replay.ID, 4)); diff != "" {
			t.Errorf("step (-want +got):\n%s", diff)
		}
		if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued'"); n != waiting {
			t.Errorf("queued deliveries: got %d, want %d", n, waiting)
		}
	}
	want(4, app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 10, Replayed: 4, Decided: 4})
	want(4, app.ReplayStep{Status: app.ReplayRunning, Matched: 10, Replayed: 4})
	change(t, db, `UPDATE deliveries SET status = 'retrying'
		WHERE id IN (SELECT id FROM deliveries WHERE status = 'queued' ORDER BY id LIMIT 2)`)
	change(t, db, `UPDATE deliveries SET status = 'dead_letter', ended_at = $1
		WHERE status = 'queued'`, later.Add(time.Second)) // ended again
	// The seventh delivery is replayed by another request; the eighth has ended after the bulk replay was created.
	change(t, db, `UPDATE deliveries SET status = 'pending', ended_at = NULL
		WHERE id = (SELECT id FROM deliveries ORDER BY id OFFSET 6 LIMIT 1)`)
	change(t, db, `UPDATE deliveries SET ended_at = $1
		WHERE id = (SELECT id FROM deliveries ORDER BY id OFFSET 7 LIMIT 1)`, later.Add(time.Second))
	want(2, app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 10, Replayed: 6, Skipped: 2, Decided: 4})
	want(3, app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Matched: 10, Replayed: 7, Skipped: 3, Decided: 2})
	want(3, app.ReplayStep{Status: app.ReplayCompleted, Matched: 10, Replayed: 7, Skipped: 3})
	shown, err := db.BulkReplay(t.Context(), store, s, replay.ID)
	must(t, err)
	at := app.At(later)
	replay.Status, replay.Matched, replay.Replayed, replay.Skipped, replay.InProgress, replay.EndedAt =
		app.ReplayCompleted, new(int64(10)), 7, 3, 3, &at
	if diff := cmp.Diff(replay, shown); diff != "" {
		t.Errorf("bulk replay (-want +got):\n%s", diff)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE replays = 1 AND replay_id IS NOT NULL"); n != 7 {
		t.Errorf("deliveries with one replay: got %d, want 7", n)
	}
	var audited, job string
	must(t, db.System().DB.QueryRowContext(t.Context(),
		`SELECT action || ' ' || target || ' ' || actor_id || ' ' || (details->>'replayId')
		FROM audit WHERE action = 'webhook.replayed'`).Scan(&audited))
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT kind || ' ' || subject FROM jobs").Scan(&job))
	if audited != "webhook.replayed "+string(s)+" usr_1 "+string(replay.ID) || job != "replay "+string(replay.ID) {
		t.Errorf("got audit entry %q and job %q, want a replay of webhook %s and job %s", audited, job, s, replay.ID)
	}
}

func TestBulkReplayFilters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s, other := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID,
		r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 3)
	change(t, db, `UPDATE deliveries SET status = 'delivered'
		WHERE id = (SELECT max(id) FROM deliveries WHERE subscription_id = $1)`, s)
	change(t, db, `UPDATE deliveries SET id = 'dlv_' || uuidv7_hex($2, 1), created_at = $2
		WHERE id = (SELECT min(id) FROM deliveries WHERE subscription_id = $1)`, s, noon.Add(-time.Minute))
	for name, test := range map[string]struct {
		change func(*app.NewBulkReplay)
		want   int64
	}{
		"dead letters of one": {func(*app.NewBulkReplay) {}, 2},
		"delivered of one":    {func(in *app.NewBulkReplay) { in.DeliveryStatus = app.ReplayedDelivered }, 1},
		"cancelled of one":    {func(in *app.NewBulkReplay) { in.DeliveryStatus = app.ReplayedCancelled }, 0},
		"of the other":        {func(in *app.NewBulkReplay) { in.SubscriptionID = other }, 3},
		"of the store":        {func(in *app.NewBulkReplay) { in.SubscriptionID = "" }, 5},
		"of a type":           {func(in *app.NewBulkReplay) { in.EventType = app.EventOrderCreated }, 2},
		"of another type":     {func(in *app.NewBulkReplay) { in.EventType = app.EventOrderCancelled }, 0},
		"from then":           {func(in *app.NewBulkReplay) { in.From = app.At(noon) }, 1},
		"to then":             {func(in *app.NewBulkReplay) { in.To = app.At(noon) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := allOf(s)
			in.DryRun = true
			test.change(&in)
			if got := createReplay(t, db, store, in); *got.Matched != test.want {
				t.Errorf("%s: dry run: got %d matched, want %d", name, got.Matched, test.want)
			}
			in.DryRun = false
			replay := createReplay(t, db, store, in)
			limits := waiting(0) // lists, and queues none
			got, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, limits)
			must(t, err)
			if got.Matched != test.want || got.Replayed != 0 {
				t.Errorf("%s: got %+v, want %d matched", name, got, test.want)
			}
		})
	}
	whole := allOf("")
	replay := createReplay(t, db, store, whole)
	change(t, db, "UPDATE subscriptions SET deleted_at = now() WHERE id = $1", other)
	if got := step(t, db, store, replay.ID, 100); got.Status != app.ReplayCompleted || got.Replayed != 2 ||
		got.Skipped != 3 {
		t.Errorf("replay of a store with a deleted webhook: got %+v, want 2 replayed, 3 skipped", got)
	}
}

// A bulk replay can select dead letters and cancelled deliveries by reason: the error of the last
// attempt, or the reason for which the delivery ended without one.
func TestBulkReplayByReason(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.Place(t, db, 6)
	claims := claim(t, db)
	for i, c := range claims {
		attempt(t, db, c.ID, 1, app.AttemptRetrying, time.Second)
		switch i {
		case 0, 1, 2:
			attempt(t, db, c.ID, 2, app.AttemptDeadLetter, time.Second)
		case 3, 4:
			must(t, db.EndDelivery(t.Context(), noon, c.ID, app.DeliveryDeadLetter, app.ReasonInactive))
		case 5:
			must(t, db.EndDelivery(t.Context(), noon, c.ID, app.DeliveryCancelled, app.ReasonCancelled))
		}
	}
	change(t, db, "UPDATE deliveries SET ended_at = $1", noon.Add(time.Minute))
	for _, test := range []struct {
		status app.ReplayedStatus
		reason string
		want   []app.Claim
	}{
		{app.ReplayedDeadLetters, "HTTP 503", claims[:3]},
		{app.ReplayedDeadLetters, app.ReasonInactive, claims[3:5]},
		{app.ReplayedDeadLetters, "HTTP 50", nil},
		{app.ReplayedCancelled, app.ReasonCancelled, claims[5:]},
	} {
		in := allOf(s)
		in.DeliveryStatus, in.DeliveryReason, in.DryRun = test.status, test.reason, true
		if got := createReplay(t, db, store, in); *got.Matched != int64(len(test.want)) ||
			got.DeliveryReason != test.reason {
			t.Errorf("%s: dry run: got %+v, want %d matched", test.reason, got, len(test.want))
		}
		in.DryRun = false
		replay := createReplay(t, db, store, in)
		for range len(test.want) + 1 { // each step resumes at the cursor of the previous step
			step(t, db, store, replay.ID, 1)
			change(t, db, `UPDATE deliveries SET status = 'delivered', ended_at = $1
				WHERE status = 'queued'`, later.Add(time.Second))
		}
		shown, err := db.BulkReplay(t.Context(), store, s, replay.ID)
		must(t, err)
		at, want := app.At(later), replay
		want.Status, want.Replayed, want.EndedAt = app.ReplayCompleted, int64(len(test.want)), &at
		want.Matched = &want.Replayed
		if diff := cmp.Diff(want, shown); diff != "" || shown.DeliveryReason != test.reason {
			t.Errorf("%s: bulk replay (-want +got): %s", test.reason, diff)
		}
		for _, c := range test.want {
			if n := count(t, db, fmt.Sprintf(`SELECT count(*) FROM deliveries
				WHERE id = '%s' AND replays = 1 AND replay_id = '%s'`, c.ID, replay.ID)); n != 1 {
				t.Errorf("%s: %s was not replayed once", test.reason, c.ID)
			}
		}
		if n := count(t, db, fmt.Sprintf(`SELECT count(*) FROM audit
			WHERE details @> '{"replayId": "%s", "deliveryReason": "%s"}'`, replay.ID, test.reason)); n != 1 {
			t.Errorf("%s: audit entries: got %d, want 1", test.reason, n)
		}
	}
}

// Concurrent workers of one bulk replay queue each delivery once.
func TestConcurrentBulkReplayWorkers(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 40)
	replay := createReplay(t, db, store, allOf(s))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				got, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, waiting(3))
				if err != nil || got.Status != app.ReplayRunning {
					if err != nil || got.Replayed != 40 || got.Skipped != 0 {
						t.Errorf("last step: got %+v and error %v, want 40 replayed", got, err)
					}
					return
				}
				_, err = db.System().DB.ExecContext(t.Context(), `UPDATE deliveries SET status = 'dead_letter',
					ended_at = $1 WHERE status = 'queued'`, later.Add(time.Second))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE replays = 1"); n != 40 {
		t.Errorf("deliveries with one replay: got %d, want 40", n)
	}
}

func TestBulkReplayEndsEarly(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 3)
	cancelled, deleted := createReplay(t, db, store, allOf(s)), createReplay(t, db, store, allOf(s))
	step(t, db, store, cancelled.ID, 1)
	for range 2 {
		got, err := db.CancelBulkReplay(t.Context(), later, store, cancelled.ID, "enough")
		if err != nil || got.Status != app.ReplayCancelled || got.Reason != "enough" || got.Replayed != 1 ||
			got.EndedAt == nil {
			t.Errorf("CancelBulkReplay: got %+v and error %v, want cancelled with 1 replayed", got, err)
		}
	}
	if got := step(t, db, store, cancelled.ID, 10); got.Status != app.ReplayCancelled || got.Moved ||
		got.Replayed != 1 {
		t.Errorf("step of a cancelled bulk replay: got %+v, want no progress", got)
	}
	change(t, db, "UPDATE subscriptions SET deleted_at = now()")
	if got := step(t, db, store, deleted.ID, 10); got.Status != app.ReplayCancelled || got.Replayed != 0 {
		t.Errorf("step for a deleted webhook: got %+v, want cancelled", got)
	}
	_, err := db.CreateBulkReplay(t.Context(), later, store, byOwner, allOf(s), nil)
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("bulk replay of a deleted webhook: got error %v, want %s", err, app.CodeNotFound)
	}
	change(t, db, "UPDATE replays SET status = 'completed'")
	_, err = db.CancelBulkReplay(t.Context(), later, store, deleted.ID, "enough")
	if app.CodeOf(err) != app.CodeConflict {
		t.Errorf("CancelBulkReplay after completion: got error %v, want %s", err, app.CodeConflict)
	}
	for range app.MaxRunningReplays {
		createReplay(t, db, store, allOf(""))
	}
	_, err = db.CreateBulkReplay(t.Context(), later, store, byOwner, allOf(""), nil)
	if app.CodeOf(err) != app.CodeLimitReached {
		t.Errorf("bulk replay above the limit: got error %v, want %s", err, app.CodeLimitReached)
	}
}

// A bulk replay skips a delivery that changes between the search and the lock, and continues with the
// next delivery.
func TestBulkReplaySkipsChangedDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 10)
	replay := createReplay(t, db, store, allOf(s))
	tx, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), `UPDATE deliveries SET status = 'pending', ended_at = NULL
		WHERE id IN (SELECT id FROM deliveries ORDER BY id OFFSET 1 LIMIT 2)`)
	must(t, err)
	got := make(chan app.ReplayStep, 1)
	go func() {
		step, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, waiting(4))
		if err != nil {
			t.Error(err)
		}
		got <- step
	}()
	waitForLocks(t, db, 1) // it has found four deliveries and waits for the lock of the second
	must(t, tx.Commit())
	want := app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 10, Replayed: 2, Skipped: 2, Decided: 4}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("step after the lock (-want +got):\n%s", diff)
	}
	change(t, db, "UPDATE deliveries SET status = 'dead_letter', ended_at = $1 WHERE ended_at IS NULL",
		later.Add(time.Second))
	want = app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Matched: 10, Replayed: 8, Skipped: 2, Decided: 6}
	if diff := cmp.Diff(want, step(t, db, store, replay.ID, 100)); diff != "" {
		t.Errorf("last step (-want +got):\n%s", diff)
	}
}

// A bulk replay does not wait for the store's row, which reservations and settings lock.
func TestBulkReplayLeavesTheStoreFree(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	tx, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { must(t, tx.Rollback()) }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM stores WHERE id = $1 FOR NO KEY UPDATE", r.Stores[0])
	must(t, err)
	limited, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // ends a wait for the lock
	defer cancel()
	_, err = db.CreateBulkReplay(limited, later, r.Stores[0], byOwner, allOf(s.ID), nil)
	must(t, err)
}

// Concurrent requests do not exceed the limit of running bulk replays.
func TestConcurrentBulkReplaysKeepTheLimit(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	var created atomic.Int64
	var requests sync.WaitGroup
	for range 3 * app.MaxRunningReplays {
		requests.Go(func() {
			_, err := db.CreateBulkReplay(t.Context(), later, r.Stores[0], byOwner, allOf(s.ID), nil)
			switch app.CodeOf(err) {
			case "":
				created.Add(1)
			case app.CodeLimitReached:
			default:
				t.Error(err)
			}
		})
	}
	requests.Wait()
	if created.Load() != app.MaxRunningReplays {
		t.Errorf("bulk replays: got %d, want %d", created.Load(), app.MaxRunningReplays)
	}
}
