package delivery_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var byOwner = app.Actor{Realm: app.RealmTenant, ID: "usr_1", Address: "203.0.113.7", RequestID: "req_1"}

// deadLetters makes that many dead letters of a store's subscription.
func (r restaurant) deadLetters(t *testing.T, db *persistencetest.Database, n int) {
	t.Helper()
	r.Place(t, db, n)
	claim(t, db)
	change(t, db, "UPDATE deliveries SET status = 'dead_letter', lease_until = NULL, ended_at = $1 WHERE ended_at IS NULL", noon.Add(time.Minute))
}

func change(t *testing.T, db *persistencetest.Database, statement string, args ...any) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), statement, args...)
	must(t, err)
}

func allOf(s app.SubscriptionID) app.NewBulkReplay {
	return app.NewBulkReplay{SubscriptionID: s, DeliveryStatus: app.DeliveryDeadLetter, From: app.At(noon.Add(-time.Hour)), To: app.At(noon.Add(time.Hour))}
}

var later = noon.Add(2 * time.Minute)

// orderReplay orders a bulk replay and returns it.
func orderReplay(t *testing.T, db *persistencetest.Database, store app.StoreID, in app.NewBulkReplay) app.BulkReplay {
	t.Helper()
	replay, err := db.OrderBulkReplay(t.Context(), later, store, byOwner, in, nil, nil)
	must(t, err)
	return replay
}

// step makes one step of a bulk replay.
func step(t *testing.T, db *persistencetest.Database, store app.StoreID, id app.ReplayID, limit int) app.ReplayStep {
	t.Helper()
	got, err := db.ContinueBulkReplay(t.Context(), later, store, id, limit)
	must(t, err)
	return got
}

// A bulk replay queues as many as may wait, goes on when these have started, and ends. What
// changed meanwhile is skipped, what came later is left alone.
func TestBulkReplay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 10)
	dry := allOf(s)
	dry.DryRun = true
	change(t, db, "UPDATE outbox SET body = NULL WHERE id = (SELECT event_id FROM deliveries ORDER BY id DESC LIMIT 1)")
	if got := orderReplay(t, db, store, dry); got.ID != "" || got.Status != app.ReplayDryRun || got.Matched != 10 || got.Skipped != 1 {
		t.Errorf("dry run: %+v", got)
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM replays) + (SELECT count(*) FROM jobs) + (SELECT count(*) FROM audit WHERE action = 'webhook.replayed')"); n != 0 {
		t.Errorf("a dry run left %d rows", n)
	}
	replay := orderReplay(t, db, store, allOf(s))
	if replay.Matched != 10 || replay.Status != app.ReplayRunning {
		t.Errorf("ordered: %+v", replay)
	}
	want := func(waiting int, want app.ReplayStep) {
		t.Helper()
		if diff := cmp.Diff(want, step(t, db, store, replay.ID, 4)); diff != "" {
			t.Error(diff)
		}
		if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued'"); n != waiting {
			t.Errorf("%d deliveries wait, want %d", n, waiting)
		}
	}
	want(4, app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 10, Replayed: 4})
	want(4, app.ReplayStep{Status: app.ReplayRunning, Matched: 10, Replayed: 4})
	change(t, db, "UPDATE deliveries SET status = 'retrying' WHERE id IN (SELECT id FROM deliveries WHERE status = 'queued' ORDER BY id LIMIT 2)")
	change(t, db, "UPDATE deliveries SET status = 'dead_letter', ended_at = $1 WHERE status = 'queued'", later.Add(time.Second)) // once more
	// The seventh is being replayed by somebody else, the eighth has been since the order.
	change(t, db, "UPDATE deliveries SET status = 'pending', ended_at = NULL WHERE id = (SELECT id FROM deliveries ORDER BY id OFFSET 6 LIMIT 1)")
	change(t, db, "UPDATE deliveries SET ended_at = $1 WHERE id = (SELECT id FROM deliveries ORDER BY id OFFSET 7 LIMIT 1)", later.Add(time.Second))
	want(3, app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 10, Replayed: 7, Skipped: 1})
	want(3, app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Matched: 10, Replayed: 7, Skipped: 3})
	want(3, app.ReplayStep{Status: app.ReplayCompleted, Matched: 10, Replayed: 7, Skipped: 3})
	shown, err := db.BulkReplay(t.Context(), store, s, replay.ID)
	must(t, err)
	at := app.At(later)
	replay.Status, replay.Replayed, replay.Skipped, replay.InProgress, replay.EndedAt = app.ReplayCompleted, 7, 3, 3, &at
	if diff := cmp.Diff(replay, shown); diff != "" {
		t.Error(diff)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE replays = 1 AND replay_id IS NOT NULL"); n != 7 {
		t.Errorf("%d deliveries were replayed once", n)
	}
	var audited, job string
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT action || ' ' || target || ' ' || actor_id || ' ' || (details->>'matched') FROM audit WHERE action = 'webhook.replayed'").Scan(&audited))
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT kind || ' ' || subject FROM jobs").Scan(&job))
	if audited != "webhook.replayed "+string(s)+" usr_1 10" || job != "replay "+string(replay.ID) {
		t.Errorf("audit %q, job %q", audited, job)
	}
}

func TestBulkReplayFilters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s, other := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID, r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 3)
	change(t, db, "UPDATE deliveries SET status = 'delivered' WHERE id = (SELECT max(id) FROM deliveries WHERE subscription_id = $1)", s)
	change(t, db, "UPDATE deliveries SET id = 'dlv_' || uuidv7_hex($2, 1), created_at = $2 WHERE id = (SELECT min(id) FROM deliveries WHERE subscription_id = $1)", s, noon.Add(-time.Minute))
	for name, test := range map[string]struct {
		change func(*app.NewBulkReplay)
		want   int64
	}{
		"dead letters of one": {func(*app.NewBulkReplay) {}, 2},
		"delivered of one":    {func(in *app.NewBulkReplay) { in.DeliveryStatus = app.DeliveryDelivered }, 1},
		"cancelled of one":    {func(in *app.NewBulkReplay) { in.DeliveryStatus = app.DeliveryCancelled }, 0},
		"of the other":        {func(in *app.NewBulkReplay) { in.SubscriptionID = other }, 3},
		"of the store":        {func(in *app.NewBulkReplay) { in.SubscriptionID = "" }, 5},
		"of a type":           {func(in *app.NewBulkReplay) { in.EventType = app.EventOrderCreated }, 2},
		"of another type":     {func(in *app.NewBulkReplay) { in.EventType = app.EventOrderCancelled }, 0},
		"from then":           {func(in *app.NewBulkReplay) { in.From = app.At(noon) }, 1},
		"to then":             {func(in *app.NewBulkReplay) { in.To = app.At(noon) }, 1},
	} {
		in := allOf(s)
		in.DryRun = true
		test.change(&in)
		if got := orderReplay(t, db, store, in); got.Matched != test.want {
			t.Errorf("%s: %d, want %d", name, got.Matched, test.want)
		}
		in.DryRun = false
		replay := orderReplay(t, db, store, in)
		if n := count(t, db, fmt.Sprintf("SELECT matched FROM replays WHERE id = '%s'", replay.ID)); int64(n) != test.want {
			t.Errorf("%s: %d ordered, want %d", name, n, test.want)
		}
	}
	whole := allOf("")
	replay := orderReplay(t, db, store, whole)
	change(t, db, "UPDATE subscriptions SET deleted_at = now() WHERE id = $1", other)
	if got := step(t, db, store, replay.ID, 100); got.Status != app.ReplayCompleted || got.Replayed != 2 || got.Skipped != 3 {
		t.Errorf("of the store, with one webhook deleted: %+v", got)
	}
}

// A group of dead letters is replayed by its reason, be it its last attempt's error or what
// came between; and so are deliveries that were cancelled for a reason.
func TestBulkReplayOfOneReason(t *testing.T) {
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
		status app.DeliveryStatus
		reason string
		want   []app.Claim
	}{
		{app.DeliveryDeadLetter, "HTTP 503", claims[:3]},
		{app.DeliveryDeadLetter, app.ReasonInactive, claims[3:5]},
		{app.DeliveryDeadLetter, "HTTP 50", nil},
		{app.DeliveryCancelled, app.ReasonCancelled, claims[5:]},
	} {
		in := allOf(s)
		in.DeliveryStatus, in.DeliveryReason, in.DryRun = test.status, test.reason, true
		if got := orderReplay(t, db, store, in); got.Matched != int64(len(test.want)) || got.DeliveryReason != test.reason {
			t.Errorf("%s: dry run: %+v", test.reason, got)
		}
		in.DryRun = false
		replay := orderReplay(t, db, store, in)
		for range len(test.want) + 1 { // each step goes on from where the one before ended
			step(t, db, store, replay.ID, 1)
			change(t, db, "UPDATE deliveries SET status = 'delivered', ended_at = $1 WHERE status = 'queued'", later.Add(time.Second))
		}
		shown, err := db.BulkReplay(t.Context(), store, s, replay.ID)
		must(t, err)
		at, want := app.At(later), replay
		want.Status, want.Replayed, want.EndedAt = app.ReplayCompleted, int64(len(test.want)), &at
		if diff := cmp.Diff(want, shown); diff != "" || shown.DeliveryReason != test.reason {
			t.Errorf("%s: %s", test.reason, diff)
		}
		for _, c := range test.want {
			if n := count(t, db, fmt.Sprintf("SELECT count(*) FROM deliveries WHERE id = '%s' AND replays = 1 AND replay_id = '%s'", c.ID, replay.ID)); n != 1 {
				t.Errorf("%s: %s was not replayed", test.reason, c.ID)
			}
		}
		if n := count(t, db, fmt.Sprintf("SELECT count(*) FROM audit WHERE details @> '{\"replayId\": \"%s\", \"deliveryReason\": \"%s\"}'", replay.ID, test.reason)); n != 1 {
			t.Errorf("%s: %d lines in the audit trail", test.reason, n)
		}
	}
}

// Two workers at one bulk replay, each as if the other were not there: every delivery is
// queued once.
func TestBulkReplayTwiceAtOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 40)
	replay := orderReplay(t, db, store, allOf(s))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				got, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, 3)
				if err != nil || got.Status != app.ReplayRunning {
					if err != nil || got.Replayed != 40 || got.Skipped != 0 {
						t.Errorf("%+v, %v", got, err)
					}
					return
				}
				_, err = db.System().DB.ExecContext(t.Context(), "UPDATE deliveries SET status = 'dead_letter', ended_at = $1 WHERE status = 'queued'", later.Add(time.Second))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE replays = 1"); n != 40 {
		t.Errorf("%d of 40 were replayed once", n)
	}
}

func TestBulkReplayEndsEarly(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 3)
	cancelled, deleted := orderReplay(t, db, store, allOf(s)), orderReplay(t, db, store, allOf(s))
	step(t, db, store, cancelled.ID, 1)
	for range 2 {
		got, err := db.CancelBulkReplay(t.Context(), later, store, cancelled.ID, "enough")
		if err != nil || got.Status != app.ReplayCancelled || got.Reason != "enough" || got.Replayed != 1 || got.EndedAt == nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got := step(t, db, store, cancelled.ID, 10); got.Status != app.ReplayCancelled || got.Moved || got.Replayed != 1 {
		t.Errorf("a cancelled one goes on: %+v", got)
	}
	change(t, db, "UPDATE subscriptions SET deleted_at = now()")
	if got := step(t, db, store, deleted.ID, 10); got.Status != app.ReplayCancelled || got.Replayed != 0 {
		t.Errorf("of a deleted webhook: %+v", got)
	}
	if _, err := db.OrderBulkReplay(t.Context(), later, store, byOwner, allOf(s), nil, nil); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("ordered for a deleted webhook: %v", err)
	}
	change(t, db, "UPDATE replays SET status = 'completed'")
	if _, err := db.CancelBulkReplay(t.Context(), later, store, deleted.ID, "enough"); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("cancelled when completed: %v", err)
	}
	for range app.MaxRunningReplays {
		orderReplay(t, db, store, allOf(""))
	}
	if _, err := db.OrderBulkReplay(t.Context(), later, store, byOwner, allOf(""), nil, nil); app.CodeOf(err) != app.CodeLimitReached {
		t.Errorf("one too many: %v", err)
	}
}
