package persistence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneBadRowIsNobodyElsesFailure(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad row")
	var largest atomic.Int32
	started, release := make(chan struct{}, 10), make(chan struct{})
	g := newGrouper(8, func(_ context.Context, group []int) ([]int, error) {
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
	for range groupLanes {
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

func TestClosedGrouperLetsNobodyWait(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	g := newGrouper(1, func(context.Context, []int) ([]int, error) { <-block; return []int{0}, nil })
	waiting := make(chan error)
	go func() { _, err := g.do(context.Background(), 1); waiting <- err }()
	g.close()
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}
