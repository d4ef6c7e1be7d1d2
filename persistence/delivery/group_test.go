package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestGrouperIsolatesFailures(t *testing.T) {
	t.Parallel()
	const lanes = 2
	bad := errors.New("bad row")
	var largest atomic.Int32
	started, release := make(chan struct{}, 10), make(chan struct{})
	g := newGrouper(GroupPolicy{Size: 8, Lanes: lanes, Timeout: time.Minute}, nil, nil,
		func(_ context.Context, group []int) ([]int, error) {
			started <- struct{}{}
			<-release
			largest.Store(max(largest.Load(), int32(len(group))))
			out := make([]int, len(group))
			for i, n := range group {
				if n == 7 {
					return nil, bad
				}
				out[i] = n * n
			}
			return out, nil
		})
	defer g.close()
	var wait sync.WaitGroup
	for n := range 20 {
		wait.Go(func() {
			got, err := g.do(context.Background(), n)
			if n == 7 {
				if !errors.Is(err, bad) {
					t.Errorf("bad row: got error %v, want %v", err, bad)
				}
			} else if err != nil || got != n*n {
				t.Errorf("result of %d: got %d and error %v, want %d", n, got, err, n*n)
			}
		})
	}
	for range lanes {
		<-started // while the lanes are busy, the next group gathers
	}
	go func() {
		for range started {
		}
	}()
	close(release)
	wait.Wait()
	if largest.Load() > 8 {
		t.Errorf("largest group: got %d, want at most 8", largest.Load())
	}
}

// If a lock delays a group, the inputs of other owners succeed, in few groups.
func TestGrouperIsolatesLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		notAvailable := &pgconn.PgError{Code: "55P03"}
		isLocked := func(n int) bool { return n%4 == 1 }
		var groups [][]int
		g := newGrouper(GroupPolicy{Size: 8, Lanes: 1, Pause: time.Second, Timeout: time.Minute}, nil,
			func(n int) string { return fmt.Sprint(n % 4) },
			func(_ context.Context, group []int) ([]int, error) {
				groups = append(groups, group)
				if slices.ContainsFunc(group, isLocked) {
					return nil, notAvailable
				}
				return group, nil
			})
		defer g.close()
		var wait sync.WaitGroup
		for n := range 9 { // the first caller does not wait for others
			wait.Go(func() {
				if _, err := g.do(t.Context(), n); (err != nil) != isLocked(n) {
					t.Errorf("result of %d: got error %v", n, err)
				}
			})
			synctest.Wait()
		}
		wait.Wait()
		want := [][]int{{0}, {1, 2, 3, 4, 5, 6, 7, 8}, {4, 8, 1, 5}, {4, 8}, {1, 5}, {2, 6, 3, 7}}
		if !slices.EqualFunc(groups, want, slices.Equal) {
			t.Errorf("groups: got %v, want %v", groups, want)
		}
	})
}

// A single caller does not wait. Callers that follow soon wait for a pause and form groups. A full group does not wait.
func TestGrouperGathersBusyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 25 * time.Millisecond
		var groups []int
		g := newGrouper(GroupPolicy{Size: 4, Lanes: 2, Pause: pause, Timeout: time.Minute}, nil, nil,
			func(_ context.Context, group []int) ([]int, error) {
				groups = append(groups, len(group))
				return group, nil
			})
		defer g.close()
		began := time.Now()
		do := func(n int, after time.Duration) {
			t.Helper()
			if _, err := g.do(t.Context(), n); err != nil || time.Since(began) != after {
				t.Errorf("caller %d: got a result after %v, error %v, want it after %v", n, time.Since(began), err,
					after)
			}
		}
		do(1, 0)
		var wait sync.WaitGroup
		for n := range 10 { // two full groups and the beginning of another one
			wait.Go(func() { do(n, pause*time.Duration(n/8)) })
			synctest.Wait()
		}
		wait.Wait()
		time.Sleep(pause)
		do(10, 2*pause)
		if !slices.Equal(groups, []int{1, 4, 4, 2, 1}) {
			t.Errorf("sizes of groups: got %v, want [1 4 4 2 1]", groups)
		}
	})
}

// A group with an urgent caller does not wait for the pause.
func TestGrouperSendsUrgentCallersImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var groups [][]int
		urgent := func(n int) bool { return n == 3 }
		g := newGrouper(GroupPolicy{Size: 8, Lanes: 1, Pause: time.Second, Timeout: time.Minute}, urgent, nil,
			func(_ context.Context, group []int) ([]int, error) {
				groups = append(groups, group)
				return group, nil
			})
		defer g.close()
		began := time.Now()
		var wait sync.WaitGroup
		for n := 1; n <= 3; n++ {
			wait.Go(func() { _, _ = g.do(t.Context(), n) })
			synctest.Wait()
		}
		wait.Wait()
		if took := time.Since(began); took != 0 || !slices.EqualFunc(groups, [][]int{{1}, {2, 3}}, slices.Equal) {
			t.Errorf("got groups %v after %s, want [[1] [2 3]] immediately", groups, took)
		}
	})
}

// Full groups are limited only by the duration of their statements: two at a time.
func TestGrouperIsLimitedByItsStatements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const statement = 10 * time.Millisecond
		var largest atomic.Int32
		g := newGrouper(GroupPolicy{Size: 4, Lanes: 2, Pause: time.Second, Timeout: time.Minute}, nil, nil,
			func(_ context.Context, group []int) ([]int, error) {
				largest.Store(max(largest.Load(), int32(len(group))))
				time.Sleep(statement)
				return group, nil
			})
		defer g.close()
		began := time.Now()
		var wait sync.WaitGroup
		for n := range 1 + 10*4 { // the first caller does not wait for others
			wait.Go(func() {
				if _, err := g.do(t.Context(), n); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wait.Wait()
		if took := time.Since(began); took > 6*statement || largest.Load() != 4 {
			t.Errorf("eleven groups of at most %d took %s, want 4 and %s", largest.Load(), took, 6*statement)
		}
	})
}

func TestClosedGrouperReleasesCallers(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	g := newGrouper(GroupPolicy{Size: 1, Lanes: 1, Timeout: time.Minute}, nil, nil,
		func(context.Context, []int) ([]int, error) { <-block; return []int{0}, nil })
	waiting := make(chan error)
	go func() { _, err := g.do(context.Background(), 1); waiting <- err }()
	g.close()
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("caller of a closed grouper: got error %v, want %v", err, errClosed)
	}
}
