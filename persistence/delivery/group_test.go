package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneBadRowIsNobodyElsesFailure(t *testing.T) {
	t.Parallel()
	const lanes = 2
	bad := errors.New("bad row")
	var largest atomic.Int32
	started, release := make(chan struct{}, 10), make(chan struct{})
	g := newGrouper(GroupPolicy{Size: 8, Lanes: lanes, Timeout: time.Minute}, func(_ context.Context, group []int) ([]int, error) {
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
					t.Errorf("the bad row: %v", err)
				}
			} else if err != nil || got != n*n {
				t.Errorf("%d became %d, %v", n, got, err)
			}
		})
	}
	for range lanes {
		<-started // the lanes are busy, so the others gather
	}
	go func() {
		for range started {
		}
	}()
	close(release)
	wait.Wait()
	if largest.Load() > 8 {
		t.Errorf("a group of %d", largest.Load())
	}
}

// A lone caller is served at once; who comes soon after waits for the others.
func TestGroupsGatherWhileTheyAreMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 25 * time.Millisecond
		var groups []int
		g := newGrouper(GroupPolicy{Size: 4, Lanes: 2, Pause: pause, Timeout: time.Minute}, func(_ context.Context, group []int) ([]int, error) {
			groups = append(groups, len(group))
			return group, nil
		})
		defer g.close()
		began := time.Now()
		do := func(n int, after time.Duration) {
			t.Helper()
			if _, err := g.do(t.Context(), n); err != nil || time.Since(began) != after {
				t.Errorf("%d done after %v, %v; want it after %v", n, time.Since(began), err, after)
			}
		}
		do(1, 0)
		var wait sync.WaitGroup
		for n := range 6 { // more than one group
			wait.Go(func() { do(n, pause*time.Duration(1+n/4)) })
			synctest.Wait()
		}
		wait.Wait()
		time.Sleep(pause)
		do(8, 3*pause)
		if !slices.Equal(groups, []int{1, 4, 2, 1}) {
			t.Errorf("groups of %v", groups)
		}
	})
}

func TestClosedGrouperLetsNobodyWait(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	g := newGrouper(GroupPolicy{Size: 1, Lanes: 1, Timeout: time.Minute}, func(context.Context, []int) ([]int, error) { <-block; return []int{0}, nil })
	waiting := make(chan error)
	go func() { _, err := g.do(context.Background(), 1); waiting <- err }()
	g.close()
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}
