package activities

import (
	"maps"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// unrecordedFor is the time for which an attempt that could not be recorded is kept after the last execution of its
// activity. Executions are at most a minute apart. After ten minutes without one, another worker executes the activity.
const unrecordedFor = 10 * time.Minute

// unrecorded contains attempts that were made but not yet recorded. The next execution of the activity records the
// attempt instead of repeating it. It is safe for concurrent use.
type unrecorded struct {
	mu        sync.Mutex
	attempts  map[string]unrecordedAttempt // by the key of the attempt
	lastSweep time.Time
}

type unrecordedAttempt struct {
	made app.MadeAttempt
	at   time.Time // last execution of the activity
}

// keep stores an attempt until it is dropped, or until unrecordedFor after the last call for it.
func (u *unrecorded) keep(key string, made app.MadeAttempt, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.attempts == nil {
		u.attempts = map[string]unrecordedAttempt{}
	}
	u.attempts[key] = unrecordedAttempt{made, now}
	if now.Sub(u.lastSweep) > unrecordedFor {
		u.lastSweep = now
		maps.DeleteFunc(u.attempts, func(_ string, a unrecordedAttempt) bool { return now.Sub(a.at) > unrecordedFor })
	}
}

// extend keeps an attempt for longer, because its activity is executed again.
func (u *unrecorded) extend(key string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if found, ok := u.attempts[key]; ok {
		u.attempts[key] = unrecordedAttempt{found.made, now}
	}
}

func (u *unrecorded) find(key string) (app.MadeAttempt, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	found, ok := u.attempts[key]
	return found.made, ok
}

func (u *unrecorded) drop(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.attempts, key)
}
