package delivery

import (
	"maps"
	"slices"
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// turn is where a claim begins to read, if more queues, or more subscriptions of a queue, wait than one claim reads.
type turn struct {
	queue         string               // the last queue that was read; "" = begin with the first
	queues        []string             // queues of which not every subscription was read,
	subscriptions []app.SubscriptionID // and the last that was read of each
}

// mostTurns bounds the queues of which a process remembers the last subscription that it read. A forgotten queue begins
// with its first subscription.
const mostTurns = 1_000

// turns remembers where the next claim of this process begins. It is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	queue string
	last  map[string]app.SubscriptionID
}

func (t *turns) current() turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := turn{queue: t.queue, queues: slices.Sorted(maps.Keys(t.last))}
	for _, queue := range next.queues {
		next.subscriptions = append(next.subscriptions, t.last[queue])
	}
	return next
}

// advance follows a claim, which has read up to next. A queue whose subscriptions were all read keeps its place: any
// subscription may be the first there.
func (t *turns) advance(next turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = next.queue
	if t.last == nil {
		t.last = map[string]app.SubscriptionID{}
	}
	for i, queue := range next.queues {
		if _, known := t.last[queue]; !known && len(t.last) >= mostTurns {
			for forgotten := range t.last {
				delete(t.last, forgotten)
				break
			}
		}
		t.last[queue] = next.subscriptions[i]
	}
}
