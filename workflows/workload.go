package workflows

import (
	"runtime"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Workload is the work of a worker process that relays have started.
type Workload struct {
	Attempts int // attempts that are loaded, started or recorded; those that wait for receivers use no processor
	Bursts   int // bursts in progress
	// Websites is the number of bursts in progress that wait for deliveries of each website.
	Websites map[string]int
	// Late lists the websites whose deliveries wait in Temporal until a worker begins them.
	Late []string
}

// Limits of a relay's claims. Work beyond them would wait in the process or in Temporal, where plans have counted it,
// instead of in the queue.
const (
	attemptsPerProcessor = 256
	// workPoll is the time between two looks at a workload that allows no claim.
	workPoll = 5 * time.Millisecond
)

// room is the work that a process can take in addition to its workload.
type room struct {
	attempts, bursts int
	// full lists the websites that must wait until their bursts end. A website may start bursts while more are free
	// than it has in progress: one website gets half of them, two get a third each, and some are always free for
	// others. A receiver that responds in just under a second, and thus counts as quick, would otherwise occupy all.
	full []string
	// late lists the websites whose replays, and deliveries to failing and slow subscriptions, stay in the queue. Others
	// of them already wait in Temporal.
	late []string
}

// half reports whether a large batch can be added to the workload.
func (r room) half(processors int) bool {
	return 2*r.attempts >= attemptsPerProcessor*processors && 4*r.bursts >= burstSlots*processors
}

// limit reduces the limits of a claim to the room.
func (r room) limit(limits app.ClaimLimits) app.ClaimLimits {
	limits.Batch, limits.Late = min(limits.Batch, r.attempts), r.late
	if limits.Burst > 1 {
		limits.Batch = min(limits.Batch, limits.Burst*r.bursts)
		limits.Full = r.full
	}
	// One claim takes at most half of the free bursts, so that a website exceeds its share only by a part of them.
	limits.BurstBatch = min(limits.BurstBatch, limits.Burst*min(limits.Batch, (r.bursts+1)/2), r.attempts)
	return limits
}

// room returns the room of this process, in which claims wait for a starter.
func (r *relayRun) room() room {
	// A burst that starts between the two readings counts twice. In the other order it would not count at all.
	units, claims, websites := r.healthy.unstarted()
	processors, work := runtime.GOMAXPROCS(0), r.workload()
	free := room{
		attempts: max(0, attemptsPerProcessor*processors-work.Attempts-claims),
		bursts:   max(0, burstSlots*processors-work.Bursts-units),
		late:     work.Late,
	}
	for website, n := range work.Websites {
		websites[website] += n
	}
	for website, n := range websites {
		if n >= free.bursts {
			free.full = append(free.full, website)
		}
	}
	return free
}

// anyNotIn reports whether a website of the list is not in the other list.
func anyNotIn(list, other []string) bool {
	return slices.ContainsFunc(list, func(website string) bool { return !slices.Contains(other, website) })
}
