package workflows

import (
	"runtime"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Workload is the work of a worker process that relays have started.
type Workload struct {
	Attempts int // attempts that are loaded, started or recorded; those that wait for receivers use no processor
	Bursts   int // bursts in progress
}

// Limits of a relay's claims. Work beyond them would wait in the process or in Temporal, where websites take no turns,
// instead of in the queue.
const (
	attemptsPerProcessor = 256
	// workPoll is the time between two looks at a workload that allows no claim.
	workPoll = 5 * time.Millisecond
)

// room is the work that a process can take in addition to its workload.
type room struct{ attempts, bursts int }

// half reports whether a large batch can be added to the workload.
func (r room) half(processors int) bool {
	return 2*r.attempts >= attemptsPerProcessor*processors && 4*r.bursts >= burstSlots*processors
}

// limit reduces the limits of a claim for healthy, quick subscriptions to the room.
func (r room) limit(limits app.ClaimLimits) app.ClaimLimits {
	limits.Batch = min(limits.Batch, r.attempts)
	if limits.Burst > 1 {
		limits.Batch = min(limits.Batch, limits.Burst*r.bursts)
	}
	limits.BurstBatch = min(limits.BurstBatch, limits.Burst*min(limits.Batch, r.bursts), r.attempts)
	return limits
}

// room returns the room of this process, in which claims wait for a starter.
func (r *relayRun) room() room {
	processors, work := runtime.GOMAXPROCS(0), r.workload()
	units, claims := r.healthy.waiting()
	return room{
		attempts: max(0, attemptsPerProcessor*processors-work.Attempts-claims),
		bursts:   max(0, burstSlots*processors-work.Bursts-units),
	}
}
