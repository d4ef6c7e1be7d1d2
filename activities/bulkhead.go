package activities

import (
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Lane is the group of worker slots in which an attempt runs.
type Lane string

const (
	LaneFast Lane = "fast" // thousands of slots: first attempts and retries of quick receivers
	LaneSlow Lane = "slow" // a few hundred slots: all other attempts
)

// BulkheadPolicy limits the concurrent attempts of one subscription on one worker, so that a hanging receiver cannot
// occupy all slots of a lane.
type BulkheadPolicy struct {
	Fast int // places in the fast lane
	Slow int // places in the slow lane
	// MinWait is the minimum wait of an attempt for which the slow lane has no place.
	MinWait time.Duration
	// Waits up to MaxWait follow the pace of the receiver. Longer waits would delay deliveries after the receiver has
	// recovered. Therefore, beyond MaxWait, the waits of two consecutive attempts differ by at most WakeEvery. This
	// limits the rate of wake-ups, each of which costs a timer and a workflow task.
	MaxWait   time.Duration
	WakeEvery time.Duration
}

// places returns the maximum number of concurrent attempts of one subscription in a lane.
func (p BulkheadPolicy) places(lane Lane) int {
	if lane == LaneFast {
		return p.Fast
	}
	return p.Slow
}

// occupancy is the use of one lane by one subscription.
type occupancy struct {
	inFlight int
	typical  time.Duration // moving average of the time for which an attempt holds its place
	turn     time.Time     // time at which the next refused attempt should try again
}

// admit decides whether another attempt may start and returns the new occupancy. An attempt refused by the slow lane
// gets a wait behind all attempts refused before, at the pace at which places become free. A queue then causes one
// wake-up per attempt instead of one every few seconds.
func (o occupancy) admit(p BulkheadPolicy, lane Lane, now time.Time) (_ occupancy, admitted bool, wait time.Duration) {
	if o.inFlight < p.places(lane) {
		o.inFlight++
		return o, true, 0
	}
	if lane == LaneFast {
		return o, false, 0 // the attempt moves to the slow lane
	}
	if earliest := now.Add(p.MinWait); o.turn.Before(earliest) {
		o.turn = earliest
	}
	wait = o.turn.Sub(now)
	pace := o.typical / time.Duration(p.Slow)
	if wait >= p.MaxWait {
		pace = min(pace, p.WakeEvery)
	}
	o.turn = o.turn.Add(pace)
	return o, false, wait
}

// leave returns the occupancy after an attempt ended that held its place for the given time.
func (o occupancy) leave(held time.Duration) occupancy {
	const weight = 8 // number of attempts in the moving average
	o.inFlight--
	o.typical += (held - o.typical) / weight
	return o
}

// bulkhead holds the places of all subscriptions. It is safe for concurrent use.
type bulkhead struct {
	policy  BulkheadPolicy
	typical time.Duration // assumed before the first attempt of a subscription has ended
	now     func() time.Time

	mu    sync.Mutex
	lanes map[laneOf]occupancy // only subscriptions with running attempts
}

type laneOf struct {
	subscription app.SubscriptionID
	lane         Lane
}

func newBulkhead(policy BulkheadPolicy, typical time.Duration, now func() time.Time) *bulkhead {
	return &bulkhead{policy: policy, typical: typical, now: now, lanes: map[laneOf]occupancy{}}
}

// enter takes a place and returns the function that releases it. If no place is free, it returns nil and the time to
// wait, which is 0 in the fast lane.
func (b *bulkhead) enter(subscription app.SubscriptionID, lane Lane) (leave func(), wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, now := laneOf{subscription, lane}, b.now()
	held, ok := b.lanes[key]
	if !ok {
		held.typical = b.typical
	}
	held, admitted, wait := held.admit(b.policy, lane, now)
	b.lanes[key] = held
	if !admitted {
		return nil, wait
	}
	return func() { b.leave(key, now) }, 0
}

// leave releases a place that was taken at entered. If no attempt remains, it forgets the computed waits, because the
// receiver is faster than they assumed.
func (b *bulkhead) leave(key laneOf, entered time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.lanes[key].leave(b.now().Sub(entered))
	if held.inFlight == 0 {
		delete(b.lanes, key)
		return
	}
	b.lanes[key] = held
}
