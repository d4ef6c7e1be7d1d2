package activities

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

var testPolicy = BulkheadPolicy{
	Fast: 3, Slow: 2, MinWait: 3 * time.Second, MaxWait: 5 * time.Minute, WakeEvery: 50 * time.Millisecond,
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	const typical = 10 * time.Second // two places: one becomes free every five seconds
	at := func(after time.Duration) time.Time { return eventAt.Add(after) }
	far := 5 * time.Minute
	for name, test := range map[string]struct {
		lane     Lane
		inFlight int
		turn     time.Time
		admitted bool
		wait     time.Duration
		next     time.Time // turn afterwards
	}{
		"an empty lane":            {LaneSlow, 0, time.Time{}, true, 0, time.Time{}},
		"the last place":           {LaneSlow, 1, time.Time{}, true, 0, time.Time{}},
		"full":                     {LaneSlow, 2, time.Time{}, false, 3 * time.Second, at(8 * time.Second)},
		"full, others wait":        {LaneSlow, 2, at(8 * time.Second), false, 8 * time.Second, at(13 * time.Second)},
		"full, the queue is over":  {LaneSlow, 2, at(time.Second), false, 3 * time.Second, at(8 * time.Second)},
		"full, a long queue":       {LaneSlow, 2, at(far), false, far, at(far + 50*time.Millisecond)},
		"free, others wait":        {LaneSlow, 1, at(time.Minute), true, 0, at(time.Minute)},
		"the fast lane":            {LaneFast, 2, time.Time{}, true, 0, time.Time{}},
		"the fast lane, full":      {LaneFast, 3, time.Time{}, false, 0, time.Time{}},
		"the fast lane, overtaken": {LaneFast, 4, time.Time{}, false, 0, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			before := occupancy{inFlight: test.inFlight, typical: typical, turn: test.turn}
			after, admitted, wait := before.admit(testPolicy, test.lane, testPolicy.places(test.lane), eventAt)
			want := before
			want.turn = test.next
			if test.admitted {
				want.inFlight++
			}
			if admitted != test.admitted || wait != test.wait || after != want {
				t.Errorf("%s: admitted %v, wait %s, occupancy %+v, want %v, %s, %+v",
					name, admitted, wait, after, test.admitted, test.wait, want)
			}
		})
	}
}

// In a long queue, at most one attempt per 50 ms is woken up, regardless of the number of refused attempts. The first
// attempts of the queue are woken up at the pace at which places become free.
func TestAdmitSpacesWaits(t *testing.T) {
	t.Parallel()
	policy := DefaultDeliveryPolicy(10 * time.Second).Bulkhead
	queue := occupancy{inFlight: policy.Slow, typical: 10 * time.Second}
	var last time.Duration
	for i := range 100_000 {
		var wait time.Duration
		queue, _, wait = queue.admit(policy, LaneSlow, policy.Slow, eventAt)
		if i == 0 && wait != policy.MinWait || i > 0 && wait < last+policy.WakeEvery {
			t.Fatalf("wait of attempt %d: %s, previous wait %s, want at least %s more", i, wait, last, policy.WakeEvery)
		}
		last = wait
	}
	if last > 90*time.Minute {
		t.Errorf("wait of the last of 100,000 attempts: %s, want at most 90m", last)
	}
}

func TestLeaveFollowsReceiverPace(t *testing.T) {
	t.Parallel()
	lane := occupancy{inFlight: 100, typical: 10 * time.Second}
	for range 50 {
		lane = lane.leave(time.Second)
	}
	if lane.inFlight != 50 || lane.typical < time.Second || lane.typical > 1100*time.Millisecond {
		t.Errorf("occupancy %+v, want 50 in flight and a typical duration of 1s to 1.1s", lane)
	}
}

func TestBulkheadUnderLoad(t *testing.T) {
	t.Parallel()
	b := newBulkhead(testPolicy, time.Second, time.Now)
	var inFlight, most, entered atomic.Int32
	var attempts sync.WaitGroup
	for range 200 {
		attempts.Go(func() {
			leave, wait := b.enter("web_1", "whk_1", LaneSlow, 0)
			if leave == nil {
				if wait < testPolicy.MinWait {
					t.Errorf("wait %s, want at least %s", wait, testPolicy.MinWait)
				}
				return
			}
			defer leave()
			entered.Add(1)
			if now := inFlight.Add(1); now > int32(testPolicy.Slow) {
				most.Store(now)
			}
			inFlight.Add(-1)
		})
	}
	attempts.Wait()
	if most.Load() != 0 || entered.Load() == 0 || len(b.lanes) != 0 {
		t.Errorf("%d in flight, %d entered, lanes %v, want 0 in flight and no lanes",
			most.Load(), entered.Load(), b.lanes)
	}
}

// A website with many hanging receivers occupies at most half of the slots of a lane, beside another one a third. An
// attempt of a website without any is always admitted. Refused attempts wake up at the pace of the website.
func TestWebsiteLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	policy := DefaultDeliveryPolicy(10 * time.Second).Bulkhead
	b := newBulkhead(policy, 10*time.Second, func() time.Time { return eventAt })
	occupy := func(website string) (entered int, leave func()) {
		for i := range SlowSlots {
			left, _ := b.enter(website, app.SubscriptionID(fmt.Sprint(website, i%100)), LaneSlow, 0)
			if left != nil {
				entered, leave = entered+1, left
			}
		}
		return entered, leave
	}
	first, leave := occupy("first")
	second, _ := occupy("second")
	if first != SlowSlots/2 || second != SlowSlots/4 {
		t.Errorf("%d and %d attempts of the busy websites, want 100 and 50", first, second)
	}
	if left, _ := b.enter("quiet", "whk_quiet", LaneSlow, 0); left == nil {
		t.Error("the attempt of the quiet website is refused")
	}
	var waits []time.Duration
	for i := range 3 {
		_, wait := b.enter("third", app.SubscriptionID(fmt.Sprint("whk_", i)), LaneSlow, 0)
		waits = append(waits, wait)
	}
	if want := []time.Duration{0, 0, 0}; !slices.Equal(waits, want) {
		t.Errorf("waits of a third website %v, want none", waits)
	}
	_, wait := b.enter("first", "whk_new", LaneSlow, 0)
	_, next := b.enter("first", "whk_newer", LaneSlow, 0)
	if pace := next - wait; wait < policy.MinWait || pace != 10*time.Second/100 {
		t.Errorf("waits %s and %s, want at least %s and 100ms more", wait, next, policy.MinWait)
	}
	leave()
	if b.total[LaneSlow] != first+second+3 || b.lanes[laneOf{"first", "", LaneSlow}].inFlight != first-1 {
		t.Errorf("%d attempts after one has ended, want %d", b.total[LaneSlow], first+second+3)
	}
}

// A hanging receiver occupies only places of its subscription, and only while it hangs.
func TestDeliverBusy(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	e, url := receiver(t, time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.Path == "/hangs" {
			<-release
		}
	})
	hanging, healthy := outgoing(url+"/hangs"), outgoing(url)
	healthy.SubscriptionID = "whk_2"
	store := &memory{outgoing: hanging}
	d := newDeliveries(e, store)
	d.bulkhead.policy = testPolicy
	d.bulkhead.policy.Fast, d.bulkhead.policy.Slow = 1, 1
	deliver := func(attempt int, lane Lane) DeliverResult {
		got, err := d.Deliver(t.Context(), DeliverInput{Attempt: attempt, Lane: lane})
		if err != nil {
			t.Errorf("Deliver: %v", err)
		}
		return got
	}
	var ended sync.WaitGroup
	begin := func(attempt int, lane Lane) {
		ended.Go(func() {
			if got := deliver(attempt, lane); got.Outcome != OutcomeDelivered {
				t.Errorf("lane %q: %+v, want %s", lane, got, OutcomeDelivered)
			}
		})
	}
	for attempt, lane := range []Lane{LaneSlow, LaneFast} { // each lane has its own places
		begin(attempt, lane)
		<-arrived
	}
	begin(0, LaneSlow) // waits for the running attempt
	if diff := cmp.Diff(DeliverResult{Outcome: OutcomeBusy, Wait: 3 * time.Second}, deliver(4, LaneSlow)); diff != "" {
		t.Errorf("busy in the slow lane (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(DeliverResult{Outcome: OutcomeBusy}, deliver(4, LaneFast)); diff != "" {
		t.Errorf("busy in the fast lane (-want +got):\n%s", diff)
	}
	store.set(healthy)
	if got := deliver(5, LaneSlow); got.Outcome != OutcomeDelivered {
		t.Errorf("another subscription: %+v, want %s", got, OutcomeDelivered)
	}
	store.set(hanging)
	close(release)
	ended.Wait()
	if got := deliver(4, LaneSlow); got.Outcome != OutcomeDelivered || len(d.bulkhead.lanes) != 0 {
		t.Errorf("after the receiver recovered: %+v, lanes %v, want %s and no lanes",
			got, d.bulkhead.lanes, OutcomeDelivered)
	}
}

// A result is quick if the receiver responded with any status in less than app.SlowResponse.
func TestQuick(t *testing.T) {
	t.Parallel()
	for want, recorded := range map[bool][]app.Attempt{
		true: {
			{Status: app.AttemptDelivered, StatusCode: 200, ResponseTimeMs: 999},
			{Status: app.AttemptRetrying, StatusCode: 503},
		},
		false: {
			{Status: app.AttemptDelivered, StatusCode: 200, ResponseTimeMs: 1000},
			{Status: app.AttemptRetrying, ResponseTimeMs: 1}, // no response
		},
	} {
		for _, attempt := range recorded {
			if got := resultOf(attempt, 0).Quick; got != want {
				t.Errorf("%+v: quick %v, want %v", attempt, got, want)
			}
		}
	}
}
