package workflows

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// starterPolicy limits and adapts the number of concurrent starts. Starting many workflows concurrently delays the
// attempts of workflows that are already started. Therefore, the number grows only while starts do not become slower.
type starterPolicy struct {
	min, max int
	// slowdown is the duration of starts, relative to the shortest one, above which starts queue in the server.
	slowdown float64
	// decrease is the factor by which the number then decreases.
	decrease float64
	// within is the time in which waiting units should start; 0 = any time. It limits their number, see places.
	within time.Duration
}

// Limits of concurrent starts, set by load tests. On the machine of the Temporal server, where a start takes 5 to 25
// ms, three starters saturate the server with bursts, and several workers may share it. Over a network, most of the
// duration is latency, and the number grows until the server is saturated: to about 12 at 30 ms. 64 starters at 100 ms
// start 640 workflows per second, more than a server with a few cores completes. Failing and slow subscriptions get a
// quarter of them.
var (
	healthyStarters = starterPolicy{min: 3, max: 64, slowdown: 2, decrease: 0.75, within: promptStart}
	otherStarters   = starterPolicy{min: 2, max: 16, slowdown: 2, decrease: 0.75}
)

// promptStart is the time in which claimed units should start. The others wait in their queues, where they can share
// bursts with later deliveries, and where websites take turns.
const promptStart = 250 * time.Millisecond

// startWindow measures a number of consecutive starts.
type startWindow struct {
	started, failed int
	total           time.Duration // sum of the durations of successful starts
	backlog         bool          // claims waited for a starter at the end of the window
}

// next returns the number of starters after a window of starts by n starters. shortest is the duration of a start that
// did not queue in the server.
func (p starterPolicy) next(n int, w startWindow, shortest time.Duration) int {
	mean := w.total / time.Duration(max(w.started, 1))
	switch {
	case w.failed > 0 || float64(mean) > p.slowdown*float64(shortest):
		return max(p.min, int(float64(n)*p.decrease))
	case w.backlog:
		return min(p.max, n+1)
	}
	return n
}

// shortestMemory is the minimum time for which the shortest start is remembered; the maximum is twice as long. If the
// latency to the server increases, the server counts as overloaded only for that time.
const shortestMemory = time.Minute

// shortestStart tracks the duration of the shortest start of the last one to two minutes.
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

// duration returns the shortest duration, or 0 if there was no start.
func (s *shortestStart) duration() time.Duration {
	if s.previous == 0 {
		return s.current
	}
	return min(s.previous, s.current)
}

// waitingUnit is a unit of claims that waits for a starter.
type waitingUnit struct {
	claims []app.Claim
	until  time.Time // end of their lease, or of the starts that their plan window counts
	turn   int
}

// turns gives units that wait for a starter their turns. Websites alternate, and the units of a website keep their
// order, except that a burst has the turn of the website in it whose turn comes first.
type turns struct {
	now  int            // turn of the last unit that started
	last map[string]int // turn of the last unit of each website; only turns after now
}

// next returns the turn of a unit.
func (t *turns) next(unit []app.Claim) int {
	turn := math.MaxInt
	for _, claim := range unit {
		turn = min(turn, max(t.now, t.last[claim.Queue])+1)
	}
	for _, claim := range unit {
		t.last[claim.Queue] = max(t.last[claim.Queue], turn)
	}
	return turn
}

// started updates the turns after the start of a unit.
func (t *turns) started(unit waitingUnit) {
	t.now = max(t.now, unit.turn)
	for _, claim := range unit.claims {
		if t.last[claim.Queue] <= t.now {
			delete(t.last, claim.Queue)
		}
	}
}

// starters starts units of claims, several of them concurrently. Websites take turns. It drops a unit that has waited
// too long. If starts take long, each delivery whose lease expires would otherwise be started several times.
type starters struct {
	policy      starterPolicy
	capacity    int // maximum number of waiting units, see places
	start       func([]app.Claim) error
	drop        func([][]app.Claim)
	onHalfEmpty func() // called when a large batch can be added

	running sync.WaitGroup

	lock     sync.Mutex
	queue    []waitingUnit // in the order of their turns
	turns    turns
	limit    int // concurrent starts
	active   int
	begun    int            // units that are being started
	claims   int            // claims of these
	starting map[string]int // units of each website among these
	ends     []time.Time    // of the recent starts, see places
	full     bool           // since a relay has looked for half of the places
	window   startWindow
	shortest shortestStart
}

func newStarters(
	policy starterPolicy, capacity int, start func([]app.Claim) error, drop func([][]app.Claim), onHalfEmpty func(),
) *starters {
	return &starters{
		policy: policy, capacity: max(capacity, 1), start: start, drop: drop, onHalfEmpty: onHalfEmpty,
		limit: policy.min, turns: turns{last: map[string]int{}}, starting: map[string]int{},
	}
}

// add queues a unit that must start before until. It never blocks. The caller must respect the capacity.
func (s *starters) add(unit []app.Claim, until time.Time) {
	s.lock.Lock()
	defer s.lock.Unlock()
	turn := s.turns.next(unit)
	place := len(s.queue)
	for place > 0 && s.queue[place-1].turn > turn {
		place--
	}
	s.queue = slices.Insert(s.queue, place, waitingUnit{unit, until, turn})
	s.spawn()
}

// spawn starts goroutines for waiting units, up to the limit. The caller holds the lock.
func (s *starters) spawn() {
	for range min(s.limit-s.active, len(s.queue)) {
		s.active++
		s.running.Go(s.work)
	}
}

// work starts units until none is left or the limit has decreased.
func (s *starters) work() {
	for {
		unit, ok := s.next()
		if !ok {
			return
		}
		began := time.Now()
		err := s.start(unit)
		s.ended(unit)
		s.measure(began, time.Since(began), err)
	}
}

func (s *starters) next() (unit []app.Claim, ok bool) {
	s.lock.Lock()
	var late [][]app.Claim
	for len(s.queue) > 0 && !time.Now().Before(s.queue[0].until) {
		late = append(late, s.take())
	}
	if ok = len(s.queue) > 0 && s.active <= s.limit; ok {
		unit = s.take()
		s.begun++
		s.claims += len(unit)
		for _, website := range websitesOf(unit) {
			s.starting[website]++
		}
	} else {
		s.active--
	}
	freed := s.full && s.isHalfEmpty()
	s.full = s.full && !freed
	s.lock.Unlock()
	if len(late) > 0 {
		s.drop(late)
	}
	if freed {
		s.onHalfEmpty()
	}
	return unit, ok
}

// take removes the next unit from the queue. The caller holds the lock.
func (s *starters) take() []app.Claim {
	unit := s.queue[0]
	s.queue = s.queue[1:]
	s.turns.started(unit)
	return unit.claims
}

// ended counts a unit no longer: its work has begun, or its start has failed.
func (s *starters) ended(unit []app.Claim) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.begun--
	s.claims -= len(unit)
	for _, website := range websitesOf(unit) {
		if s.starting[website]--; s.starting[website] == 0 {
			delete(s.starting, website)
		}
	}
}

// measure records the duration of a start. It adapts the limit after each window of two starts per starter.
func (s *starters) measure(began time.Time, took time.Duration, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.policy.within > 0 {
		s.ends = append(s.ends, time.Now())
	}
	if err != nil { // the duration of a failed start is meaningless
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

// free returns the number of units that can be added.
func (s *starters) free() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return max(0, s.places()-len(s.queue))
}

// places returns the number of units that may wait: one for each free starter, and as many as have started within the
// time of the policy. If starts take long, few units are claimed; if they become faster, their number doubles within
// that time. The caller holds the lock.
func (s *starters) places() int {
	if s.policy.within == 0 {
		return s.capacity
	}
	since := time.Now().Add(-s.policy.within)
	for len(s.ends) > 0 && s.ends[0].Before(since) {
		s.ends = s.ends[1:]
	}
	return min(s.capacity, max(s.limit-s.active, len(s.ends)))
}

// unstarted returns the number of units and of claims that wait for a starter or are being started, and the number of
// these units with claims of each website.
func (s *starters) unstarted() (units, claims int, websites map[string]int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	claims, websites = s.claims, maps.Clone(s.starting)
	for _, unit := range s.queue {
		claims += len(unit.claims)
		for _, website := range websitesOf(unit.claims) {
			websites[website]++
		}
	}
	return s.begun + len(s.queue), claims, websites
}

// websitesOf returns the websites of the claims of a unit.
func websitesOf(unit []app.Claim) (websites []string) {
	for _, claim := range unit {
		if !slices.Contains(websites, claim.Queue) {
			websites = append(websites, claim.Queue)
		}
	}
	return websites
}

// halfEmpty reports whether a large batch can be added.
func (s *starters) halfEmpty() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.full = !s.isHalfEmpty()
	return !s.full
}

func (s *starters) isHalfEmpty() bool {
	places := s.places()
	return places > 0 && len(s.queue) <= places/2
}

// wait blocks until all units have been started.
func (s *starters) wait() { s.running.Wait() }
