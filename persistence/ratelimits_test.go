package persistence_test

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func budget(name string, most int) persistence.Budget {
	key := sha256.Sum256([]byte(name))
	return persistence.Budget{Key: key[:], Most: most}
}

// waitOf returns how long a refused request must wait, 0 if it was let through.
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

// pass lets time go by for all budgets.
func pass(t *testing.T, db *persistencetest.Database, d time.Duration) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), `UPDATE rate_limits
		SET hits = array(SELECT hit - $1 * interval '1 microsecond' FROM unnest(hits) AS hit), expires_at = expires_at - $1 * interval '1 microsecond'`, d.Microseconds())
	must(t, err)
}

// An hour, so that what the test itself takes does not matter.
const window = time.Hour

// The window slides: there is room again when the oldest hit is as old as the window, not
// earlier, and for one request only. What was refused does not count.
func TestRateLimitSlides(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	take := func() time.Duration {
		t.Helper()
		return waitOf(t, db.TakeRateLimits(t.Context(), window, budget("a", 3)))
	}
	for range 3 {
		if wait := take(); wait != 0 {
			t.Fatalf("a request within the budget must wait %v", wait)
		}
		pass(t, db, 10*time.Minute)
	}
	wait := take() // the hits are 30, 20 and 10 minutes old
	if wait > 31*time.Minute || wait < 29*time.Minute {
		t.Fatalf("the fourth must wait %v", wait)
	}
	for range 20 {
		if again := take(); again > wait {
			t.Errorf("knocking makes the wait longer: %v after %v", again, wait)
		}
	}
	pass(t, db, take()-time.Minute)
	wait = take()
	if wait > time.Minute || wait < time.Second {
		t.Errorf("a minute too early: %v", wait)
	}
	pass(t, db, wait)
	if wait := take(); wait != 0 {
		t.Errorf("in time: %v", wait)
	}
	if wait := take(); wait > 11*time.Minute || wait < 9*time.Minute {
		t.Errorf("the next must wait %v", wait)
	}
	if wait := waitOf(t, db.TakeRateLimits(t.Context(), window, budget("b", 3))); wait != 0 {
		t.Errorf("another budget: %v", wait)
	}
}

// A request that one budget refuses is not counted against the others, and its wait is the
// longest of them.
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
		t.Errorf("the account's: %v", wait)
	}
	if wait := waitOf(t, db.TakeRateLimits(t.Context(), window, budget("address", 1))); wait != 0 {
		t.Errorf("the address was counted: %v", wait)
	}
	if wait := both(); wait < 59*time.Minute {
		t.Errorf("the longer: %v", wait)
	}
}

func TestRateLimitIsExactUnderParallelRequests(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	var wait sync.WaitGroup
	var passed [3]atomic.Int64
	for i := range 100 {
		wait.Go(func() {
			address := i % 2
			budgets := []persistence.Budget{budget([]string{"one", "two"}[address], 20), budget("account", 30)}
			if waitOf(t, db.TakeRateLimits(t.Context(), window, budgets...)) == 0 {
				passed[address].Add(1)
				passed[2].Add(1)
			}
		})
	}
	wait.Wait()
	if passed[0].Load() > 20 || passed[1].Load() > 20 || passed[2].Load() != 30 {
		t.Errorf("passed: %d and %d, %d of 30 in all", passed[0].Load(), passed[1].Load(), passed[2].Load())
	}
	if n := count(t, db, "SELECT sum(cardinality(hits)) FROM rate_limits"); n != 60 {
		t.Errorf("%d hits are kept", n)
	}
}

// Rows of those who do not come again are erased by those who do, and rows never hold more
// than their budget.
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
		t.Errorf("%d rows are left", n)
	}
	for range 3 {
		pass(t, db, window)
		must(t, db.TakeRateLimits(t.Context(), window, budget("a", 2)))
	}
	if n := count(t, db, "SELECT cardinality(hits) FROM rate_limits"); n != 1 {
		t.Errorf("%d hits are left", n)
	}
}
