package activities

import (
	"maps"
	"sync"
)

// websites counts the bursts in progress that wait for deliveries of each website. It is safe for concurrent use.
type websites struct {
	mu     sync.Mutex
	bursts map[string]int
}

// burstWebsites are the deliveries of one burst that have not settled, by website.
type burstWebsites struct {
	all     *websites
	waiting map[string]int
}

// enter counts a burst. The caller must call leave.
func (w *websites) enter(deliveries []BurstDelivery) *burstWebsites {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &burstWebsites{w, map[string]int{}}
	for _, d := range deliveries {
		b.waiting[d.Queue]++
	}
	for website := range b.waiting {
		w.bursts[website]++
	}
	return b
}

func (w *websites) all() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.bursts)
}

// settled removes a delivery of a website.
func (b *burstWebsites) settled(website string) {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	if b.waiting[website]--; b.waiting[website] == 0 {
		b.remove(website)
	}
}

// leave removes the rest of the burst.
func (b *burstWebsites) leave() {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	for website := range b.waiting {
		b.remove(website)
	}
}

func (b *burstWebsites) remove(website string) {
	delete(b.waiting, website)
	if b.all.bursts[website]--; b.all.bursts[website] == 0 {
		delete(b.all.bursts, website)
	}
}
