package activities

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// wakes spreads over time the first tasks of workflows whose attempts have left a burst. When a receiver begins to
// hang, hundreds of attempts leave within a moment. If their workflows woke up together, the Temporal server would
// delay all other deliveries for seconds. It is safe for concurrent use.
type wakes struct {
	every  time.Duration                     // between two wakes
	random func(time.Duration) time.Duration // from 0 up to the limit

	mu sync.Mutex
	// next is the time from which each subscription of a website may wake again.
	next map[string]map[app.SubscriptionID]time.Time
}

// randomBelow returns a random duration from 0 up to the limit.
func randomBelow(limit time.Duration) time.Duration {
	return rand.N(max(1, limit)) //nolint:gosec // not a secret
}

func newWakes(every time.Duration, random func(time.Duration) time.Duration) *wakes {
	return &wakes{every: every, random: random, next: map[string]map[app.SubscriptionID]time.Time{}}
}

// reserve returns the time at which a workflow wakes, from earliest to latest. Websites share the rate equally, and so
// do the subscriptions of a website. The first workflow of a subscription wakes at a random time of its first interval,
// since hundreds of subscriptions can begin to hang at the same time. If all times until latest are reserved, the next
// workflow of the subscription wakes like its first one.
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
	at, waits := next[subscription]
	next[subscription] = at // counts for the share
	interval := w.every * time.Duration(len(w.next)*len(next))
	if !waits || at.After(latest) {
		at = earliest.Add(w.random(min(interval, latest.Sub(earliest))))
	}
	next[subscription] = at.Add(interval)
	return at
}
