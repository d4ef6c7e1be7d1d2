package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// delivery identifies a delivery by the subject of its event and its webhook.
type delivery struct {
	subject string // id of the order or product
	webhook int    // number of the webhook in its stage
}

// arrivals records the arrival times of attempts.
type arrivals struct {
	lock  sync.Mutex
	times map[delivery][]time.Time
	taken map[delivery]bool // with success
	last  time.Time         // of the latest first arrival of a delivery
	tick  func()            // called at the first arrival of each delivery
}

func newArrivals(tick func()) *arrivals {
	return &arrivals{times: map[delivery][]time.Time{}, taken: map[delivery]bool{}, tick: tick}
}

// record adds an arrival and returns the number of the attempt within its delivery, from 1.
func (a *arrivals) record(d delivery, at time.Time) (nth int) {
	a.lock.Lock()
	defer a.lock.Unlock()
	times := append(a.times[d], at)
	a.times[d] = times
	if len(times) == 1 {
		a.last = at
		a.tick()
	}
	return len(times)
}

// accept records that a receiver has accepted a delivery.
func (a *arrivals) accept(d delivery) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.taken[d] = true
}

// accepted returns the number of deliveries that receivers have accepted.
func (a *arrivals) accepted() int {
	a.lock.Lock()
	defer a.lock.Unlock()
	return len(a.taken)
}

// reset removes all arrivals.
func (a *arrivals) reset() {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.times, a.taken = map[delivery][]time.Time{}, map[delivery]bool{}
}

// count returns the number of deliveries that have arrived, and the time of the latest first arrival.
func (a *arrivals) count() (n int, last time.Time) {
	a.lock.Lock()
	defer a.lock.Unlock()
	return len(a.times), a.last
}

// await waits until n deliveries have arrived and returns the time of the latest first arrival.
func (a *arrivals) await(ctx context.Context, worker *harness.Process, n int) (last time.Time, err error) {
	err = until(ctx, worker, fmt.Sprintf("%d deliveries have arrived", n), func() (bool, error) {
		var arrived int
		arrived, last = a.count()
		return arrived >= n, nil
	})
	if err != nil {
		arrived, _ := a.count()
		return last, fmt.Errorf("%d deliveries have arrived: %w", arrived, err)
	}
	return last, nil
}

// of returns the arrival times of the attempts of a delivery.
func (a *arrivals) of(d delivery) []time.Time {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.times[d])
}

// firstAfter returns the earliest first arrival of a delivery after a time.
func (a *arrivals) firstAfter(t time.Time) (first time.Time) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, times := range a.times {
		if at := times[0]; at.After(t) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// beyond returns the number of attempts beyond the first n of each delivery.
func (a *arrivals) beyond(n int) (repeated int) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, times := range a.times {
		repeated += max(len(times)-n, 0)
	}
	return repeated
}

// delays returns the times from commit to first arrival, in milliseconds, of the events that were
// committed in a period. All of them must have arrived.
func (a *arrivals) delays(events []sent, from, to time.Time) []float64 {
	a.lock.Lock()
	defer a.lock.Unlock()
	var ms []float64
	for _, event := range events {
		if event.at.Before(from) || !event.at.Before(to) {
			continue
		}
		for _, d := range event.deliveries() {
			ms = append(ms, float64(a.times[d][0].Sub(event.at).Microseconds())/1000)
		}
	}
	return ms
}
