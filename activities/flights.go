package activities

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// attempted is the end of one attempt.
type attempted struct {
	DeliverResult

	status  app.AttemptStatus // as recorded; "" = no attempt was made
	retryAt time.Time         // with AttemptRetrying only: when the next attempt is due
}

// flights are the attempts in flight in this process. They join a try of an attempt to an
// earlier try that still runs, so that both are one POST and take one place. They are safe for
// concurrent use.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

// flight is one attempt in flight. attempted and err are set when done is closed.
type flight struct {
	attempted
	err  error
	done chan struct{}

	responded atomic.Bool // the POST has ended and is being recorded
}

// enter returns the flight of an attempt, and whether the caller must run it.
func (f *flights) enter(key string) (_ *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined, ok := f.byKey[key]; ok {
		return joined, false
	}
	if f.byKey == nil {
		f.byKey = map[string]*flight{}
	}
	begun := &flight{done: make(chan struct{})}
	f.byKey[key] = begun
	return begun, true
}

// run makes the attempt of a flight and ends the flight. A panic becomes its error: in a
// burst it would end the process, and with it the attempts of others.
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
