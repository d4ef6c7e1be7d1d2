package delivery

import (
	"maps"
	"slices"
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// claimPosition is the position at which a claim starts to read. It matters if one claim cannot read all
// queues, or all subscriptions of a queue.
type claimPosition struct {
	queue         string               // last queue that was read; "" = start with the first queue
	queues        []string             // queues with unread subscriptions
	subscriptions []app.SubscriptionID // last subscription that was read, for each of queues
}

// maxPositions limits the queues whose last subscription a process stores. Other queues start with their
// first subscription.
const maxPositions = 1_000

// claimPositions stores the position of the next claim of this process. It is safe for concurrent use.
type claimPositions struct {
	mu    sync.Mutex
	queue string
	last  map[string]app.SubscriptionID
}

func (p *claimPositions) current() claimPosition {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := claimPosition{queue: p.queue, queues: slices.Sorted(maps.Keys(p.last))}
	for _, queue := range next.queues {
		next.subscriptions = append(next.subscriptions, p.last[queue])
	}
	return next
}

// advance sets the position after a claim. A queue whose subscriptions were all read keeps its
// position, because it may start with any subscription.
func (p *claimPositions) advance(next claimPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = next.queue
	if p.last == nil {
		p.last = map[string]app.SubscriptionID{}
	}
	for i, queue := range next.queues {
		if _, known := p.last[queue]; !known && len(p.last) >= maxPositions {
			for other := range p.last {
				delete(p.last, other)
				break
			}
		}
		p.last[queue] = next.subscriptions[i]
	}
}
