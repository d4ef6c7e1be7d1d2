package workflows

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

const (
	// jobShare is the number of slots of jobs that the long steps of one website may occupy in a worker, and as many for
	// its urgent ones. The fairness key alone decides only about free slots, and few connections serve all steps.
	jobShare = 1
	// jobShareWait and jobShareMaxWait limit the pause of a step that finds the share occupied. It grows with each time,
	// because every return costs a task of the server.
	jobShareWait    = time.Second
	jobShareMaxWait = 15 * time.Second

	// jobShareOccupied is the type of the error of a step that waits for the share of its website.
	jobShareOccupied = "ShareOccupied"
)

// shares counts the running long steps of jobs in a worker, by fairness key.
type shares struct {
	lock    sync.Mutex
	running map[string]int
}

func newShares() *shares { return &shares{running: map[string]int{}} }

// enter takes a place of the share of a key. It returns false if the share is occupied.
func (s *shares) enter(key string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running[key] == jobShare {
		return false
	}
	s.running[key]++
	return true
}

func (s *shares) leave(key string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.running[key]--; s.running[key] == 0 {
		delete(s.running, key)
	}
}

// limitShare returns an activity that leaves its slot immediately, and is repeated later, if its website occupies its
// share.
func limitShare[I, O any](s *shares, step func(context.Context, I) (O, error)) func(context.Context, I) (O, error) {
	return func(ctx context.Context, in I) (O, error) {
		info := activity.GetInfo(ctx)
		key := info.Priority.FairnessKey
		if !s.enter(key) {
			wait := min(time.Duration(info.Attempt)*jobShareWait, jobShareMaxWait)
			var none O
			return none, temporal.NewApplicationErrorWithOptions("other steps of the website are running", jobShareOccupied,
				temporal.ApplicationErrorOptions{NextRetryDelay: wait/2 + rand.N(wait)}) //nolint:gosec // no secret
		}
		defer s.leave(key)
		return step(ctx, in)
	}
}
