package workflows

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// relayTest runs a relay in a synctest bubble, where time advances only while all goroutines wait.
type relayTest struct {
	*queue
	*Relay

	takes time.Duration    // duration of a start
	fails []app.DeliveryID // deliveries whose start fails
	hangs app.DeliveryID   // delivery whose start blocks until the relay stops; "" = none
	load  func() Workload  // nil = no work
	ahead time.Duration    // of the clock of windows and leases, before that of the process

	lock  sync.Mutex
	units []string // ids per start, in order
	log   bytes.Buffer
}

var testLimits = app.ClaimLimits{Batch: 64, SlowBatch: 16, Quick: 200, Lease: 10 * time.Second}

// run runs the relay until test returns.
func (r *relayTest) run(t *testing.T, test func()) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := zerolog.New(zerolog.SyncWriter(&r.log))
		r.Relay = NewRelay(r.queue, r.start, NewGate(reachable, log), silent, testLimits, r.now, log)
		if r.load != nil {
			r.Follow(r.load)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		test()
		cancel()
		running.Wait()
	})
}

func (r *relayTest) now() time.Time { return time.Now().Add(r.ahead) }

// warmUp lets the relay start deliveries fast, so that it claims a full batch next. Starts then take the given time.
func (r *relayTest) warmUp(takes time.Duration) {
	r.change(func() { r.enqueue(4 * testLimits.Batch) })
	r.Wake()
	time.Sleep(promptStart / 2)
	r.starts()
	r.slowTo(takes)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.units = nil
}

// slowTo sets the duration of starts.
func (r *relayTest) slowTo(takes time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.takes = takes
}

func (r *relayTest) start(ctx context.Context, claims []app.Claim) error {
	r.lock.Lock()
	takes := r.takes
	r.lock.Unlock()
	time.Sleep(takes)
	if claims[0].ID == r.hangs {
		<-ctx.Done()
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.units = append(r.units, ids(claims))
	if slices.Contains(r.fails, claims[0].ID) {
		return errors.New("Temporal is away")
	}
	return nil
}

// starts returns the units started so far.
func (r *relayTest) starts() []string {
	synctest.Wait()
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.units)
}

func ids(claims []app.Claim) string {
	var ids []string
	for _, claim := range claims {
		ids = append(ids, string(claim.ID))
	}
	return strings.Join(ids, "+")
}

// A relay starts every delivery once and marks the generation of its claim.
func TestRelayStartsEachDeliveryOnce(t *testing.T) {
	q := &queue{events: 3 * dispatchLimit, abandoned: []app.Claim{{ID: "abandoned", Generation: 7}}}
	(&relayTest{queue: q}).run(t, func() { time.Sleep(10 * time.Second) })
	started := map[app.DeliveryID]bool{}
	for _, claim := range q.started {
		started[claim.ID] = claim.Generation == 7
	}
	if n := len(q.started); n != 3*dispatchLimit+1 || n != len(started) || len(q.failed) > 0 || !started["abandoned"] {
		t.Errorf("%d marked, %d started, %d released, want %d, all once and none released",
			n, len(started), len(q.failed), 3*dispatchLimit+1)
	}
}

func TestRelayReleasesFailedStarts(t *testing.T) {
	q := &queue{events: 10}
	var began time.Time
	(&relayTest{queue: q, fails: []app.DeliveryID{"3", "7"}}).run(t, func() {
		began = time.Now()
		time.Sleep(markEvery)
	})
	slices.SortFunc(q.failed, func(a, b app.Claim) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if ids(q.failed) != "3+7" || q.failed[0].Generation != 7 || len(q.started) != 8 {
		t.Errorf("released %v, marked %d, want 3 and 7 released and 8 marked", q.failed, len(q.started))
	}
	if after := q.retryAt.Sub(began); after != unclaimDelay {
		t.Errorf("released for %s, want %s", after, unclaimDelay)
	}
}

// Each failing step is logged with its own message and repeated.
func TestRelayWithoutDatabase(t *testing.T) {
	q := &queue{events: 4, abandoned: []app.Claim{{ID: "abandoned"}}}
	q.away = map[string]int{"dispatch": 2, "claim": 2, "take over": 2, "mark": 1, "unclaim": 1}
	r := &relayTest{queue: q.enqueue(3), fails: []app.DeliveryID{"2"}}
	r.run(t, func() {
		time.Sleep(10 * time.Second)
		if started := r.starts(); len(started) != 8 {
			t.Errorf("started %q, want 8", started)
		}
	})
	for _, phrase := range []string{
		"dispatch events", "claim deliveries", "take over", "cannot record starts", "release claims",
	} {
		if !strings.Contains(r.log.String(), phrase) {
			t.Errorf("the log does not contain %q", phrase)
		}
	}
}

// A notification starts a delivery without a pause. Without notifications, a relay polls once a second.
func TestRelayWakes(t *testing.T) {
	r := &relayTest{queue: new(queue)}
	r.run(t, func() {
		time.Sleep(100 * ms)
		r.change(func() { r.events = 1 })
		r.Wake()
		if len(r.starts()) != 1 {
			t.Errorf("%d starts after a notification, want 1", len(r.starts()))
		}
		r.change(func() { r.events = 1 })
		time.Sleep(idlePoll)
		if len(r.starts()) != 2 {
			t.Errorf("%d starts one second later, want 2", len(r.starts()))
		}
	})
}

// A queued delivery starts even if notifications of other events arrive without pause.
func TestRelayClaimsDuringNotifications(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(1)}
	r.run(t, func() {
		for range 100 {
			r.Wake()
			time.Sleep(ms)
		}
		if len(r.starts()) != 1 {
			t.Errorf("%d starts, want the queued delivery", len(r.starts()))
		}
	})
}

// A takeover that takes long, because of many deliveries that are held back, delays no new delivery.
func TestRelayClaimsDuringATakeover(t *testing.T) {
	r := &relayTest{queue: &queue{takeOverTakes: idlePoll}}
	r.run(t, func() {
		for n := range 10 {
			time.Sleep(100 * ms)
			r.change(func() { r.events = 1 })
			r.Wake()
			if started := len(r.starts()); started != n+1 {
				t.Errorf("%d starts during a takeover, want %d", started, n+1)
			}
		}
	})
}

// Deliveries start in the order of their claims: those of a backlog before those of new events.
func TestRelayStartsInOrder(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(500), takes: 5 * ms}
	r.run(t, func() {
		r.change(func() { r.events = 10_000 })
		r.Wake()
		time.Sleep(400 * ms) // enough for 640 starts
		started := r.starts()
		for i, unit := range started {
			if id, _ := strconv.Atoi(unit); id < i+1-healthyStarters.max || id > i+1+healthyStarters.max {
				t.Errorf("delivery %d started as number %d, want about %d", id, i+1, id)
			}
		}
		if len(started) < 600 {
			t.Errorf("%d starts, want at least 600", len(started))
		}
		r.change(func() { r.events, r.queued = 0, nil })
	})
}

// Hanging starts of failing and slow subscriptions do not delay others.
func TestRelaySeparatesSlowStarts(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(200), hangs: "slow"}
	for range 100 {
		r.slow = append(r.slow, app.Claim{ID: "slow", Healthy: true})
	}
	r.run(t, func() {
		time.Sleep(time.Second)
		if started := r.starts(); len(started) != 200 {
			t.Errorf("%d starts, want 200", len(started))
		}
		r.change(func() {
			if n := len(r.slow); n != 100-testLimits.SlowBatch-otherStarters.min {
				t.Errorf("%d slow deliveries are unclaimed, want %d", n, 100-testLimits.SlowBatch-otherStarters.min)
			}
			r.slow = nil
		})
	})
}

// While the starters are busy, queued deliveries are claimed in a few large batches.
func TestRelayClaimsInLargeBatches(t *testing.T) {
	r := &relayTest{queue: new(queue)}
	r.run(t, func() {
		r.warmUp(5 * ms)
		r.change(func() { r.enqueue(1000).searches = nil })
		r.Wake()
		for len(r.starts()) < 1000 {
			time.Sleep(5 * ms)
		}
	})
	small := 0
	for _, limits := range r.searches {
		if limits.Batch < testLimits.Batch/2 {
			small++
		}
	}
	if n := len(r.searches); small > 0 || n > 1000/(testLimits.Batch/2)+6 {
		t.Errorf("%d searches, %d for less than half a batch, want at most %d and none",
			n, small, 1000/(testLimits.Batch/2)+6)
	}
}

// While starts take long, deliveries wait in the queue, not for a starter. When starts are fast again, so are claims.
func TestRelayClaimsWhatStartsPromptly(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(500), takes: 3 * time.Second}
	r.run(t, func() {
		time.Sleep(10 * time.Second)
		started := len(r.starts())
		r.change(func() {
			if claimed := 500 - len(r.queued); claimed > started+testLimits.Batch/4 {
				t.Errorf("%d deliveries are claimed and %d started, want at most %d more claims",
					claimed, started, testLimits.Batch/4)
			}
		})
		r.slowTo(5 * ms)
		time.Sleep(5 * time.Second)
		if started := len(r.starts()); started != 500 {
			t.Errorf("%d starts, want 500", started)
		}
	})
}

// The deliveries of a burst start as one unit.
func TestRelayStartsBursts(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(3)}
	r.queued[0].BurstID, r.queued[1].BurstID = "bst_1", "bst_1"
	r.run(t, func() {
		time.Sleep(time.Second)
		started := r.starts()
		slices.Sort(started)
		if got := strings.Join(started, " "); got != "1+2 3" {
			t.Errorf("started %s, want 1+2 3", got)
		}
	})
	if n := len(r.started); n != 3 {
		t.Errorf("%d marked, want 3", n)
	}
}

// Over a network, more starts run concurrently, so that latency does not limit a relay.
func TestRelayAdaptsToLatency(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(20_000), takes: 35 * ms}
	r.run(t, func() {
		time.Sleep(10 * time.Second)
		if n := len(r.starts()); n < 10_000 { // eight starters reach 2,280
			t.Errorf("%d starts, want at least 10,000", n)
		}
		r.change(func() { r.queued = nil })
	})
}

// A claim that has waited for a starter until its lease expired is left to the next search for abandoned claims.
func TestRelayDropsExpiredClaims(t *testing.T) {
	r := &relayTest{queue: new(queue)}
	r.run(t, func() {
		r.warmUp(3 * time.Second)
		r.change(func() { r.enqueue(testLimits.Batch) })
		r.Wake()
		time.Sleep(testLimits.Lease + r.takes)
		before := len(r.starts())
		time.Sleep(time.Minute)
		if after := len(r.starts()); before < 4*healthyStarters.min || after != before {
			t.Errorf("%d starts within the lease, %d after it, want at least %d and none",
				before, after-before, 4*healthyStarters.min)
		}
		r.change(func() { r.events = 1 })
		r.Wake()
		time.Sleep(r.takes)
		if after := len(r.starts()); after != before+1 {
			t.Errorf("%d starts of a new event, want 1", after-before)
		}
	})
}

// Claims that wait for a starter at the end of the window that counts them are queued again, a burst as a whole. Other
// claims start. The clock of the process has no effect.
func TestRelayStartsClaimsInTheirWindow(t *testing.T) {
	const limited, unlimited = 50, 10
	r := &relayTest{queue: new(queue), ahead: time.Hour}
	r.run(t, func() {
		r.warmUp(time.Second)
		end := r.now().Add(3 * time.Second)
		r.change(func() {
			r.enqueue(limited + unlimited)
			for i := range limited {
				r.queued[i].StartBefore = &end
			}
			r.queued[limited-2].BurstID, r.queued[limited-1].BurstID = "bst_1", "bst_1"
		})
		r.Wake()
		time.Sleep(end.Sub(r.now()) + r.takes/2)
		inWindow := len(r.starts())
		time.Sleep(testLimits.Lease)
		started := len(r.starts())
		r.change(func() {
			again := len(r.requeued)
			if inWindow < 2*healthyStarters.min || started-inWindow != unlimited || again != limited-inWindow {
				t.Errorf("%d starts in the window, %d after it, %d queued again, want %d limited ones and %d of others",
					inWindow, started-inWindow, again, limited, unlimited)
			}
			if got := ids(r.requeued); !strings.HasSuffix(got, "+305+306") {
				t.Errorf("queued again: %s, want both deliveries of the burst", got)
			}
		})
	})
}

// A start that takes longer than the plan window that counts its claim fails, and the claim is released.
func TestRelayEndsStartsWithTheirWindow(t *testing.T) {
	r := &relayTest{queue: new(queue).enqueue(2), hangs: "1", fails: []app.DeliveryID{"1"}, ahead: time.Hour}
	r.run(t, func() {
		before, end := r.now().Add(2*time.Second), r.now().Add(3*time.Second)
		r.change(func() { r.queued[0].StartBefore, r.queued[0].WindowEnd = &before, &end })
		time.Sleep(end.Sub(r.now()) + markEvery)
		r.change(func() {
			if ids(r.started) != "2" || ids(r.failed) != "1" {
				t.Errorf("started %s, released %s, want 2 and 1", ids(r.started), ids(r.failed))
			}
		})
	})
}

// A relay takes over the claims of a busy relay as fast as it can start them, and claims new deliveries meanwhile.
func TestRelayTakesOverManyClaims(t *testing.T) {
	const abandoned = 1500
	r := &relayTest{queue: new(queue), takes: 5 * ms}
	r.abandoned = slices.Clone(r.enqueue(abandoned).queued)
	r.queued = nil
	r.run(t, func() {
		time.Sleep(100 * ms)
		r.change(func() { r.events = 1 })
		r.Wake()
		time.Sleep(400 * ms)
		if started := r.starts(); len(started) < 500 || !slices.Contains(started, strconv.Itoa(abandoned+1)) {
			t.Errorf("%d starts in half a second, want at least 500, and the new delivery", len(started))
		}
		time.Sleep(4 * time.Second)
		if started := r.starts(); len(started) != abandoned+1 {
			t.Errorf("%d starts, want %d", len(started), abandoned+1)
		}
	})
}

// New claims of a busy relay leave no room, but the claims of relays that died wait for at most idlePoll for each
// other.
func TestRelayTakesOverWithoutRoom(t *testing.T) {
	r := &relayTest{queue: new(queue)}
	r.run(t, func() {
		r.warmUp(time.Second)
		r.change(func() {
			r.enqueue(10_000)
			for _, id := range []app.DeliveryID{"lost 1", "lost 2"} {
				r.abandoned = append(r.abandoned, app.Claim{ID: id, Healthy: true, Quick: true})
			}
		})
		r.Wake()
		time.Sleep(2*idlePoll + testLimits.Lease)
		started := r.starts()
		if !slices.Contains(started, "lost 1") || !slices.Contains(started, "lost 2") {
			t.Errorf("%d starts, want those that were taken over among them", len(started))
		}
		r.change(func() { r.queued = nil })
	})
}

// A relay that stops starts its remaining claims.
func TestRelayFinishesItsClaims(t *testing.T) {
	r := &relayTest{queue: new(queue)}
	r.run(t, func() {
		r.warmUp(100 * ms)
		r.change(func() { r.enqueue(testLimits.Batch) })
		r.Wake()
		time.Sleep(50 * ms)
	})
	if n := len(r.units); n != testLimits.Batch {
		t.Errorf("%d starts, want %d", n, testLimits.Batch)
	}
}
