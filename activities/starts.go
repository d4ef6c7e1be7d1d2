package activities

import "sync"

// startPlaces limits the workflows that bursts start at the same time. Websites with waiting starts take turns, so that
// one whose receivers hang does not delay the deliveries of others. It is safe for concurrent use.
type startPlaces struct {
	mu      sync.Mutex
	free    int
	turns   []string                   // websites with waiting starts, the next one first
	waiting map[string][]chan struct{} // by website
}

func newStartPlaces(n int) *startPlaces {
	return &startPlaces{free: n, waiting: map[string][]chan struct{}{}}
}

// enter waits for a place of a website. The caller must leave.
func (s *startPlaces) enter(website string) {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return
	}
	if len(s.waiting[website]) == 0 {
		s.turns = append(s.turns, website)
	}
	turn := make(chan struct{})
	s.waiting[website] = append(s.waiting[website], turn)
	s.mu.Unlock()
	<-turn
}

// leave gives the place to the next website.
func (s *startPlaces) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		s.free++
		return
	}
	website := s.turns[0]
	s.turns = s.turns[1:]
	close(s.waiting[website][0])
	if s.waiting[website] = s.waiting[website][1:]; len(s.waiting[website]) > 0 {
		s.turns = append(s.turns, website)
	} else {
		delete(s.waiting, website)
	}
}
