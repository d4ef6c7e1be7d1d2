package api

import (
	"sync"

	"github.com/comanda-dev/comanda/app"
)

// Limits of the streams of one process (docs/behaviour.md#rate-limits).
const (
	maxStreams      = 4000 // of all websites
	maxStreamsAtAll = 5000 // including those of websites with few streams
	fewStreams      = 5    // of one website in this process
)

// streamSlots counts the streams of this process. Websites with many streams share the first slots. The others are for
// websites with few streams, so that no group of websites locks another one out.
type streamSlots struct {
	most, atAll, few int

	mu   sync.Mutex
	open int
	of   map[app.WebsiteID]int // websites without an open stream have no entry
}

func newStreamSlots(most, atAll, few int) *streamSlots {
	return &streamSlots{most: most, atAll: atAll, few: few, of: map[app.WebsiteID]int{}}
}

// take takes a slot for a stream of a website. It returns UNAVAILABLE if there is none. The stream calls release.
func (s *streamSlots) take(website app.WebsiteID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.atAll || s.open >= s.most && s.of[website] >= s.few {
		return app.Unavailable(heartbeat)
	}
	s.open++
	s.of[website]++
	return nil
}

// release frees the slot of a stream.
func (s *streamSlots) release(website app.WebsiteID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.of[website]--; s.of[website] == 0 {
		delete(s.of, website)
	}
}
