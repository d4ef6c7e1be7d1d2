package api

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/comanda-dev/comanda/app"
)

// waiters counts the requests that wait, by owner.
type waiters struct {
	most   int
	of     map[string]int // owners without waiting requests have no entry
	queued int            // of all owners
}

func newWaiters(most int) waiters { return waiters{most: most, of: map[string]int{}} }

// gate is a limit of one owner.
type gate struct {
	of    string // the limit
	owner string // a website, a store or a client network; "" = all
}

// slots are the free places behind a gate. They are served in the order of the requests.
type slots struct {
	*semaphore.Weighted
	users int // that hold a place or wait for one
}

// gateLimit is the number of places behind a gate.
type gateLimit struct {
	gate   gate
	places int64
}

// places are the places of one request. They are released once.
type places struct {
	work    *work
	waiters *waiters // among which the request counts; nil = none
	owner   string   // of the waiting request
	ended   bool     // the request: it waits for places until the end of the context
	limits  []gateLimit
	held    []gate
}

// begin takes a place behind each of several gates. It returns UNAVAILABLE if one has no free place in time, or too
// many requests wait.
func (p *places) begin(ctx context.Context, limits ...gateLimit) error {
	p.limits = limits
	if p.enterAll(ctx, limits...) {
		return nil
	}
	p.work.refused.Inc()
	return &app.Error{
		Code: app.CodeUnavailable, RetryAfter: maxWorkWait,
		Message: "too many requests are in progress; retry after the given time",
	}
}

// without calls f, which uses no connection, while the request holds no places. It returns the error of f or, if no
// places are free afterwards, UNAVAILABLE.
func (p *places) without(ctx context.Context, f func() error) error {
	if p == nil {
		return f()
	}
	p.leave()
	if err := f(); err != nil {
		return err
	}
	return p.begin(ctx, p.limits...)
}

// enterAll takes a place behind each of several gates. The narrower limits come first, so that a request that waits for
// them does not take the place of another one.
func (p *places) enterAll(ctx context.Context, limits ...gateLimit) bool {
	if !p.ended {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.work.wait)
		defer cancel()
	}
	for _, limit := range limits {
		if !p.enter(ctx, limit) {
			return false
		}
	}
	return true
}

// enter takes a place behind a gate. It returns false if none is free in time, or too many requests wait.
func (p *places) enter(ctx context.Context, limit gateLimit) bool {
	w, at := p.work, limit.gate
	w.mu.Lock()
	s := w.gates[at]
	if s == nil {
		s = &slots{Weighted: semaphore.NewWeighted(limit.places)}
		w.gates[at] = s
	}
	s.users++
	w.mu.Unlock()
	if !s.TryAcquire(1) && !w.waitFor(ctx, s, p) {
		w.forget(at, s)
		return false
	}
	p.held = append(p.held, at)
	return true
}

// waitFor waits for a free place. It returns false if none is free in time, or too many requests wait.
func (w *work) waitFor(ctx context.Context, s *slots, p *places) bool {
	if p.waiters != nil {
		if !w.queue(p) {
			return false
		}
		defer w.unqueue(p)
	}
	w.waiting.Inc()
	defer w.waiting.Dec()
	return s.Acquire(ctx, 1) == nil
}

// queue counts a request that waits. It returns false if too many wait: those of one owner are at most half of the
// requests that may still wait. One request of each owner can always wait.
func (w *work) queue(p *places) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := p.waiters.of[p.owner]; n > 0 && n >= p.waiters.most-p.waiters.queued {
		return false
	}
	p.waiters.of[p.owner]++
	p.waiters.queued++
	return true
}

func (w *work) unqueue(p *places) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.waiters.queued--
	if p.waiters.of[p.owner]--; p.waiters.of[p.owner] == 0 {
		delete(p.waiters.of, p.owner)
	}
}

// leave releases all places.
func (p *places) leave() {
	if p == nil {
		return
	}
	for _, at := range p.held {
		p.work.mu.Lock()
		s := p.work.gates[at]
		p.work.mu.Unlock()
		s.Release(1)
		p.work.forget(at, s)
	}
	p.held = nil
}

// forget removes the places behind a gate after their last user.
func (w *work) forget(at gate, s *slots) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(w.gates, at)
	}
}
