package delivery

import "sync"

// turn is the queue after which the next claim of this process starts. It is safe for concurrent use.
type turn struct {
	mu   sync.Mutex
	last string // "" = start with the first queue
}

func (t *turn) after() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

func (t *turn) endAt(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = queue
}
