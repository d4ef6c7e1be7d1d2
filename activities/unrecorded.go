package activities

import (
	"maps"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// unrecordedFor is how long an attempt that could not be recorded is kept after its last try.
// Tries are at most a minute apart, so that after ten another worker makes them.
const unrecordedFor = 10 * time.Minute

// unrecorded holds attempts that were made and are not recorded yet. The next try of such an
// attempt records it instead of making it again. It is safe for concurrent use.
type unrecorded struct {
	mu       sync.Mutex
	attempts map[string]unrecordedAttempt // by the key of the attempt
	swept    time.Time
}

type unrecordedAttempt struct {
	made app.MadeAttempt
	at   time.Time // of its last try
}

// keep holds an attempt until it is dropped, or unrecordedFor after its last try.
func (u *unrecorded) keep(key string, made app.MadeAttempt, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.attempts == nil {
		u.attempts = map[string]unrecordedAttempt{}
	}
	u.attempts[key] = unrecordedAttempt{made, now}
	if now.Sub(u.swept) > unrecordedFor {
		u.swept = now
		maps.DeleteFunc(u.attempts, func(_ string, a unrecordedAttempt) bool { return now.Sub(a.at) > unrecordedFor })
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
