package filter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Turns shares the evaluation of filters among websites: one evaluates at a time. The next turn is that of the waiting
// website that has used the least time, so that a website with few filters waits for about one turn of another one.
// Time that a website did not use while it had no filters to evaluate does not count for it. The zero value is ready to
// use, and Turns is safe for concurrent use.
type Turns struct {
	mu      sync.Mutex
	taken   bool
	waiting []waiter
	used    map[string]time.Duration // by website, if it is more than least
	least   time.Duration            // used by the website of the last turn, before it
}

type waiter struct {
	website string
	turn    chan struct{} // closed when it begins
}

// Take waits for a turn of a website. [Turns.Give] ends it. Take returns the error of ctx if ctx ends before.
func (t *Turns) Take(ctx context.Context, website string) error {
	w := waiter{website, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	t.next()
	t.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // the turn began meanwhile
		t.taken = false
		t.next()
	}
	return ctx.Err()
}

// Give ends the turn of a website, which has used some time.
func (t *Turns) Give(website string, used time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = map[string]time.Duration{}
	}
	t.used[website] = t.usedBy(website) + used
	t.taken = false
	t.next()
}

// Waiting returns the number of callers that wait for a turn.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}

func (t *Turns) usedBy(website string) time.Duration { return max(t.used[website], t.least) }

// next begins the next turn. t.mu is locked.
func (t *Turns) next() {
	if t.taken || len(t.waiting) == 0 {
		return
	}
	first := slices.MinFunc(t.waiting, func(a, b waiter) int {
		return cmp.Compare(t.usedBy(a.website), t.usedBy(b.website))
	})
	t.waiting = slices.DeleteFunc(t.waiting, func(w waiter) bool { return w == first })
	t.least = t.usedBy(first.website)
	maps.DeleteFunc(t.used, func(_ string, used time.Duration) bool { return used <= t.least })
	t.taken = true
	close(first.turn)
}
