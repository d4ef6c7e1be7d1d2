package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	maxQueue = 256             // callers that wait for a slot to hash
	maxWait  = 5 * time.Second // of one caller
)

// hashSlots limits the concurrent hashes. Each takes much memory and a whole processor. Websites take turns. One
// website takes at most half of the slots; requests that name no website are one group.
type hashSlots struct {
	most    int // slots
	maxWait time.Duration

	mu      sync.Mutex
	free    int
	groups  map[app.WebsiteID]*hashGroup // that hash or wait
	waiting []*hashWaiter                // in the order of their requests
	turns   int                          // slots that were taken so far
}

// hashGroup are the callers of one website.
type hashGroup struct {
	running, waiting int
	last             int // turn of its latest slot; at first, the turn before the latest one of all
}

type hashWaiter struct {
	website app.WebsiteID
	turn    chan struct{} // closed when it has a slot
}

func newHashSlots(most int) *hashSlots {
	return &hashSlots{most: most, maxWait: maxWait, free: most, groups: map[app.WebsiteID]*hashGroup{}}
}

// enter waits for a slot and returns the function that releases it. It returns UNAVAILABLE if no slot is free in time,
// or too many callers wait: one website fills at most half of the free places of the queue. One caller of each website
// always waits.
func (h *hashSlots) enter(ctx context.Context, website app.WebsiteID) (leave func(), err error) {
	w := &hashWaiter{website, make(chan struct{})}
	if !h.queue(w) {
		return nil, app.Unavailable(time.Second)
	}
	timeout := time.NewTimer(h.maxWait)
	defer timeout.Stop()
	select {
	case <-w.turn:
		return func() { h.leave(website) }, nil
	case <-timeout.C:
		err = app.Unavailable(time.Second)
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.cancel(w)
	return nil, err
}

// queue adds a caller. It returns false if the queue is full.
func (h *hashSlots) queue(w *hashWaiter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[w.website]
	if g == nil {
		// It goes before the group of the latest turn only: many websites with a caller each would otherwise go before a
		// group that waits, turn after turn.
		g = &hashGroup{last: h.turns - 1}
	}
	if g.waiting > 0 && g.waiting >= maxQueue-len(h.waiting) {
		return false
	}
	h.groups[w.website] = g
	g.waiting++
	h.waiting = append(h.waiting, w)
	h.next()
	return true
}

// cancel ends the wait of a caller.
func (h *hashSlots) cancel(w *hashWaiter) {
	h.mu.Lock()
	i := slices.Index(h.waiting, w)
	if i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
		h.groups[w.website].waiting--
		h.forget(w.website)
	}
	h.mu.Unlock()
	if i < 0 { // its turn began meanwhile
		h.leave(w.website)
	}
}

func (h *hashSlots) leave(website app.WebsiteID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free++
	h.groups[website].running--
	h.forget(website)
	h.next()
}

// forget removes a group that neither hashes nor waits.
func (h *hashSlots) forget(website app.WebsiteID) {
	if g := h.groups[website]; g.running == 0 && g.waiting == 0 {
		delete(h.groups, website)
	}
}

// next gives free slots to the websites whose latest turn is the longest ago. h.mu is locked.
func (h *hashSlots) next() {
	for h.free > 0 {
		first := -1
		for i, w := range h.waiting {
			g := h.groups[w.website]
			if g.running < max(h.most/2, 1) && (first < 0 || g.last < h.groups[h.waiting[first].website].last) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		w := h.waiting[first]
		h.waiting = slices.Delete(h.waiting, first, first+1)
		g := h.groups[w.website]
		h.turns++
		h.free--
		g.waiting, g.running, g.last = g.waiting-1, g.running+1, h.turns
		close(w.turn)
	}
}
