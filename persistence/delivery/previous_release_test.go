package delivery_test

import (
	"context"
	"database/sql"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// previousRelay is a relay of the previous release with the statements of testdata/previous.
type previousRelay struct {
	t      *testing.T
	db     *sql.DB
	events int // maximum number of events of one dispatch
	batch  int // maximum number of claims
}

func newPreviousRelay(t *testing.T, db *persistencetest.Database, events, batch int) *previousRelay {
	return &previousRelay{t, db.System().DB, events, batch}
}

func (p *previousRelay) statement(name string) string {
	text, err := os.ReadFile("testdata/previous/" + name + ".sql")
	must(p.t, err)
	return string(text)
}

// previous runs a statement of the previous release.
func previous(t *testing.T, db *persistencetest.Database, name string, args ...any) {
	t.Helper()
	p := newPreviousRelay(t, db, 0, 0)
	_, err := p.db.ExecContext(t.Context(), p.statement(name), args...)
	must(t, err)
}

// previousLimits are the names and limits of the plans, as the previous release passes them.
func previousLimits() (names []string, limits []int64) {
	for _, plan := range app.Plans {
		limit, ok := plan.PerWindow()
		if !ok {
			limit = math.MaxInt32
		}
		names, limits = append(names, string(plan)), append(limits, int64(limit))
	}
	return names, limits
}

// dispatch turns events into deliveries and claims some of them.
func (p *previousRelay) dispatch(now time.Time) []app.Claim {
	p.t.Helper()
	args := []any{p.events, now, now.Add(time.Minute), 1_000, 1_000, p.batch, 1_000}
	claims, limited := p.dispatched(p.db, "dispatch_unlimited", args)
	if !limited {
		return claims
	}
	names, limits := previousLimits()
	limitedClaims := func(tx *sql.Tx, queues []string) []app.Claim {
		claims, _ := p.dispatched(tx, "dispatch_limited",
			append(args, queues, app.PlanWindow(now, time.Hour), time.Hour, names, limits))
		return claims
	}
	return append(claims, p.inQueues("queues_waiting", []any{p.events}, now, limitedClaims)...)
}

func (p *previousRelay) dispatched(q pg.Queryer, name string, args []any) (claims []app.Claim, limited bool) {
	rows, err := q.QueryContext(p.t.Context(), p.statement(name), args...)
	must(p.t, err)
	defer rows.Close()
	for rows.Next() {
		var events, queued int
		var id, store, event, subscription, kind sql.NullString
		var quick sql.NullBool
		must(p.t, rows.Scan(&limited, &events, &queued, &id, &store, &event, &subscription, &kind, &quick))
		if id.Valid {
			claims = append(claims, app.Claim{
				ID: app.DeliveryID(id.String), StoreID: app.StoreID(store.String), EventID: app.EventID(event.String),
			})
		}
	}
	must(p.t, rows.Err())
	return claims, limited
}

// claim claims queued deliveries that are due.
func (p *previousRelay) claim(now time.Time) []app.Claim {
	p.t.Helper()
	args := []any{now.Add(time.Minute), now, 1_000, 1_000, p.batch, p.batch, 1_000}
	claims, limited := p.claimed(p.db, "claim_unlimited", args)
	if !limited {
		return claims
	}
	names, limits := previousLimits()
	limitedClaims := func(tx *sql.Tx, queues []string) []app.Claim {
		claims, _ := p.claimed(tx, "claim_limited", append(args, queues, app.PlanWindow(now, time.Hour), names, limits))
		return claims
	}
	return append(claims, p.inQueues("queues_due", []any{now}, now, limitedClaims)...)
}

func (p *previousRelay) claimed(q pg.Queryer, name string, args []any) (claims []app.Claim, limited bool) {
	rows, err := q.QueryContext(p.t.Context(), p.statement(name), args...)
	must(p.t, err)
	defer rows.Close()
	for rows.Next() {
		var c app.Claim
		must(p.t, rows.Scan(&limited, &c.ID, &c.StoreID, &c.EventID, &c.SubscriptionID, &c.EventType, &c.Attempts,
			&c.Replay, &c.Quick, &c.Healthy))
		if c.ID != "" {
			claims = append(claims, c)
		}
	}
	must(p.t, rows.Err())
	return claims, limited
}

// inQueues locks the queues that a statement selects, claims and counts the claims.
func (p *previousRelay) inQueues(selecting string, args []any, now time.Time,
	claim func(tx *sql.Tx, queues []string) []app.Claim,
) []app.Claim {
	tx, err := p.db.BeginTx(p.t.Context(), nil)
	must(p.t, err)
	defer func() { _ = tx.Rollback() }()
	var queues []string
	rows, err := tx.QueryContext(p.t.Context(), "WITH found AS MATERIALIZED ("+p.statement(selecting)+
		") SELECT queue FROM found WHERE pg_try_advisory_xact_lock(plan_lock(queue))", args...)
	must(p.t, err)
	defer rows.Close()
	for rows.Next() {
		var queue string
		must(p.t, rows.Scan(&queue))
		queues = append(queues, queue)
	}
	must(p.t, rows.Err())
	if len(queues) == 0 {
		return nil
	}
	claims := claim(tx, queues)
	stores, replays := make([]app.StoreID, len(claims)), make([]bool, len(claims))
	for i, c := range claims {
		stores[i], replays[i] = c.StoreID, c.Replay
	}
	_, err = tx.ExecContext(p.t.Context(), p.statement("count_starts"), app.PlanWindow(now, time.Hour), stores, replays)
	must(p.t, err)
	must(p.t, tx.Commit())
	return claims
}

// This release claims deliveries that the previous release has queued, with or without slots, in the
// order of their events. The previous release claims deliveries that this release has queued.
func TestReleasesClaimEachOthersDeliveries(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		setPlan(t, db, noon, r.Website, plan)
		relay := newPreviousRelay(t, db, 1_000, 0) // queues all deliveries and claims none

		emit(t, db, app.EventOrderCreated, 700, r.Stores[0])
		relay.dispatch(noon)
		if n := count(t, db, `SELECT count(*) FROM deliveries
			WHERE status = 'queued' AND queue = $1`, r.Website); n != 700 {
			t.Fatalf("%s: queued deliveries: got %d, want 700", plan, n)
		}
		var claims []app.Claim
		for hour := range 2 {
			claims = append(claims, claimAll(t, db.Queue, noon.Add(time.Duration(hour)*time.Hour), batches(50))...)
		}
		if len(claims) != 700 || !slices.IsSortedFunc(claims, func(a, b app.Claim) int {
			return compare(a.EventID, b.EventID)
		}) {
			t.Errorf("%s: got %d claims, want 700 in the order of their events", plan, len(claims))
		}
		deliver(t, db)

		relay.batch = 10_000
		enqueue(t, db, app.EventOrderCreated, 300, r.Stores[0])
		if claims := relay.claim(noon.Add(2 * time.Hour)); len(claims) != 300 {
			t.Errorf("%s: claims of the previous release: got %d, want 300", plan, len(claims))
		}
	}
}

// Relays of both releases process 2,000 events of a limited website. No event is lost, and a window
// starts at most twice as many deliveries as the plan allows.
func TestReleasesWorkSideBySide(t *testing.T) {
	t.Parallel()
	const events, perWindow = 2_000, 500
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Subscribe(t, db, 1, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, app.EventOrderCreated, events, r.Stores...)

	var lock sync.Mutex
	seen := map[app.DeliveryID]int{}
	var started int // in this window
	note := func(claims []app.Claim) int {
		lock.Lock()
		defer lock.Unlock()
		for _, c := range claims {
			seen[c.ID]++
		}
		started += len(claims)
		return len(claims)
	}
	for hour := 0; len(seen) < events && hour < 8; hour++ {
		now := noon.Add(time.Duration(hour) * time.Hour)
		started = 0
		var relays sync.WaitGroup
		for range 2 {
			relays.Go(func() {
				relay := newPreviousRelay(t, db, 100, 40)
				for range 12 {
					note(relay.dispatch(now))
					note(relay.claim(now))
				}
			})
			relays.Go(func() {
				for range 12 {
					if _, err := db.Dispatch(context.WithoutCancel(t.Context()), now, 100); err != nil {
						t.Error(err)
					}
					found, err := db.Claim(t.Context(), now, batches(40))
					if err != nil {
						t.Error(err)
					}
					note(found.Claims)
				}
			})
		}
		relays.Wait()
		for note(append(newPreviousRelay(t, db, 100, 40).claim(now), claimOnce(t, db.Queue, now, batches(40))...)) > 0 {
		}
		if started > 2*perWindow || started == 0 {
			t.Errorf("starts in window %d: got %d, want 1 to %d", hour, started, 2*perWindow)
		}
		deliver(t, db)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("claims of %s: got %d, want 1", id, n)
		}
	}
	if len(seen) != events {
		t.Errorf("started deliveries: got %d, want %d", len(seen), events)
	}
}

// A replay that one release has queued restarts the schedule and counts as a replay in the other
// release.
func TestReleasesClaimEachOthersReplays(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 2)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	previous(t, db, "requeue", r.Stores[0], ended, []time.Time{noon, noon}, "")
	claims := claimOnce(t, db.Queue, noon, all)
	if len(claims) != 2 || !claims[0].Replay || claims[0].Place != 0 || claims[0].Attempts != 6 {
		t.Errorf("claims of replays that the previous release queued: got %+v, want 2 at place 0", claims)
	}
	if usage, err := db.PlanUsage(t.Context(), noon, r.Stores[0]); err != nil || usage.ReplaysTaken != 2 {
		t.Errorf("usage: got %+v and error %v, want 2 replays", usage, err)
	}
	change(t, db, "UPDATE deliveries SET status = 'dead_letter'")
	r.replayAll(t, db, ended)
	claims = newPreviousRelay(t, db, 10, 10).claim(noon)
	if len(claims) != 2 || !claims[0].Replay {
		t.Errorf("claims of replays that this release queued: got %+v, want 2", claims)
	}
}

// A late mark of one release does not change a claim of the other release, or the reconciler repairs
// its effect.
func TestLateMarksOfTheOtherRelease(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	first := claimOnce(t, db.Queue, noon, all)
	deliver(t, db)
	r.replayAll(t, db, []app.DeliveryID{first[0].ID})
	if claims := newPreviousRelay(t, db, 10, 10).claim(noon); len(claims) != 1 {
		t.Fatalf("claims of the previous release: got %+v, want one", claims)
	}
	must(t, db.MarkStarted(t.Context(), noon, first))
	must(t, db.Unclaim(t.Context(), noon.Add(-time.Hour), first))
	if n := count(t, db, `SELECT count(*) FROM deliveries WHERE started_at IS NULL
		AND lease_until > $1`, noon); n != 1 {
		t.Errorf("unchanged claims of the previous release after a late mark: got %d, want 1", n)
	}
	taken, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), all)
	must(t, err)
	if len(taken) != 1 || taken[0].Generation <= first[0].Generation {
		t.Fatalf("abandoned claims: got %+v, want one with a later generation", taken)
	}
	previous(t, db, "mark", noon.Add(time.Hour), []app.DeliveryID{first[0].ID})
	batch, err := db.Overdue(t.Context(), noon.Add(time.Hour+late), late, 10)
	must(t, err)
	if len(batch.Claims) != 1 {
		t.Errorf("overdue claims after an early mark of the previous release: got %d, want 1", len(batch.Claims))
	}
}

// The previous release records attempts of deliveries that this release has claimed. The reconciler
// finds them.
func TestPreviousReleaseRecordsAttempts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 2)
	claims := claim(t, db)
	must(t, db.MarkStarted(t.Context(), noon, claims))
	record := newPreviousRelay(t, db, 0, 0).statement("record_attempts")
	for i, status := range []app.AttemptStatus{app.AttemptRetrying, app.AttemptDelivered} {
		outgoing, err := db.Outgoing(t.Context(), claims[i].ID, 1)
		must(t, err)
		must(t, db.RecordWith(t.Context(), record, 22, app.MadeAttempt{
			DeliveryID: claims[i].ID, Outgoing: outgoing, Number: 1, Status: status, At: noon, RetryIn: time.Hour,
		}))
	}
	var got []app.DeliveryID
	for _, c := range overdue(t, db, noon.Add(time.Hour+late), 10).Claims {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]app.DeliveryID{claims[0].ID}, got); diff != "" {
		t.Errorf("overdue deliveries (-want +got):\n%s", diff)
	}
}
