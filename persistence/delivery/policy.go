package delivery

import (
	"time"
)

// Policy is the numbers of the queue. The limits of one claim are in [app.ClaimLimits], those of
// tenants in package app.
type Policy struct {
	Load   GroupPolicy // of the statement that loads attempts
	Record GroupPolicy // of the statement that records attempts

	// SlowMemory is how long a subscription counts as slow after its last slow response. A
	// receiver that is slow now and then is not switched back and forth between the lanes.
	SlowMemory time.Duration

	// WatchOverdue is how late a watchdog's tick may be. After that time the watchdog counts as
	// lost, and the next failed attempt enqueues another one.
	WatchOverdue time.Duration

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
		// A receiver waits for a load, nothing waits for a record: records gather for longer.
		Load:                 GroupPolicy{Size: 128, Lanes: 2, Pause: 15 * time.Millisecond, Timeout: 10 * time.Second},
		Record:               GroupPolicy{Size: 128, Lanes: 2, Pause: 50 * time.Millisecond, Timeout: 10 * time.Second},
		SlowMemory:           time.Minute,
		WatchOverdue:         time.Hour,
		BacklogSubscriptions: 10_000,
	}
}

// Numbers that are part of the text of statements.
const (
	// recentTime is the age up to which attempts prove that a receiver responds. A receiver
	// that hangs loses its places within that time.
	recentTime = "interval '5 s'"

	// A slow subscription gets paceStarts deliveries per paceTime, and half as many as it has
	// ended within recentTime. A large batch would time out and retry together, which causes
	// latency spikes for other subscriptions.
	paceStarts = "2"
	paceTime   = "interval '1 s'"

	// claimAhead is the number of deliveries that a claim reads of each subscription beyond
	// twice its even share of the batch: other subscriptions may have fewer.
	claimAhead = "8"

	// eraseBatch is the number of rows that one transaction of an erasure looks at. PostgreSQL
	// plans the statements for that many rows, regardless of the size of the table.
	eraseBatch = 500
)
