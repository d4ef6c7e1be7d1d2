package activities

import (
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Lane is the group of worker slots in which an attempt runs.
type Lane string

const (
	LaneFast Lane = "fast" // FastSlots: first attempts and retries of quick receivers
	LaneSlow Lane = "slow" // SlowSlots: all other attempts
)

// Slots of the lanes in one worker process.
const (
	FastSlots = 4000
	SlowSlots = 200
)

// BulkheadPolicy limits the concurrent attempts of one subscription on one worker, so that a hanging receiver cannot
// occupy all slots of a lane. A website with many hanging receivers cannot either: it gets a slot only while more slots
// are free than it occupies.
type BulkheadPolicy struct {
	Fast int // places in the fast lane
	Slow int // places in the slow lane
	// Bodies is the size of all large bodies of running attempts. A website gets as much as remains for others. One that
	// has none gets one more, up to Reserve in total, so that other websites do not keep it waiting.
	Bodies, Reserve int
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

// slots returns the number of slots of a lane.
func (l Lane) slots() int {
	if l == LaneFast {
		return FastSlots
	}
	return SlowSlots
}

// occupancy is the use of one lane by one subscription, or by one website.
type occupancy struct {
	inFlight int
	typical  time.Duration // moving average of the time for which an attempt holds its place
	turn     time.Time     // time at which the next refused attempt should try again
}

// admit decides whether another attempt may start beside fewer than places, and returns the new occupancy. An attempt
// refused by the slow lane gets a wait behind all attempts refused before, at the pace at which places become free. A
// queue then causes one wake-up per attempt instead of one every few seconds. Without running attempts, the pace is
// unknown and the waits differ by WakeEvery: places = 0 means that others use the memory for large bodies.
func (o occupancy) admit(
	p BulkheadPolicy, lane Lane, places int, now time.Time,
) (_ occupancy, admitted bool, wait time.Duration) {
	if o.inFlight < places {
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
	pace := p.WakeEvery
	if o.inFlight > 0 {
		pace = o.typical / time.Duration(o.inFlight)
	}
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
	lanes map[laneOf]occupancy // subscriptions and websites with running attempts, and websites that wait for memory
	total map[Lane]int         // running attempts

	bodies int            // size of the large bodies of all running attempts
	bodyOf map[string]int // of a website; without an entry if there are none
}

// laneOf identifies the use of a lane by a subscription, or by a website.
type laneOf struct {
	website      string
	subscription app.SubscriptionID // "" = all of the website
	lane         Lane
}

func newBulkhead(policy BulkheadPolicy, typical time.Duration, now func() time.Time) *bulkhead {
	return &bulkhead{
		policy: policy, typical: typical, now: now, lanes: map[laneOf]occupancy{}, total: map[Lane]int{},
		bodyOf: map[string]int{},
	}
}

// enter takes a place of a subscription and of its website, and memory for a large body of a size, 0 = none. It returns
// the function that releases them. If no place or no memory is free, it returns nil and the time to wait, which is 0 in
// the fast lane.
func (b *bulkhead) enter(
	website string, subscription app.SubscriptionID, lane Lane, body int,
) (leave func(), wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, all, now := laneOf{website, subscription, lane}, laneOf{website, "", lane}, b.now()
	next, admitted, wait := b.occupancy(own).admit(b.policy, lane, b.policy.places(lane), now)
	if !admitted {
		b.lanes[own] = next
		return nil, wait
	}
	places := max(lane.slots()-b.total[lane], 1)
	if !b.fits(website, body) {
		places = 0
	}
	nextOfAll, admitted, wait := b.occupancy(all).admit(b.policy, lane, places, now)
	if b.lanes[all] = nextOfAll; !admitted {
		return nil, wait
	}
	b.lanes[own] = next
	b.total[lane]++
	b.hold(website, body)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.total[lane]--
		b.hold(website, -body)
		b.leave(own, b.now().Sub(now))
		b.leave(all, b.now().Sub(now))
	}, 0
}

// fits reports whether there is memory for a large body of a website. 0 = no large body.
func (b *bulkhead) fits(website string, body int) bool {
	rest := b.policy.Bodies - b.bodies - body
	return body == 0 || b.bodyOf[website]+body <= rest || b.bodyOf[website] == 0 && rest+b.policy.Reserve >= 0
}

// hold changes the size of the large bodies of a website.
func (b *bulkhead) hold(website string, body int) {
	b.bodies += body
	if b.bodyOf[website] += body; b.bodyOf[website] == 0 {
		delete(b.bodyOf, website)
	}
}

func (b *bulkhead) occupancy(key laneOf) occupancy {
	if held, ok := b.lanes[key]; ok {
		return held
	}
	return occupancy{typical: b.typical}
}

// leave releases a place that was held for the given time. If no attempt remains, it forgets the computed waits,
// because the receiver is faster than they assumed.
func (b *bulkhead) leave(key laneOf, held time.Duration) {
	occupied := b.lanes[key].leave(held)
	if occupied.inFlight == 0 {
		delete(b.lanes, key)
		return
	}
	b.lanes[key] = occupied
}
