package activities

import (
	"maps"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// wakes spreads over time the first tasks of workflows whose attempts have left a burst. When a receiver begins to
// hang, hundreds of attempts leave within a moment. If their workflows woke up together, the Temporal server would
// delay all other deliveries for seconds. It is safe for concurrent use.
type wakes struct {
	every time.Duration // between two wakes

	mu sync.Mutex
	// next is the time from which each subscription of a website may wake again.
	next map[string]map[app.SubscriptionID]time.Time
}

func newWakes(every time.Duration) *wakes {
	return &wakes{every: every, next: map[string]map[app.SubscriptionID]time.Time{}}
}

// reserve returns the time at which a workflow wakes, from earliest to latest. Websites share the rate equally, and so
// do the subscriptions of a website. The first workflow of a subscription wakes at earliest. If all times until latest
// are reserved, they are reserved again.
func (w *wakes) reserve(queue string, subscription app.SubscriptionID, earliest, latest time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for website, next := range w.next {
		maps.DeleteFunc(next, func(_ app.SubscriptionID, at time.Time) bool { return !at.After(earliest) })
		if len(next) == 0 {
			delete(w.next, website)
		}
	}
	next, known := w.next[queue]
	if !known {
		next = map[app.SubscriptionID]time.Time{}
		w.next[queue] = next
	}
	at := earliest
	if reserved, waits := next[subscription]; waits && !reserved.After(latest) {
		at = reserved
	}
	next[subscription] = at // counts for the share
	next[subscription] = at.Add(w.every * time.Duration(len(w.next)*len(next)))
	return at
}
