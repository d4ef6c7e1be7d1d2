package delivery

import (
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// turn is where a claim begins to read, if more queues, or more subscriptions of a queue, wait than one claim reads.
type turn struct {
	queue         string               // the last queue that was read; "" = begin with the first
	queues        []string             // queues of which not every subscription was read,
	subscriptions []app.SubscriptionID // and the last that was read of each
}

// turns remembers where the next claim of this process begins. It is safe for concurrent use.
type turns struct {
	mu   sync.Mutex
	next turn
}

func (t *turns) current() turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

func (t *turns) advance(next turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = next
}
