package workflows

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// The limits of a claim never exceed the room of the process. Subscriptions that fail or are slow have their own room.
func TestRoomLimits(t *testing.T) {
	t.Parallel()
	limits := app.ClaimLimits{Batch: 64, SlowBatch: 16, Burst: 32, BurstBatch: 512}
	full := []string{"web_1"}
	for name, test := range map[string]struct {
		room              room
		batch, burstBatch int
		half              bool // on one processor
	}{
		"idle":                   {room{attempts: attemptsPerProcessor, bursts: burstSlots}, 64, 256, true},
		"half of the attempts":   {room{attempts: attemptsPerProcessor / 2, bursts: burstSlots}, 64, 128, true},
		"most of the attempts":   {room{attempts: 20, bursts: burstSlots}, 20, 20, false},
		"a quarter of bursts":    {room{attempts: attemptsPerProcessor, bursts: burstSlots / 4}, 64, 96, true},
		"fewer bursts":           {room{attempts: attemptsPerProcessor, bursts: 2}, 64, 32, false},
		"one burst":              {room{attempts: attemptsPerProcessor, bursts: 1}, 32, 32, false},
		"no room":                {room{}, 0, 0, false},
		"attempts, but no burst": {room{attempts: attemptsPerProcessor, bursts: 0}, 0, 0, false},
		"bursts, but no attempt": {room{attempts: 0, bursts: burstSlots}, 0, 0, false},
		"a full website":         {room{attempts: attemptsPerProcessor, bursts: burstSlots, full: full}, 64, 256, true},
		"a late website":         {room{attempts: attemptsPerProcessor, bursts: burstSlots, late: full}, 64, 256, true},
	} {
		got, want := test.room.limit(limits), limits
		want.Batch, want.BurstBatch, want.Full = test.batch, test.burstBatch, test.room.full
		want.Late = test.room.late
		if diff := cmp.Diff(want, got); diff != "" || test.room.half(1) != test.half {
			t.Errorf("%s: half %v, want %v; limits (-want +got):\n%s", name, test.room.half(1), test.half, diff)
		}
	}
}

// neighbours is a RelayStore with busy websites, which have any number of deliveries, and another website.
type neighbours struct {
	*queue

	busy  []string
	taken int // deliveries of busy websites that were claimed
	other []app.Claim
}

func (n *neighbours) Claim(_ context.Context, _ time.Time, l app.ClaimLimits) (app.Claimed, error) {
	n.Lock()
	defer n.Unlock()
	claims := take(&n.other, l.Batch)
	for _, website := range n.busy {
		bursts := max(l.BurstBatch/len(n.busy)/l.Burst, min(1, l.BurstBatch))
		for i := 0; i < bursts*l.Burst && !slices.Contains(l.Full, website); i++ {
			claim := n.claim()
			claim.Queue, claim.BurstID = website, app.BurstID(fmt.Sprint(n.taken/l.Burst))
			claims = append(claims, claim)
			n.taken++
		}
	}
	return app.Claimed{Claims: claims, More: true, Waited: time.Second}, nil
}

// slowBursts counts bursts that take a second.
type slowBursts struct {
	sync.Mutex
	busy   map[string]int // bursts in progress of each busy website
	most   int            // bursts of them in progress
	ended  int            // bursts that have ended
	beside []int          // number of ended bursts at each start of the other website
}

func (b *slowBursts) start(_ context.Context, claims []app.Claim) error {
	b.Lock()
	defer b.Unlock()
	website := claims[0].Queue
	if website == "other" {
		b.beside = append(b.beside, b.ended)
		return nil
	}
	b.busy[website]++
	b.most = max(b.most, b.inProgress())
	time.AfterFunc(time.Second, func() {
		b.Lock()
		defer b.Unlock()
		b.busy[website]--
		b.ended++
	})
	return nil
}

func (b *slowBursts) inProgress() (n int) {
	for _, bursts := range b.busy {
		n += bursts
	}
	return n
}

func (b *slowBursts) workload() Workload {
	b.Lock()
	defer b.Unlock()
	return Workload{Bursts: b.inProgress(), Websites: maps.Clone(b.busy)}
}

// Websites whose receivers take almost a second occupy a part of the bursts of a worker. The first attempt of another
// website waits for none of them, and a busy website starts the next burst as soon as one has ended.
func TestWebsitesLeaveBurstsToOthers(t *testing.T) {
	t.Parallel()
	for _, busy := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d"}} {
		t.Run(fmt.Sprint(len(busy), " busy"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { leavesBurstsToOthers(t, busy) })
		})
	}
}

func leavesBurstsToOthers(t *testing.T, busy []string) {
	store, bursts := &neighbours{queue: new(queue), busy: busy}, &slowBursts{busy: map[string]int{}}
	limits := testLimits
	limits.Burst, limits.BurstBatch = 32, 512
	log := zerolog.Nop()
	relay := NewRelay(store, bursts.start, NewGate(reachable, log), silent, limits, time.Now, log)
	relay.Follow(bursts.workload)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { relay.Run(ctx) })
	time.Sleep(time.Second / 2)
	store.change(func() { store.other = []app.Claim{{ID: "other", Queue: "other", Healthy: true, Quick: true}} })
	relay.Wake()
	time.Sleep(busyPoll + 2*workPoll)
	bursts.Lock()
	if !slices.Equal(bursts.beside, []int{0}) {
		t.Errorf("the other website started after %v ended bursts, want one start after 0", bursts.beside)
	}
	bursts.Unlock()
	time.Sleep(10 * time.Second)
	bursts.Lock()
	slots := burstSlots * runtime.GOMAXPROCS(0)
	if bursts.most < slots/2 || bursts.most >= slots || bursts.ended < 9*slots/2 {
		t.Errorf("up to %d concurrent bursts of %d, %d ended, want a half or more, but not all, without pauses",
			bursts.most, slots, bursts.ended)
	}
	bursts.Unlock()
	cancel()
	running.Wait()
}

// While a neighbour's attempts keep the process busy, deliveries stay in their queues, where websites take turns. When
// there is room again, the relay claims without a notification.
func TestRelayFollowsWorkload(t *testing.T) {
	var attempts atomic.Int64
	attempts.Store(1_000_000)
	r := &relayTest{queue: new(queue), load: func() Workload { return Workload{Attempts: int(attempts.Load())} }}
	r.run(t, func() {
		r.change(func() { r.enqueue(10) })
		r.Wake()
		time.Sleep(10*time.Second + idlePoll/2)
		if started := r.starts(); len(started) > 0 {
			t.Errorf("%d starts of a busy process, want none", len(started))
		}
		attempts.Store(0)
		time.Sleep(workPoll)
		if started := r.starts(); len(started) != 10 {
			t.Errorf("%d starts with room, want 10", len(started))
		}
	})
}

// While workflows of a website wait for a worker, its deliveries that would wait behind them stay in their queue,
// and those of others do not. The relay does not search more often than otherwise. When the website has caught up,
// the relay claims them.
func TestRelayHoldsBackLateWebsites(t *testing.T) {
	var caughtUp atomic.Bool
	load := func() Workload {
		if caughtUp.Load() {
			return Workload{}
		}
		return Workload{Late: []string{"late"}}
	}
	r := &relayTest{queue: new(queue), load: load}
	r.run(t, func() {
		r.change(func() { r.slow = []app.Claim{{ID: "other", Queue: "other"}, {ID: "held", Queue: "late"}} })
		r.Wake()
		time.Sleep(10*time.Second + idlePoll/2)
		if started := r.starts(); !slices.Equal(started, []string{"other"}) {
			t.Errorf("started %v, want only that of the other website", started)
		}
		r.change(func() {
			if n := len(r.searches); n > 30 {
				t.Errorf("%d searches in 10 s, want at most 30", n)
			}
		})
		caughtUp.Store(true)
		time.Sleep(busyPoll)
		if started := r.starts(); !slices.Equal(started, []string{"other", "held"}) {
			t.Errorf("started %v, want both", started)
		}
	})
}
