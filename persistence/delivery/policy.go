package delivery

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Policy contains the limits and durations of the queue. Limits of tenants are in package app.
type Policy struct {
	// Claim limits one claim. The relay reduces the batches to the capacity of its starters.
	Claim app.ClaimLimits

	// ClaimQueues and ClaimSubscriptions limit the queues, and the subscriptions of all queues, that
	// one claim reads. The next claim continues behind them.
	ClaimQueues, ClaimSubscriptions int

	// VisitQueues limits the queues that one claim visits, including those whose plan has no starts
	// left in this window. A visit costs some microseconds.
	VisitQueues int

	// Recent is the age up to which an attempt proves that a receiver responds. A hanging receiver
	// loses its additional pending deliveries within this time.
	Recent time.Duration

	// A recent response to a healthy, quick subscription allows PromptGrowth pending deliveries if it took less than
	// Prompt. Any other recent response allows one.
	Prompt       time.Duration
	PromptGrowth int

	// SlowPace is the number of deliveries per second of a slow subscription, in addition to half of
	// the attempts that have ended within Recent. A large batch would time out and retry together,
	// causing latency spikes for other subscriptions.
	SlowPace int

	// EstimatedPlaces limits the queued deliveries that an estimate of their start reads. It bounds
	// the cost of a page.
	EstimatedPlaces int

	// CheckEvery is the time between two checks of a delivery without progress.
	CheckEvery time.Duration

	Load   GroupPolicy // for the statement that loads attempts
	Record GroupPolicy // for the statement that records attempts

	// OrderNotices limits the notifications of changed deliveries of orders: their pause and their timeout.
	OrderNotices GroupPolicy

	// EventNotices limits the notifications of dispatched events: their pause and their timeout.
	EventNotices GroupPolicy

	// A subscription counts as slow for SlowMemory after its last slow response, or until QuickStreak consecutive quick
	// responses. An occasionally slow receiver does not alternate between the lanes. A receiver that was slow for a
	// moment, or seemed slow because this machine was busy, is quick again within seconds.
	SlowMemory  time.Duration
	QuickStreak int

	// WatchOverdue is the maximum delay of a watchdog's tick. After it, the watchdog counts as lost,
	// and the next failed attempt enqueues another one.
	WatchOverdue time.Duration

	// MailOverdue is the time without an attempt to send a mail after which the mail's workflow counts
	// as lost. Attempts are at most an hour apart.
	MailOverdue time.Duration

	// LostJobs limits the jobs of each kind that one statement enqueues again.
	LostJobs int

	// BacklogSubscriptions limits the subscriptions with queued deliveries that a reading of the
	// backlog visits. It bounds the cost of the metric.
	BacklogSubscriptions int
}

// GroupPolicy limits a statement that many callers share, see grouper.
type GroupPolicy struct {
	Size    int           // maximum number of callers per statement
	Lanes   int           // maximum number of concurrent statements; each takes a connection from other work
	Pause   time.Duration // between the starts of two statements, during which the next group gathers
	Timeout time.Duration // for one statement
}

// DefaultPolicy returns the policy of production.
func DefaultPolicy() Policy {
	return Policy{
		Claim: app.ClaimLimits{
			Batch: 64, SlowBatch: 16,
			// A search attribute holds at most 2 KiB, which is 32 ids.
			Burst: 32, BurstBatch: 512, BurstAfter: 250 * time.Millisecond,
			// Measured with a hanging receiver: 8 pending deliveries before the receiver responds, up to 50 if it fails
			// or is slow. Up to 800 while it responds quickly: the share of a tenant with one webhook in all pending
			// deliveries is its share of the throughput. Beside a tenant with a hundred webhooks, it needs about 700.
			Unproven: 8, Quick: 800, Slow: 50,
			Lease: 10 * time.Second, // maximum duration of a workflow start
		},
		ClaimQueues: 64, ClaimSubscriptions: 256, VisitQueues: 1_000,
		Recent: 5 * time.Second, SlowPace: 2,
		// A receiver that handles requests one after another responds to nine times as many within SlowResponse.
		Prompt: app.SlowResponse / 10, PromptGrowth: 8,
		EstimatedPlaces: 20_000,
		CheckEvery:      time.Minute,
		// A load delays its attempt, a record delays nothing. Therefore records gather for longer.
		Load:                 GroupPolicy{Size: 128, Lanes: 2, Pause: 15 * time.Millisecond, Timeout: 10 * time.Second},
		Record:               GroupPolicy{Size: 128, Lanes: 2, Pause: 50 * time.Millisecond, Timeout: 10 * time.Second},
		OrderNotices:         GroupPolicy{Pause: 250 * time.Millisecond, Timeout: 5 * time.Second},
		EventNotices:         GroupPolicy{Pause: 50 * time.Millisecond, Timeout: 5 * time.Second},
		SlowMemory:           time.Minute,
		QuickStreak:          20,
		WatchOverdue:         time.Hour,
		MailOverdue:          2 * time.Hour,
		LostJobs:             1000,
		BacklogSubscriptions: 10_000,
	}
}

// Shares of a plan's window (docs/behaviour.md#plan-rate).
const (
	// Replays take at most 1/replayPart of the starts of a window.
	replayPart = 2

	// While both kinds are queued, one of kindPart starts is for a customer.* event. Without other events, customer.*
	// events leave 1/kindPart of a window to other events that arrive later.
	kindPart = 5
)

// paceInterval is the time for which Policy.SlowPace limits the deliveries of a slow subscription.
const paceInterval = time.Second

// eraseBatch is the number of rows that one transaction of an erasure reads. PostgreSQL plans the
// statements for this number of rows, regardless of the size of the table.
const eraseBatch = 500
