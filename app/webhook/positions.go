package webhook

import (
	"container/list"
	"strings"
	"sync"
)

// DefaultPositions is the number of resources of a [LastPosition] with the Limit 0.
const DefaultPositions = 10_000

// LastPosition keeps the highest position of each resource in memory, so that a receiver can ignore deliveries that
// arrive out of order. The zero value is ready to use and safe for concurrent use.
//
// It forgets everything when the program ends. A receiver that stores the state of resources also stores the positions,
// in the same transaction, and ignores an event if the stored position is higher.
type LastPosition struct {
	Limit int // of resources, the least recently used ones are forgotten; 0 = DefaultPositions

	mu        sync.Mutex
	resources map[string]*list.Element // values are of type seen
	recent    list.List                // the most recently used resource first
}

type seen struct {
	resource string
	position int64
}

// Outdated reports whether a later event of the resource has been passed to it. Respond with 2xx to an outdated event,
// and ignore it. Another attempt of the latest event is not outdated. Events without a position or a resource are never
// outdated, and neither are payment.*, which report payments and not the state of their order.
func (l *LastPosition) Outdated(event Event) bool {
	if event.Position == 0 || event.Resource == "" || strings.HasPrefix(string(event.Type), "payment.") {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.resources[event.Resource]; ok {
		l.recent.MoveToFront(known)
		last := known.Value.(seen)
		last.position = max(last.position, event.Position)
		known.Value = last
		return event.Position < last.position
	}
	if l.resources == nil {
		l.resources = map[string]*list.Element{}
	}
	l.resources[event.Resource] = l.recent.PushFront(seen{event.Resource, event.Position})
	limit := l.Limit
	if limit <= 0 {
		limit = DefaultPositions
	}
	for len(l.resources) > limit {
		oldest := l.recent.Remove(l.recent.Back()).(seen)
		delete(l.resources, oldest.resource)
	}
	return false
}
