package delivery_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestDispatchMatchesSubscriptions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, other := open(t, db, "one.example"), open(t, db, "two.example")
	want := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Subscribe(t, db, 0, app.EventOrderCancelled)
	r.Subscribe(t, db, 1, app.EventOrderCreated)
	other.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	claims := claim(t, db)
	if len(claims) != 1 || claims[0].SubscriptionID != want.ID || claims[0].StoreID != r.Stores[0] || !claims[0].Quick || !claims[0].Healthy || claims[0].Replay {
		t.Fatalf("claims %+v", claims)
	}
	if id := claims[0].ID; id < app.FirstID[app.DeliveryID](noon) || id >= app.FirstID[app.DeliveryID](noon.Add(time.Millisecond)) {
		t.Errorf("%s does not tell when it was made", id)
	}
	outgoing, err := db.Outgoing(t.Context(), claims[0].ID, 1)
	must(t, err)
	if outgoing.Secret.Reveal() != "0123456789abcdef0123456789abcdef" || outgoing.Recorded != nil || !outgoing.Active {
		t.Errorf("outgoing %+v", outgoing)
	}
	if n := count(t, db, "SELECT count(*) FROM subscriptions WHERE position('0123456789abcdef'::bytea IN secret) > 0"); n != 0 {
		t.Error("a secret stands in its table as it is")
	}
}

func TestParallelRelaysDispatchEachEventOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 60)
	var wait sync.WaitGroup
	var lock sync.Mutex
	seen := map[app.DeliveryID]int{}
	for range 4 {
		wait.Go(func() {
			for range 20 {
				few := app.ClaimLimits{Batch: 3, Unproven: 200, Quick: 200, Slow: 50, Lease: time.Minute}
				if _, err := db.Dispatch(t.Context(), noon, 5); err != nil {
					t.Error(err)
				}
				claimed, err := db.Claim(t.Context(), noon, few)
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				for _, c := range claimed.Claims {
					seen[c.ID]++
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	if len(seen) != 60 {
		t.Errorf("%d deliveries of 60 were claimed", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
}

func TestClaimsTakeTurnsAndKeepTheirLimits(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	busy := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 10)
	_, err := db.Dispatch(t.Context(), noon, 100)
	must(t, err)
	quiet := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1) // one delivery to each
	_, err = db.Dispatch(t.Context(), noon, 100)
	must(t, err)

	claimed, err := db.Claim(t.Context(), noon, app.ClaimLimits{Batch: 3, Unproven: 4, Quick: 4, Lease: time.Minute})
	must(t, err)
	claims := claimed.Claims
	got := map[app.SubscriptionID]int{}
	for _, c := range claims {
		got[c.SubscriptionID]++
	}
	if diff := cmp.Diff(map[app.SubscriptionID]int{busy.ID: 2, quiet.ID: 1}, got); diff != "" {
		t.Error("not in turn:", diff)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND xmax::text <> '0'"); n != 0 {
		t.Errorf("%d locked and not taken", n)
	}
	claimed, err = db.Claim(t.Context(), noon, app.ClaimLimits{Batch: 100, Unproven: 4, Quick: 4, Lease: time.Minute})
	must(t, err)
	if len(claimed.Claims) != 2 {
		t.Errorf("%d more claimed, though 2 of 4 were pending", len(claimed.Claims))
	}
	claims, err = db.ClaimAbandoned(t.Context(), noon, limits)
	must(t, err)
	if len(claims) != 0 {
		t.Errorf("%d taken over within their lease", len(claims))
	}
	claims, err = db.ClaimAbandoned(t.Context(), noon.Add(2*time.Minute), limits)
	must(t, err)
	if len(claims) != 5 {
		t.Fatalf("%d of 5 taken over after their lease", len(claims))
	}
	must(t, db.MarkStarted(t.Context(), noon, claims[:1]))
	claims, err = db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), limits)
	must(t, err)
	if len(claims) != 4 {
		t.Errorf("%d taken over, though one of five has started", len(claims))
	}
}

// A receiver gets more at once only as it answers, up to the limit, and for as long as that
// is not long ago.
func TestMoreIsPendingOfWhoAnswers(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 20)
	few := app.ClaimLimits{Batch: 100, Unproven: 3, Quick: 6, Lease: time.Minute}
	_, err := db.Dispatch(t.Context(), noon, 100)
	must(t, err)
	claimed, err := db.Claim(t.Context(), noon, few)
	must(t, err)
	pending := claimed.Claims
	if len(pending) != 3 {
		t.Fatalf("%d of one that has answered nothing", len(pending))
	}
	for _, step := range []struct {
		answered int
		at       time.Time
		want     int // pending
	}{
		{0, noon, 3}, {1, noon, 4}, {4, noon, 6}, {6, noon.Add(2 * time.Hour), 3},
	} {
		for range step.answered {
			attempt(t, db, pending[0].ID, 1, app.AttemptDelivered, time.Millisecond)
			pending = pending[1:]
		}
		claimed, err := db.Claim(t.Context(), step.at, few)
		must(t, err)
		if pending = append(pending, claimed.Claims...); len(pending) != step.want {
			t.Fatalf("%d pending after %+v", len(pending), step)
		}
	}
}

func TestAttemptStatuses(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID

	check := func(status app.DeliveryStatus, failures int64, statuses ...app.AttemptStatus) {
		t.Helper()
		delivery, err := db.Delivery(t.Context(), r.Stores[0], id)
		must(t, err)
		if delivery.Status != status || delivery.Attempts != len(statuses) || (delivery.NextRetryAt != nil) != (status == app.DeliveryRetrying) {
			t.Errorf("delivery %+v, want %s", delivery, status)
		}
		subscription, err := db.Subscription(t.Context(), r.Stores[0], s.ID)
		must(t, err)
		if subscription.FailureCount != failures || subscription.LastDeliveryAt == nil {
			t.Errorf("subscription %+v, want %d failures", subscription, failures)
		}
		attempts, total, err := db.Attempts(t.Context(), r.Stores[0], s.ID, app.AttemptFilter{}, 1, 20)
		must(t, err)
		got := []app.AttemptStatus{}
		for _, a := range attempts {
			got = append(got, a.Status)
			if (a.NextRetryAt != nil) != (a.Status == app.AttemptRetrying) {
				t.Errorf("attempt %+v", a)
			}
		}
		if diff := cmp.Diff(statuses, got); diff != "" || total != len(statuses) {
			t.Error("attempts, the newest first:", diff)
		}
	}
	attempt(t, db, id, 1, app.AttemptRetrying, 0)
	check(app.DeliveryRetrying, 1, app.AttemptRetrying)
	attempt(t, db, id, 1, app.AttemptRetrying, 0) // repeated: nothing changes
	check(app.DeliveryRetrying, 1, app.AttemptRetrying)
	attempt(t, db, id, 2, app.AttemptDeadLetter, 0)
	check(app.DeliveryDeadLetter, 2, app.AttemptDeadLetter, app.AttemptFailed)

	if _, err := db.Replay(t.Context(), noon, r.Stores[1], app.Actor{}, id); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("replayed from the sibling store: %v", err)
	}
	delivery, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
	must(t, err)
	if delivery.Status != app.DeliveryQueued {
		t.Errorf("replay left %+v", delivery)
	}
	if _, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id); app.CodeOf(err) != app.CodeDeliveryInProgress {
		t.Errorf("replayed twice: %v", err)
	}
	claims := claim(t, db)
	if len(claims) != 1 || !claims[0].Replay || claims[0].Attempts != 2 || claims[0].Healthy {
		t.Fatalf("claims %+v", claims)
	}
	attempt(t, db, id, 3, app.AttemptDelivered, 0)
	check(app.DeliveryDelivered, 0, app.AttemptDelivered, app.AttemptDeadLetter, app.AttemptFailed)
}

func TestReplayRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	must(t, db.EndDelivery(t.Context(), noon, id, app.DeliveryDeadLetter, app.ReasonInactive))
	_, err := db.System().DB.ExecContext(t.Context(), "UPDATE subscriptions SET deleted_at = now()")
	must(t, err)
	if _, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("of a deleted subscription: %v", err)
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE outbox SET body = NULL")
	must(t, err)
	if _, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id); app.CodeOf(err) != app.CodePayloadErased {
		t.Errorf("of an erased body: %v", err)
	}
}

func TestSlowReceiversLeaveTheFastLaneForAWhile(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 3)
	claims := claim(t, db)
	attempt(t, db, claims[0].ID, 1, app.AttemptDelivered, 1500*time.Millisecond)
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_seen_at IS NOT NULL"); n != 1 {
		t.Error("not slow after a slow answer")
	}
	attempt(t, db, claims[1].ID, 1, app.AttemptDelivered, time.Millisecond)
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_seen_at IS NOT NULL"); n != 1 {
		t.Error("quick again after one quick answer at once")
	}
	attempt(t, db, claims[2].ID, 2, app.AttemptDelivered, time.Millisecond) // an hour later
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_seen_at IS NOT NULL"); n != 0 {
		t.Error("still slow after an hour")
	}
}

// What a slow receiver gets is spread over time, so that it does not end all at once: two a
// second while it answers none of them, more as it does, and never more than may be pending.
func TestSlowReceiversGetFewInOneSecond(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		change(t, db, "UPDATE websites SET plan = $1", plan)
		change(t, db, "UPDATE subscription_health SET slow_seen_at = $1", noon)
		r.Place(t, db, 60)
		_, err := db.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		now := noon
		claimed := func(n int) []app.Claim {
			t.Helper()
			found, err := db.Claim(t.Context(), now, app.ClaimLimits{SlowBatch: 40, Unproven: 16, Slow: 50, Lease: time.Minute})
			must(t, err)
			if len(found.Claims) != n {
				t.Errorf("%s: claimed %d after %s, want %d", plan, len(found.Claims), now.Sub(noon), n)
			}
			return found.Claims
		}
		var pending []app.Claim
		for range 8 {
			pending = append(pending, claimed(2)...)
			claimed(0)
			now = now.Add(time.Second)
		}
		claimed(0) // they are 16
		for _, c := range pending {
			outgoing, err := db.Outgoing(t.Context(), c.ID, 1)
			must(t, err)
			_, err = db.RecordAttempt(t.Context(), app.MadeAttempt{
				DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: now, Duration: 3 * time.Second,
			})
			must(t, err)
		}
		now = now.Add(3 * time.Second)
		claimed(2 + 16/2)
		claimed(0)
	}
}

// A receiver that refuses at once holds nobody up: its deliveries are started apart from
// those of others, but take the fast lane. One that fails slowly leaves it.
func TestFailingReceiversKeepTheFastLaneWhileTheyAnswerFast(t *testing.T) {
	t.Parallel()
	for took, quick := range map[time.Duration]bool{time.Millisecond: true, 1500 * time.Millisecond: false} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		r.Place(t, db, 1)
		claims := claim(t, db)
		attempt(t, db, claims[0].ID, 1, app.AttemptRetrying, took)
		r.Place(t, db, 1)
		claims = claim(t, db)
		if len(claims) != 1 || claims[0].Healthy || claims[0].Quick != quick {
			t.Errorf("after a failure that took %s: %+v", took, claims)
		}
	}
}

func TestAttemptsRecordedTogetherKeepTheirOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 40)
	claims := claim(t, db)
	var wait sync.WaitGroup
	for _, c := range claims {
		wait.Go(func() { attempt(t, db, c.ID, 1, app.AttemptRetrying, 0) })
	}
	wait.Wait()
	subscription, err := db.Subscription(t.Context(), r.Stores[0], s.ID)
	must(t, err)
	if subscription.FailureCount != 40 {
		t.Errorf("%d failures in a row of 40", subscription.FailureCount)
	}
}
