package identity_test

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func budget(name string, most int) identity.Budget {
	key := sha256.Sum256([]byte(name))
	return identity.Budget{Key: key[:], Most: most}
}

// waitOf returns the waiting time of a refused request, 0 for a permitted request.
func waitOf(t *testing.T, err error) time.Duration {
	t.Helper()
	if err == nil {
		return 0
	}
	refusal, ok := errors.AsType[*app.Error](err)
	if !ok || refusal.Code != app.CodeRateLimited || refusal.RetryAfter <= 0 {
		t.Fatal(err)
	}
	return refusal.RetryAfter
}

// pass advances the time of all budgets.
func pass(t *testing.T, db *persistencetest.Database, d time.Duration) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), `UPDATE rate_limits
		SET hits = array(SELECT hit - $1 * interval '1 microsecond' FROM unnest(hits) AS hit),
			expires_at = expires_at - $1 * interval '1 microsecond'`, d.Microseconds())
	must(t, err)
}

// An hour is much longer than the test.
const window = time.Hour

// The window slides: one request is permitted when the oldest hit leaves the window, not earlier.
// Refused requests do not count.
func TestRateLimitSlides(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	take := func() time.Duration {
		t.Helper()
		return waitOf(t, db.TakeRateLimits(t.Context(), window, budget("a", 3)))
	}
	for range 3 {
		if wait := take(); wait != 0 {
			t.Fatalf("request within the budget: got wait %v, want none", wait)
		}
		pass(t, db, 10*time.Minute)
	}
	wait := take() // the hits are 30, 20 and 10 minutes old
	if wait > 31*time.Minute || wait < 29*time.Minute {
		t.Fatalf("fourth request: got wait %v, want about 30 minutes", wait)
	}
	for range 20 {
		if again := take(); again > wait {
			t.Errorf("repeated request: got wait %v, want at most %v", again, wait)
		}
	}
	pass(t, db, take()-time.Minute)
	wait = take()
	if wait > time.Minute || wait < time.Second {
		t.Errorf("request a minute too early: got wait %v, want about a minute", wait)
	}
	pass(t, db, wait)
	if wait := take(); wait != 0 {
		t.Errorf("request after the wait: got wait %v, want none", wait)
	}
	if wait := take(); wait > 11*time.Minute || wait < 9*time.Minute {
		t.Errorf("next request: got wait %v, want about 10 minutes", wait)
	}
	if wait := waitOf(t, db.TakeRateLimits(t.Context(), window, budget("b", 3))); wait != 0 {
		t.Errorf("request of another budget: got wait %v, want none", wait)
	}
}

// A request that one budget refuses does not count against the other budgets. Its wait is the longest
// wait of them.
func TestRateLimitTakesAllOrNone(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	must(t, db.TakeRateLimits(t.Context(), window, budget("account", 1)))
	pass(t, db, 20*time.Minute)
	both := func() time.Duration {
		t.Helper()
		return waitOf(t, db.TakeRateLimits(t.Context(), window, budget("address", 1), budget("account", 1)))
	}
	if wait := both(); wait > 40*time.Minute || wait < 39*time.Minute {
		t.Errorf("wait for the account: got %v, want about 40 minutes", wait)
	}
	if wait := waitOf(t, db.TakeRateLimits(t.Context(), window, budget("address", 1))); wait != 0 {
		t.Errorf("address after a refused request: got wait %v, want none", wait)
	}
	if wait := both(); wait < 59*time.Minute {
		t.Errorf("wait for both budgets: got %v, want the longer one, about an hour", wait)
	}
}

func TestRateLimitIsExactForConcurrentRequests(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	var wait sync.WaitGroup
	var passed [3]atomic.Int64
	for i := range 100 {
		wait.Go(func() {
			address := i % 2
			budgets := []identity.Budget{budget([]string{"one", "two"}[address], 20), budget("account", 30)}
			if waitOf(t, db.TakeRateLimits(t.Context(), window, budgets...)) == 0 {
				passed[address].Add(1)
				passed[2].Add(1)
			}
		})
	}
	wait.Wait()
	if passed[0].Load() > 20 || passed[1].Load() > 20 || passed[2].Load() != 30 {
		t.Errorf("permitted requests: got %d and %d by address, %d in total, want at most 20 each, 30 in total",
			passed[0].Load(), passed[1].Load(), passed[2].Load())
	}
	if n := count(t, db, "SELECT sum(cardinality(hits)) FROM rate_limits"); n != 60 {
		t.Errorf("stored hits: got %d, want 60", n)
	}
}

// Requests delete expired rows of other budgets, and a row stores at most as many hits as its budget.
func TestRateLimitRowsAreBounded(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	for i := range 15 {
		must(t, db.TakeRateLimits(t.Context(), window, budget(string(rune('a'+i)), 1)))
	}
	pass(t, db, window)
	for range 2 {
		must(t, db.TakeRateLimits(t.Context(), window, budget("a", 2)))
	}
	if n := count(t, db, "SELECT count(*) FROM rate_limits"); n != 1 {
		t.Errorf("rows: got %d, want 1", n)
	}
	for range 3 {
		pass(t, db, window)
		must(t, db.TakeRateLimits(t.Context(), window, budget("a", 2)))
	}
	if n := count(t, db, "SELECT cardinality(hits) FROM rate_limits"); n != 1 {
		t.Errorf("hits of the row: got %d, want 1", n)
	}
}
