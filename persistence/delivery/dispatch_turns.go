package delivery

import (
	"maps"
	"slices"
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// dispatchTurn is the position at which a dispatch starts to read. It matters if one dispatch cannot read all queues,
// or all stores of a queue.
type dispatchTurn struct {
	queue  string        // last queue that was read; "" = start with the first queue
	queues []string      // queues whose position is known
	stores []app.StoreID // last store that was read, for each of queues; "" = all were read
}

// dispatchTurns stores the position of the next dispatch of this process. It is safe for concurrent use.
type dispatchTurns struct {
	mu    sync.Mutex
	queue string
	last  map[string]app.StoreID // of queues with unread stores

	locked bool // the last dispatch found a locked queue
}

func (d *dispatchTurns) isLocked() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.locked
}

func (d *dispatchTurns) setLocked(locked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked = locked
}

func (d *dispatchTurns) current() dispatchTurn {
	d.mu.Lock()
	defer d.mu.Unlock()
	turn := dispatchTurn{queue: d.queue, queues: slices.Sorted(maps.Keys(d.last))}
	for _, queue := range turn.queues {
		turn.stores = append(turn.stores, d.last[queue])
	}
	return turn
}

// advance sets the position after a dispatch. It stores at most maxPositions queues; others start with their first
// store.
func (d *dispatchTurns) advance(turn dispatchTurn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = turn.queue
	if d.last == nil {
		d.last = map[string]app.StoreID{}
	}
	for i, queue := range turn.queues {
		_, known := d.last[queue]
		switch {
		case turn.stores[i] == "":
			delete(d.last, queue)
		case known || len(d.last) < maxPositions:
			d.last[queue] = turn.stores[i]
		}
	}
}
