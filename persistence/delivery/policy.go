package delivery

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Policy contains the limits and durations of the queue. Limits of tenants are in package app.
type Policy struct {
	// Claim limits one claim. The relay reduces the batches to the capacity of its starters.
	Claim app.ClaimLimits

	// ClaimQueues and ClaimSubscriptions are the maximum numbers of queues and of subscriptions that one
	// claim reads. The next claim continues after them.
	ClaimQueues, ClaimSubscriptions int

	// VisitQueues is the maximum number of queues that one claim visits. It includes those whose plan has
	// no starts left in this window, which are not read. A visit costs some microseconds.
	VisitQueues int

	// DispatchQueues and DispatchStores are the maximum numbers of queues and of stores that one dispatch
	// reads. The next dispatch continues after them.
	DispatchQueues, DispatchStores int

	// Recent is the maximum age of an attempt that proves that a receiver responds. A receiver that stops
	// responding loses its additional pending deliveries within this time.
	Recent time.Duration

	// A recent response to a healthy, quick subscription allows PromptGrowth pending deliveries if it took less than
	// Prompt. Any other recent response allows one.
	Prompt       time.Duration
	PromptGrowth int

	// SlowPace is the number of deliveries per second of a slow subscription, in addition to half of
	// the attempts that have ended within Recent. A large batch would time out and retry together,
	// causing latency spikes for other subscriptions.
	SlowPace int

	// EstimatedPlaces is the maximum number of queued deliveries that an estimate of start times reads.
	// It bounds the cost of a page.
	EstimatedPlaces int

	// CheckEvery is the time between two checks of a delivery without progress.
	CheckEvery time.Duration

	// SmallBody is the maximum size of a body that is loaded with its attempt. Larger ones are loaded apart, within the
	// budget of the worker, so that they do not delay the attempts of others.
	SmallBody int

	Load   GroupPolicy // for the statement that loads attempts
	Bodies GroupPolicy // for the statement that loads large bodies
	Record GroupPolicy // for the statement that records attempts

	// OrderNotices limits the notifications of changed deliveries of orders: their pause and their timeout.
	OrderNotices GroupPolicy

	// EventNotices limits the notifications of dispatched events: their pause and their timeout.
	EventNotices GroupPolicy

	// RepairTurns is the time between two searches for lost turns. TurnQueues and TurnResources are the maximum numbers
	// of queues and of resources that one search reads. The next search continues after them.
	RepairTurns               time.Duration
	TurnQueues, TurnResources int

	// TurnNotices limits the notifications of turns that are passed on: their pause and their timeout.
	TurnNotices GroupPolicy

	// A subscription counts as slow for SlowMemory after its last slow response, and then as quick, even without
	// another response. A receiver can be slow for a moment, or seem slow because this machine is busy. The slow lane
	// costs more, so that a long stay there would keep the machine busy. Each quick response shortens the time by
	// QuickRelief: a receiver with many requests, of which few are slow, stays quick.
	SlowMemory, QuickRelief time.Duration

	// WatchOverdue is the maximum delay of a watchdog's tick. After it, the watchdog counts as lost,
	// and the next failed attempt enqueues another one.
	WatchOverdue time.Duration

	// MailOverdue is the time without an attempt to send a mail after which the mail's workflow counts
	// as lost. Attempts are at most an hour apart.
	MailOverdue time.Duration

	// LostBatch is the number of rows that one statement reads to find lost jobs of a kind. LostBatches is the maximum
	// number of these statements per kind once a minute.
	LostBatch, LostBatches int

	// BacklogSubscriptions is the maximum number of subscriptions with queued deliveries that one
	// measurement of the backlog reads. It bounds the cost of the metric.
	BacklogSubscriptions int
}

// GroupPolicy limits a statement that many callers share, see grouper.
type GroupPolicy struct {
	Size    int           // maximum number of callers per statement
	Lanes   int           // maximum number of concurrent statements; each takes a connection from other work
	Pause   time.Duration // after the start of a statement, during which the next group gathers until it is full
	Timeout time.Duration // for one statement
}

// DefaultPolicy returns the policy of production.
func DefaultPolicy() Policy {
	return Policy{
		Claim: app.ClaimLimits{
			Batch: 64, SlowBatch: 16,
			Burst: 32, BurstBatch: 512, BurstAfter: 30 * time.Millisecond,
			// Set by load tests: 8 pending deliveries before a receiver has responded, 50 if it fails or is slow, and
			// 800 while it responds quickly. The throughput of a tenant is proportional to its pending deliveries: with
			// one webhook, it needs about 700 beside a tenant with a hundred webhooks.
			Unproven: 8, Quick: 800, Slow: 50,
			Lease: 10 * time.Second, // maximum duration of a workflow start
		},
		ClaimQueues: 64, ClaimSubscriptions: 256, VisitQueues: 1_000,
		DispatchQueues: 64, DispatchStores: 256,
		Recent: 5 * time.Second, SlowPace: 2,
		// Each prompt round triples the pending deliveries. A sequential receiver still responds within SlowResponse.
		// This also bounds the pending deliveries of a receiver that begins to hang.
		Prompt: app.SlowResponse / 10, PromptGrowth: 2,
		EstimatedPlaces: 20_000,
		CheckEvery:      time.Minute,
		// Loading delays an attempt, recording does not. Therefore recording has the longer pause.
		Load:         GroupPolicy{Size: 128, Lanes: 2, Pause: 15 * time.Millisecond, Timeout: 10 * time.Second},
		SmallBody:    16 << 10,
		Bodies:       GroupPolicy{Size: 8, Lanes: 1, Timeout: 10 * time.Second},
		Record:       GroupPolicy{Size: 128, Lanes: 2, Pause: 50 * time.Millisecond, Timeout: 10 * time.Second},
		OrderNotices: GroupPolicy{Pause: 250 * time.Millisecond, Timeout: 5 * time.Second},
		EventNotices: GroupPolicy{Pause: 50 * time.Millisecond, Timeout: 5 * time.Second},
		RepairTurns:  2 * time.Second, TurnQueues: 64, TurnResources: 4_096,
		TurnNotices:          GroupPolicy{Pause: 5 * time.Millisecond, Timeout: 5 * time.Second},
		SlowMemory:           10 * time.Second,
		QuickRelief:          500 * time.Millisecond,
		WatchOverdue:         time.Hour,
		MailOverdue:          2 * time.Hour,
		LostBatch:            1000,
		LostBatches:          10,
		BacklogSubscriptions: 10_000,
	}
}

// paceInterval is the time for which Policy.SlowPace limits the deliveries of a slow subscription.
const paceInterval = time.Second

// eraseBatch is the number of rows that one transaction of an erasure reads. PostgreSQL plans the
// statements for this number of rows, regardless of the size of the table.
const eraseBatch = 500

// eraseAttempts bounds the attempts whose headers and bodies one transaction erases. It erases those of whole events
// until their sum reaches the bound, which the last event may exceed.
const eraseAttempts = 5000
