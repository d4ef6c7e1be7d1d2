package delivery

import (
	"maps"
	"slices"
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// turn is the position at which a claim starts to read. It matters if one claim cannot read all
// queues, or all subscriptions of a queue.
type turn struct {
	queue         string               // last queue that was read; "" = start with the first queue
	queues        []string             // queues with unread subscriptions
	subscriptions []app.SubscriptionID // last subscription that was read, for each of queues
}

// mostTurns limits the queues whose last subscription a process stores. Other queues start with their
// first subscription.
const mostTurns = 1_000

// turns stores the position of the next claim of this process. It is safe for concurrent use.
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

// advance sets the position after a claim. A queue whose subscriptions were all read keeps its
// position, because it may start with any subscription.
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
