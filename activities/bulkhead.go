package activities

import (
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Lane is the path that a worker gives to one attempt.
type Lane string

// The lanes. A workflow of the previous release names no lane and does not understand a refusal,
// so its attempts are neither refused nor counted.
const (
	LaneFast Lane = "fast" // thousands of places: the first attempts and retries of quick receivers
	LaneSlow Lane = "slow" // a few hundred places: all other attempts
)

// BulkheadPolicy limits the attempts that one subscription may have in flight on one worker, so
// that a receiver that hangs cannot fill a lane.
type BulkheadPolicy struct {
	Fast int // places in the fast lane
	Slow int // places in the slow lane
	// MinWait is the shortest wait of an attempt that the slow lane refuses.
	MinWait time.Duration
	// Waits up to MaxWait follow the pace of the receiver. A longer wait would be too long for a
	// receiver that recovers. Beyond MaxWait, the waits of two refused attempts therefore differ by
	// at most WakeEvery, which bounds the wake-ups: each costs a timer and a workflow task.
	MaxWait   time.Duration
	WakeEvery time.Duration
}

// places returns how many attempts may be in flight in a lane; 0 = no limit.
func (p BulkheadPolicy) places(lane Lane) int {
	switch lane {
	case LaneFast:
		return p.Fast
	case LaneSlow:
		return p.Slow
	}
	return 0
}

// occupancy is the use of one lane by one subscription.
type occupancy struct {
	inFlight int
	typical  time.Duration // moving average of the time that an attempt holds its place
	turn     time.Time     // of the attempt that is refused next
}

// admit decides on one more attempt and returns the new occupancy. A refused attempt of the slow
// lane gets a turn behind all attempts that were refused before, at the pace at which places
// become free: a queue then causes one wake-up per attempt instead of one every few seconds.
func (o occupancy) admit(p BulkheadPolicy, lane Lane, now time.Time) (_ occupancy, admitted bool, wait time.Duration) {
	if o.inFlight < p.places(lane) {
		o.inFlight++
		return o, true, 0
	}
	if lane == LaneFast {
		return o, false, 0 // it takes the slow lane
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

// leave returns the occupancy after the end of an attempt that held its place for some time.
func (o occupancy) leave(held time.Duration) occupancy {
	const weight = 8 // attempts that the average remembers
	o.inFlight--
	o.typical += (held - o.typical) / weight
	return o
}

// bulkhead holds the places of all subscriptions. It is safe for concurrent use.
type bulkhead struct {
	policy  BulkheadPolicy
	typical time.Duration // assumed until a subscription's attempts have ended
	now     func() time.Time

	mu    sync.Mutex
	lanes map[laneOf]occupancy // of subscriptions with attempts in flight
}

type laneOf struct {
	subscription app.SubscriptionID
	lane         Lane
}

func newBulkhead(policy BulkheadPolicy, typical time.Duration, now func() time.Time) *bulkhead {
	return &bulkhead{policy: policy, typical: typical, now: now, lanes: map[laneOf]occupancy{}}
}

// enter takes a place and returns the function that gives it back. Without a free place, it
// returns nil and the time to wait, which is 0 in the fast lane.
func (b *bulkhead) enter(subscription app.SubscriptionID, lane Lane) (leave func(), wait time.Duration) {
	if b.policy.places(lane) == 0 {
		return func() {}, 0
	}
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

// leave gives back a place that was taken at a time. The last one also ends the queue: an empty
// lane shows that the receiver is faster than the turns assumed.
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
