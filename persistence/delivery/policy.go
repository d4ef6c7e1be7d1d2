package delivery

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Policy is the numbers of the queue. Limits of tenants are in package app.
type Policy struct {
	// Claim limits one claim; the relay reduces the batches to what its starters can take.
	Claim app.ClaimLimits

	// ClaimQueues and ClaimSubscriptions are how many queues, and subscriptions of all of them, one claim reads. The next
	// claim begins behind them.
	ClaimQueues, ClaimSubscriptions int

	// VisitQueues is how many queues one claim visits to find so many, if those are passed over whose plan allows no more
	// starts in this window. A visit costs some microseconds.
	VisitQueues int

	// Recent is the age up to which attempts prove that a receiver responds. A receiver that hangs loses its places
	// within that time.
	Recent time.Duration

	// SlowPace is the number of deliveries per second of a slow subscription, beside half as many as it has ended within
	// Recent. A large batch would time out and retry together, which causes latency spikes for other subscriptions.
	SlowPace int

	// EstimatedPlaces is how many queued deliveries an estimate of their start reads. It bounds the cost of a page.
	EstimatedPlaces int

	// CheckEvery is the time between two checks of a delivery that makes no progress.
	CheckEvery time.Duration

	Load   GroupPolicy // of the statement that loads attempts
	Record GroupPolicy // of the statement that records attempts

	// SlowMemory is how long a subscription counts as slow after its last slow response. A
	// receiver that is slow now and then is not switched back and forth between the lanes.
	SlowMemory time.Duration

	// WatchOverdue is how late a watchdog's tick may be. After that time the watchdog counts as
	// lost, and the next failed attempt enqueues another one.
	WatchOverdue time.Duration

	// MailOverdue is how long nobody may have tried to send a mail before its workflow counts as lost. Tries are at most an
	// hour apart.
	MailOverdue time.Duration

	// LostJobs is the largest number of jobs of each kind that one statement enqueues again.
	LostJobs int

	// BacklogSubscriptions is the largest number of subscriptions with waiting deliveries that one
	// reading of the backlog visits. It bounds the cost of the metric.
	BacklogSubscriptions int
}

// GroupPolicy limits a statement that many callers share.
type GroupPolicy struct {
	Size    int           // callers per statement, at most
	Lanes   int           // statements in flight, at most: more take connections from other work
	Pause   time.Duration // between the starts of two statements: in it the next group gathers
	Timeout time.Duration // of one statement
}

// DefaultPolicy returns the numbers of production.
func DefaultPolicy() Policy {
	return Policy{
		Claim: app.ClaimLimits{
			Batch: 64, SlowBatch: 16,
			// The largest list of ids that fits a search attribute, which is limited to 2 KiB, has 32 of them.
			Burst: 32, BurstBatch: 512, BurstAfter: 250 * time.Millisecond,
			// Measured beside a receiver that hangs: eight before that is known, up to 200 while it responds quickly, up
			// to 50 of a failing or slow one.
			Unproven: 8, Quick: 200, Slow: 50,
			Lease: 10 * time.Second, // as long as a start may take
		},
		ClaimQueues: 64, ClaimSubscriptions: 256, VisitQueues: 1_000,
		Recent: 5 * time.Second, SlowPace: 2,
		EstimatedPlaces: 20_000,
		CheckEvery:      time.Minute,
		// A receiver waits for a load, nothing waits for a record: records gather for longer.
		Load:                 GroupPolicy{Size: 128, Lanes: 2, Pause: 15 * time.Millisecond, Timeout: 10 * time.Second},
		Record:               GroupPolicy{Size: 128, Lanes: 2, Pause: 50 * time.Millisecond, Timeout: 10 * time.Second},
		SlowMemory:           time.Minute,
		WatchOverdue:         time.Hour,
		MailOverdue:          2 * time.Hour,
		LostJobs:             1000,
		BacklogSubscriptions: 10_000,
	}
}

// eraseBatch is the number of rows that one transaction of an erasure looks at. PostgreSQL plans the statements for
// that many rows, regardless of the size of the table.
const eraseBatch = 500
