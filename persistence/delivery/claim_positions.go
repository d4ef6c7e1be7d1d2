package delivery

import (
	"maps"
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// claimPosition is the position at which a claim starts to read. It matters if one claim cannot read all
// queues, or all subscriptions of a queue.
type claimPosition struct {
	last   string                        // last queue that was read; "" = start with the first queue
	unread map[string]app.SubscriptionID // last subscription that was read, for each queue with unread ones
}

// maxPositions limits the queues whose last subscription a process stores. Other queues start with their
// first subscription.
const maxPositions = 1_000

// claimPositions stores the position of the next claim of this process. It is safe for concurrent use.
type claimPositions struct {
	mu   sync.Mutex
	next claimPosition
}

func (p *claimPositions) current() claimPosition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return claimPosition{p.next.last, maps.Clone(p.next.unread)}
}

// advance sets the position after a claim. A queue whose subscriptions were all read keeps its
// position, because it may start with any subscription.
func (p *claimPositions) advance(next claimPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next.last = next.last
	if p.next.unread == nil {
		p.next.unread = map[string]app.SubscriptionID{}
	}
	for queue, subscription := range next.unread {
		if _, known := p.next.unread[queue]; !known && len(p.next.unread) >= maxPositions {
			for other := range p.next.unread {
				delete(p.next.unread, other)
				break
			}
		}
		p.next.unread[queue] = subscription
	}
}
