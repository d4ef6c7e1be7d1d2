package activities

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// attempted is the result of one attempt within this process.
type attempted struct {
	DeliverResult

	status  app.AttemptStatus // recorded status; "" = no attempt was made
	retryAt time.Time         // time of the next attempt; only with AttemptRetrying
}

// flights contains the running attempts of this process. A repeated activity waits for the running execution of the
// same attempt, so that there is one POST, which takes one place. It is safe for concurrent use.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

// flight is one running attempt. attempted and err are set when done is closed.
type flight struct {
	attempted
	err  error
	done chan struct{}

	deadline  time.Time   // no POST begins after it; zero = none. Only the caller of run uses it.
	responded atomic.Bool // the POST has ended and is being recorded
}

// expired reports whether no POST of the flight may begin any more.
func (f *flight) expired(now time.Time) bool { return !f.deadline.IsZero() && now.After(f.deadline) }

// enter returns the flight of an attempt. If isNew is true, the caller must call run.
func (f *flights) enter(key string) (_ *flight, isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined, ok := f.byKey[key]; ok {
		return joined, false
	}
	if f.byKey == nil {
		f.byKey = map[string]*flight{}
	}
	started := &flight{done: make(chan struct{})}
	f.byKey[key] = started
	return started, true
}

// count returns the number of running attempts.
func (f *flights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.byKey)
}

// run executes the attempt of a flight and ends the flight. A panic becomes the error of the flight. In a burst, it
// would otherwise end the process and with it all running attempts.
func (f *flights) run(key string, flight *flight, attempt func() (attempted, error)) {
	defer func() {
		if cause := recover(); cause != nil {
			flight.err = fmt.Errorf("the attempt panicked: %v\n%s", cause, debug.Stack())
		}
		f.mu.Lock()
		delete(f.byKey, key)
		f.mu.Unlock()
		close(flight.done)
	}()
	flight.attempted, flight.err = attempt()
}
