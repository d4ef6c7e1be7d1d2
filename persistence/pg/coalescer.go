package pg

import (
	"context"
	"sync"
	"time"
)

// Coalescer runs one function for the different items of many callers. Its methods are safe for concurrent use.
type Coalescer[T comparable] struct {
	pause   time.Duration
	timeout time.Duration
	run     func(context.Context, []T)
	closing chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	waiting []T // in the order of Add
	known   map[T]bool
	running bool
}

// NewCoalescer returns a coalescer that calls run with the items of a pause and with a timeout. With a pause of 0, run
// gets the items that arrived during its previous call.
func NewCoalescer[T comparable](pause, timeout time.Duration, run func(context.Context, []T)) *Coalescer[T] {
	return &Coalescer[T]{
		pause: pause, timeout: timeout, run: run, closing: make(chan struct{}), known: map[T]bool{},
	}
}

// Add enqueues items. It does not wait.
func (c *Coalescer[T]) Add(items ...T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range items {
		if !c.known[item] {
			c.known[item] = true
			c.waiting = append(c.waiting, item)
		}
	}
	if len(c.waiting) > 0 && !c.running {
		c.running = true
		c.done.Go(c.loop)
	}
}

// loop runs until there are no more items.
func (c *Coalescer[T]) loop() {
	for {
		if c.pause > 0 {
			select {
			case <-time.After(c.pause):
			case <-c.closing:
			}
		}
		c.mu.Lock()
		batch := c.waiting
		c.waiting = nil
		clear(c.known)
		c.running = len(batch) > 0
		c.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
		c.run(ctx, batch)
		cancel()
	}
}

// Close waits until run was called with all items.
func (c *Coalescer[T]) Close() {
	close(c.closing)
	c.done.Wait()
}
