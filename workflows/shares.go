package workflows

import (
	"context"
	"maps"
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
	// jobShareMinEvery and jobShareEvery limit the mean time between two returns to an occupied share, which is the
	// duration of a step. If more steps of a website wait than return in jobShareMaxWait, their pauses grow with their
	// number: the tasks of the server do not.
	jobShareMinEvery = 20 * time.Millisecond
	jobShareEvery    = 200 * time.Millisecond

	// jobShareOccupied is the type of the error of a step that waits for the share of its website.
	jobShareOccupied = "ShareOccupied"
)

// shares counts the running long steps of jobs in a worker, by fairness key.
type shares struct {
	lock sync.Mutex
	of   map[string]*share
}

// share is the share of a fairness key.
type share struct {
	running int
	began   time.Time     // of the last step
	took    time.Duration // duration of the last step that has ended
	line    time.Time     // time at which the last waiting step returns
}

func newShares() *shares { return &shares{of: map[string]*share{}} }

// enter takes a place of the share of a key. If the share is occupied, it returns the time after which a step that
// waits for the given time returns.
func (s *shares) enter(key string, now time.Time, wait time.Duration) (free bool, pause time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of[key] == nil {
		s.of[key] = &share{line: now, took: jobShareEvery}
	}
	of := s.of[key]
	if of.running < jobShare {
		of.running++
		of.began = now
		return true, 0
	}
	every := min(max(of.took, now.Sub(of.began), jobShareMinEvery), jobShareEvery)
	if of.line = of.line.Add(every); of.line.Before(now) {
		of.line = now
	}
	return false, max(wait, of.line.Sub(now))
}

func (s *shares) leave(key string, now time.Time) {
	s.lock.Lock()
	defer s.lock.Unlock()
	of := s.of[key]
	of.took = now.Sub(of.began)
	of.running--
	// A step that waits can return to another worker, so a share is also forgotten when another one is left.
	maps.DeleteFunc(s.of, func(_ string, of *share) bool { return of.running == 0 && !of.line.After(now) })
}

// limitShare returns an activity that leaves its slot immediately, and is repeated later, if its website occupies its
// share.
func limitShare[I, O any](s *shares, step func(context.Context, I) (O, error)) func(context.Context, I) (O, error) {
	return func(ctx context.Context, in I) (O, error) {
		info := activity.GetInfo(ctx)
		key := info.Priority.FairnessKey
		wait := min(time.Duration(info.Attempt)*jobShareWait, jobShareMaxWait)
		free, pause := s.enter(key, time.Now(), wait/2+rand.N(wait)) //nolint:gosec // no secret
		if !free {
			var none O
			return none, temporal.NewApplicationErrorWithOptions("other steps of the website are running", jobShareOccupied,
				temporal.ApplicationErrorOptions{NextRetryDelay: pause})
		}
		defer func() { s.leave(key, time.Now()) }()
		return step(ctx, in)
	}
}
