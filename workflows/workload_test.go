package workflows

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// The limits of a claim never exceed the room of the process. Subscriptions that fail or are slow have their own room.
func TestRoomLimits(t *testing.T) {
	t.Parallel()
	limits := app.ClaimLimits{Batch: 64, SlowBatch: 16, Burst: 32, BurstBatch: 512}
	for name, test := range map[string]struct {
		room              room
		batch, burstBatch int
		half              bool // on one processor
	}{
		"idle":                   {room{attemptsPerProcessor, burstSlots}, 64, 256, true},
		"half of the attempts":   {room{attemptsPerProcessor / 2, burstSlots}, 64, 128, true},
		"most of the attempts":   {room{20, burstSlots}, 20, 20, false},
		"a quarter of bursts":    {room{attemptsPerProcessor, burstSlots / 4}, 64, 192, true},
		"fewer bursts":           {room{attemptsPerProcessor, 2}, 64, 64, false},
		"no room":                {room{}, 0, 0, false},
		"attempts, but no burst": {room{attemptsPerProcessor, 0}, 0, 0, false},
		"bursts, but no attempt": {room{0, burstSlots}, 0, 0, false},
	} {
		got, want := test.room.limit(limits), limits
		want.Batch, want.BurstBatch = test.batch, test.burstBatch
		if got != want || test.room.half(1) != test.half {
			t.Errorf("%s: limits %+v, half %v, want %+v, %v", name, got, test.room.half(1), want, test.half)
		}
	}
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
