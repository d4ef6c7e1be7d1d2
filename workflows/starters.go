package workflows

import (
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// starterPolicy bounds and adapts the number of concurrent starts of one kind. Starting many
// workflows concurrently delays the attempts of workflows that are already started, so the
// number grows only while starts do not become slower.
type starterPolicy struct {
	min, max int
	// slower is the duration of starts, relative to the shortest one, above which starts queue
	// in the server.
	slower float64
	// less is the factor by which the number then shrinks.
	less float64
}

// Eight starters saturate a Temporal server on the same machine, where a start takes 5 to 10
// ms; more of them only queue. Behind a network the duration is mostly latency, and the number
// grows until the server is saturated: with 30 ms to about 12. 64 starters with 100 ms start
// 640 workflows per second, more than a server of a few cores completes.
//
// Failing and slow subscriptions get a quarter of the starters.
var (
	healthyStarters = starterPolicy{min: 8, max: 64, slower: 2, less: 0.75}
	otherStarters   = starterPolicy{min: 2, max: 16, slower: 2, less: 0.75}
)

// startWindow is a number of consecutive starts.
type startWindow struct {
	started, failed int
	total           time.Duration // duration of those that did not fail
	backlog         bool          // claims waited for a starter at the end
}

// next returns the number of starters after a window of starts made by n starters. shortest is
// the duration of a start that did not queue.
func (p starterPolicy) next(n int, w startWindow, shortest time.Duration) int {
	mean := w.total / time.Duration(max(w.started, 1))
	switch {
	case w.failed > 0 || float64(mean) > p.slower*float64(shortest):
		return max(p.min, int(float64(n)*p.less))
	case w.backlog:
		return min(p.max, n+1)
	}
	return n
}

// shortestMemory is how long the shortest start is remembered, at least; at most twice as long.
// Afterwards a server that has moved farther away no longer counts as overloaded.
const shortestMemory = time.Minute

// shortestStart is the duration of the shortest start of the last one to two minutes.
type shortestStart struct {
	since             time.Time // start of the current minute
	previous, current time.Duration
}

func (s *shortestStart) add(now time.Time, took time.Duration) {
	if now.Sub(s.since) >= shortestMemory {
		s.since, s.previous, s.current = now, s.current, took
	}
	s.current = min(s.current, took)
}

// duration returns 0 if there was no start.
func (s *shortestStart) duration() time.Duration {
	if s.previous == 0 {
		return s.current
	}
	return min(s.previous, s.current)
}

// starters starts units of claims in their order, several of them concurrently.
type starters struct {
	policy   starterPolicy
	capacity int // units that may wait
	start    func([]app.Claim) error
	hasRoom  func() // called when a large batch could be added

	running sync.WaitGroup

	lock     sync.Mutex
	queue    [][]app.Claim
	limit    int // concurrent starts
	active   int
	window   startWindow
	shortest shortestStart
}

func newStarters(policy starterPolicy, capacity int, start func([]app.Claim) error, hasRoom func()) *starters {
	return &starters{policy: policy, capacity: max(capacity, 1), start: start, hasRoom: hasRoom, limit: policy.min}
}

// add queues a unit. It never blocks; the capacity is up to the caller.
func (s *starters) add(unit []app.Claim) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.queue = append(s.queue, unit)
	s.spawn()
}

// spawn starts goroutines up to the limit. The caller holds the lock.
func (s *starters) spawn() {
	for range min(s.limit-s.active, len(s.queue)) {
		s.active++
		s.running.Go(s.work)
	}
}

// work starts units until none is left or there are too many starters.
func (s *starters) work() {
	for {
		unit, ok := s.next()
		if !ok {
			return
		}
		began := time.Now()
		err := s.start(unit)
		s.measure(began, time.Since(began), err)
	}
}

func (s *starters) next() (unit []app.Claim, ok bool) {
	s.lock.Lock()
	if len(s.queue) == 0 || s.active > s.limit {
		s.active--
		s.lock.Unlock()
		return nil, false
	}
	full := !s.roomy()
	unit, s.queue = s.queue[0], s.queue[1:]
	room := full && s.roomy()
	s.lock.Unlock()
	if room {
		s.hasRoom()
	}
	return unit, true
}

// measure adapts the limit after each window, which is two starts of each starter.
func (s *starters) measure(began time.Time, took time.Duration, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err != nil { // its duration says nothing
		s.window.failed++
	} else {
		s.window.started++
		s.window.total += took
		s.shortest.add(began, took)
	}
	if s.window.started+s.window.failed < 2*s.limit {
		return
	}
	s.window.backlog = len(s.queue) > 0
	s.limit = s.policy.next(s.limit, s.window, s.shortest.duration())
	s.window = startWindow{}
	s.spawn()
}

// free returns how many more units may wait.
func (s *starters) free() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return max(0, s.capacity-len(s.queue))
}

// halfEmpty reports whether a large batch can be added.
func (s *starters) halfEmpty() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.roomy()
}

func (s *starters) roomy() bool { return len(s.queue) <= s.capacity/2 }

// wait returns when all units are started.
func (s *starters) wait() { s.running.Wait() }
