package delivery_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
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
	if len(claims) != 1 || claims[0].SubscriptionID != want.ID || claims[0].StoreID != r.Stores[0] ||
		!claims[0].Quick || !claims[0].Healthy || claims[0].Replay {
		t.Fatalf("claims: got %+v, want one of %s, healthy and quick, no replay", claims, want.ID)
	}
	if id := claims[0].ID; id < app.FirstID[app.DeliveryID](noon) ||
		id >= app.FirstID[app.DeliveryID](noon.Add(time.Millisecond)) {
		t.Errorf("delivery id: got %s, want one of %s", id, noon)
	}
	outgoing, err := db.Outgoing(t.Context(), claims[0].ID, 1)
	must(t, err)
	if outgoing.Secret.Reveal() != "0123456789abcdef0123456789abcdef" || outgoing.Recorded != nil || !outgoing.Active {
		t.Errorf("outgoing: got %+v, want an active subscription with its secret", outgoing)
	}
	if n := count(t, db, `SELECT count(*) FROM subscriptions
		WHERE position('0123456789abcdef'::bytea IN secret) > 0`); n != 0 {
		t.Errorf("secrets stored as plain text: got %d, want 0", n)
	}
}

func TestConcurrentRelaysDispatchEachEventOnce(t *testing.T) {
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
				if _, err := db.Dispatch(t.Context(), noon, 20); err != nil {
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
		t.Errorf("claimed deliveries: got %d, want 60", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("claims of %s: got %d, want 1", id, n)
		}
	}
}

func TestClaimsTakeTurnsWithinLimits(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	busy := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 10)
	_, err := db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	quiet := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1) // one delivery to each
	_, err = db.Dispatch(t.Context(), noon, 1000)
	must(t, err)

	claimed, err := db.Claim(t.Context(), noon, app.ClaimLimits{Batch: 3, Unproven: 4, Quick: 4, Lease: time.Minute})
	must(t, err)
	claims := claimed.Claims
	got := map[app.SubscriptionID]int{}
	for _, c := range claims {
		got[c.SubscriptionID]++
	}
	if diff := cmp.Diff(map[app.SubscriptionID]int{busy.ID: 2, quiet.ID: 1}, got); diff != "" {
		t.Error("claims by subscription (-want +got):", diff)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND xmax::text <> '0'"); n != 0 {
		t.Errorf("locked but unclaimed deliveries: got %d, want 0", n)
	}
	claimed, err = db.Claim(t.Context(), noon, app.ClaimLimits{Batch: 100, Unproven: 4, Quick: 4, Lease: time.Minute})
	must(t, err)
	if len(claimed.Claims) != 2 {
		t.Errorf("claims with 2 of 4 pending: got %d, want 2", len(claimed.Claims))
	}
	claims, err = db.ClaimAbandoned(t.Context(), noon, limits)
	must(t, err)
	if len(claims) != 0 {
		t.Errorf("abandoned claims within the lease: got %d, want 0", len(claims))
	}
	claims, err = db.ClaimAbandoned(t.Context(), noon.Add(2*time.Minute), limits)
	must(t, err)
	if len(claims) != 5 {
		t.Fatalf("abandoned claims after the lease: got %d, want 5", len(claims))
	}
	must(t, db.MarkStarted(t.Context(), noon, claims[:1]))
	claims, err = db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), limits)
	must(t, err)
	if len(claims) != 4 {
		t.Errorf("abandoned claims after one of five has started: got %d, want 4", len(claims))
	}
}

// A receiver gets more pending deliveries with each recent response, up to a limit. A prompt response counts more if
// the receiver does not fail.
func TestPendingDeliveriesGrowWithResponses(t *testing.T) {
	t.Parallel()
	type step struct {
		responses int
		took      time.Duration
		at        time.Time
		want      int // pending
	}
	for status, steps := range map[app.AttemptStatus][]step{
		app.AttemptDelivered: {
			{0, 0, noon, 3}, {1, 100 * time.Millisecond, noon, 4}, {1, 99 * time.Millisecond, noon, 6},
			{2, time.Millisecond, noon, 10}, {10, time.Millisecond, noon, 25},
			{25, time.Millisecond, noon.Add(2 * time.Hour), 3},
		},
		app.AttemptRetrying: {
			{0, 0, noon, 3}, {1, time.Millisecond, noon, 4}, {2, time.Millisecond, noon, 6},
			{5, time.Millisecond, noon, 10}, {10, time.Millisecond, noon.Add(2 * time.Hour), 3},
		},
	} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		r.Place(t, db, 60)
		few := app.ClaimLimits{Batch: 100, SlowBatch: 100, Unproven: 3, Quick: 25, Slow: 10, Lease: time.Minute}
		_, err := db.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		var pending []app.Claim
		for _, step := range steps {
			for range step.responses {
				attempt(t, db, pending[0].ID, 1, status, step.took)
				pending = pending[1:]
			}
			claimed, err := db.Claim(t.Context(), step.at, few)
			must(t, err)
			if pending = append(pending, claimed.Claims...); len(pending) != step.want {
				t.Fatalf("%s: pending deliveries: got %d, want %+v", status, len(pending), step)
			}
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
		if delivery.Status != status || delivery.Attempts != len(statuses) ||
			(delivery.NextRetryAt != nil) != (status == app.DeliveryRetrying) {
			t.Errorf("delivery: got %+v, want %s", delivery, status)
		}
		subscription, err := db.Subscription(t.Context(), r.Stores[0], s.ID)
		must(t, err)
		if subscription.FailureCount != failures || subscription.LastDeliveryAt == nil {
			t.Errorf("subscription: got %+v, want %d failures", subscription, failures)
		}
		attempts, total, err := db.Attempts(t.Context(), r.Stores[0], s.ID, app.AttemptFilter{}, 1, 20)
		must(t, err)
		got := []app.AttemptStatus{}
		for _, a := range attempts {
			got = append(got, a.Status)
			if (a.NextRetryAt != nil) != (a.Status == app.AttemptRetrying) {
				t.Errorf("attempt: got %+v, want a next retry only if retrying", a)
			}
		}
		if diff := cmp.Diff(statuses, got); diff != "" || total != len(statuses) {
			t.Errorf("attempts, newest first (-want +got), total %d: %s", total, diff)
		}
	}
	attempt(t, db, id, 1, app.AttemptRetrying, 0)
	check(app.DeliveryRetrying, 1, app.AttemptRetrying)
	attempt(t, db, id, 1, app.AttemptRetrying, 0) // a repeated record changes nothing
	check(app.DeliveryRetrying, 1, app.AttemptRetrying)
	attempt(t, db, id, 2, app.AttemptDeadLetter, 0)
	check(app.DeliveryDeadLetter, 2, app.AttemptDeadLetter, app.AttemptFailed)

	if _, err := db.Replay(t.Context(), noon, r.Stores[1], app.Actor{}, id); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("Replay in another store: got error %v, want %s", err, app.CodeNotFound)
	}
	delivery, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
	must(t, err)
	if delivery.Status != app.DeliveryQueued {
		t.Errorf("Replay: got %+v, want queued", delivery)
	}
	_, err = db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
	if app.CodeOf(err) != app.CodeDeliveryInProgress {
		t.Errorf("second Replay: got error %v, want %s", err, app.CodeDeliveryInProgress)
	}
	claims := claim(t, db)
	if len(claims) != 1 || !claims[0].Replay || claims[0].Attempts != 2 || claims[0].Healthy {
		t.Fatalf("claims: got %+v, want one replay after 2 attempts, not healthy", claims)
	}
	attempt(t, db, id, 3, app.AttemptDelivered, 0)
	check(app.DeliveryDelivered, 0, app.AttemptDelivered, app.AttemptDeadLetter, app.AttemptFailed)
}

func TestReplayRequiresSubscriptionAndBody(t *testing.T) {
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
		t.Errorf("Replay of a deleted subscription: got error %v, want %s", err, app.CodeConflict)
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE outbox SET body = NULL")
	must(t, err)
	if _, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id); app.CodeOf(err) != app.CodePayloadErased {
		t.Errorf("Replay of an erased body: got error %v, want %s", err, app.CodePayloadErased)
	}
}

// The data of an erased customer are delivered until their deliveries have ended. An operator's replay does not send
// them again.
func TestErasedDataAreNotSentAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	_, err := db.System().DB.ExecContext(t.Context(), "UPDATE outbox SET erasing = 'cus_1'")
	must(t, err)
	loads := func(number int, want bool) {
		t.Helper()
		outgoing, err := db.Outgoing(t.Context(), id, number)
		must(t, err)
		if got := len(outgoing.Body) > 0; got != want {
			t.Errorf("attempt %d has a body: got %t, want %t", number, got, want)
		}
	}
	loads(1, true)
	must(t, db.EndDelivery(t.Context(), noon, id, app.DeliveryDeadLetter, app.ReasonInactive))
	if began, err := db.BeginReplay(t.Context(), noon, id); !began || err != nil {
		t.Errorf("replay: got %t and error %v, want one whose attempt ends it", began, err)
	}
	loads(2, false)
}

// After a slow response, a subscription counts as slow for the time of the policy, and then as quick: without another
// response, because responses would come late in the slow lane. Each quick response shortens that time.
func TestSlowResponseMakesSubscriptionSlow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	quickClaim := func(at time.Time, want bool) app.DeliveryID {
		t.Helper()
		enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
		claims := claimAll(t, db.Queue, at, all)
		if len(claims) != 1 || claims[0].Quick != want {
			t.Fatalf("claim %v after noon: got %+v, want one with quick %v", at.Sub(noon), claims, want)
		}
		return claims[0].ID
	}
	const took = 1500 * time.Millisecond
	end := noon.Add(time.Hour + took + delivery.DefaultPolicy().SlowMemory)
	first, second := quickClaim(noon, true), quickClaim(noon, true)
	attempt(t, db, first, 1, app.AttemptDelivered, took)
	attempt(t, db, quickClaim(noon, false), 1, app.AttemptDelivered, time.Second)
	third := quickClaim(end.Add(-time.Millisecond), false)
	quickClaim(end, true)
	relief := delivery.DefaultPolicy().QuickRelief
	attempt(t, db, second, 1, app.AttemptDelivered, time.Millisecond)
	attempt(t, db, third, 1, app.AttemptDelivered, time.Millisecond)
	quickClaim(end.Add(-2*relief-time.Millisecond), false)
	quickClaim(end.Add(-2*relief), true)
}

// A receiver with many requests stays quick although a few of its responses are slow, in any order within a record.
func TestRareSlowResponses(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
	for i, c := range claimAll(t, db.Queue, noon, all) {
		took := time.Millisecond
		if i%50 == 10 {
			took = 2 * time.Second
		}
		attempt(t, db, c.ID, 1, app.AttemptDelivered, took)
	}
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_until <= $1", noon.Add(time.Hour)); n != 1 {
		t.Errorf("quick subscriptions after two slow responses of a hundred: got %d, want 1", n)
	}
}

// Attempts without a response are not quick responses: a receiver that responds slowly, and refuses connections
// meanwhile, stays slow.
func TestRefusedConnectionsAreNotQuick(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 40, r.Stores[0])
	at := noon.Add(time.Hour)
	for i, c := range claimAll(t, db.Queue, noon, all) {
		outgoing, err := db.Outgoing(t.Context(), c.ID, 1)
		must(t, err)
		made := app.MadeAttempt{
			DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptRetrying, RetryIn: time.Minute, At: at,
			Error: "connection refused", Duration: time.Millisecond,
		}
		if i == 0 {
			made.StatusCode, made.Duration = 503, time.Second
		}
		_, err = db.RecordAttempt(t.Context(), made)
		must(t, err)
	}
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_until > $1", at); n != 1 {
		t.Errorf("slow subscriptions after refused connections: got %d, want 1", n)
	}
}

// A clock that is ahead makes no subscription slow for longer than the time of the policy.
func TestSlowResponseByClockAhead(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	const number = 365 * 24 * 10 // ten years after noon
	attempt(t, db, claimAll(t, db.Queue, noon, all)[0].ID, number, app.AttemptDelivered, time.Second)
	const query = "SELECT count(*) FROM subscription_health WHERE slow_until BETWEEN now() AND now() + $1::interval"
	if n := count(t, db, query, delivery.DefaultPolicy().SlowMemory); n != 1 {
		t.Errorf("subscriptions that are slow for the time of the policy: got %d, want 1", n)
	}
}

// Deliveries to a slow receiver are paced, so that they do not time out together: two per second
// without responses, more with each response, and never more than the limit of pending deliveries.
func TestSlowReceiversArePaced(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		change(t, db, "UPDATE websites SET plan = $1", plan)
		change(t, db, "UPDATE subscription_health SET slow_until = 'infinity'")
		r.Place(t, db, 60)
		_, err := db.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		now := noon
		claimed := func(n int) []app.Claim {
			t.Helper()
			found, err := db.Claim(t.Context(), now,
				app.ClaimLimits{SlowBatch: 40, Unproven: 16, Slow: 50, Lease: time.Minute})
			must(t, err)
			if len(found.Claims) != n {
				t.Errorf("%s: claims after %s: got %d, want %d", plan, now.Sub(noon), len(found.Claims), n)
			}
			return found.Claims
		}
		var pending []app.Claim
		for range 8 {
			pending = append(pending, claimed(2)...)
			claimed(0)
			now = now.Add(time.Second)
		}
		claimed(0) // 16 deliveries are pending, which is the limit
		for _, c := range pending {
			outgoing, err := db.Outgoing(t.Context(), c.ID, 1)
			must(t, err)
			_, err = db.RecordAttempt(t.Context(), app.MadeAttempt{
				DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: now,
				Duration: 3 * time.Second,
			})
			must(t, err)
		}
		now = now.Add(3 * time.Second)
		claimed(2 + 16/2)
		claimed(0)
	}
}

// Deliveries to a receiver that fails quickly are claimed separately but stay in the lane of quick
// subscriptions, because they delay nothing. A receiver that fails slowly leaves this lane.
func TestQuicklyFailingReceiversStayQuick(t *testing.T) {
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
			t.Errorf("claims after a failure of %s: got %+v, want one, not healthy, quick %v", took, claims, quick)
		}
	}
}

func TestConcurrentFailuresAreAllCounted(t *testing.T) {
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
		t.Errorf("consecutive failures: got %d, want 40", subscription.FailureCount)
	}
}
