package app

import "slices"

// JobReplay is the kind of a job that runs a bulk replay. Its subject is the id of the bulk replay.
const JobReplay JobKind = "replay"

// ReplayStatus is the status of a bulk replay.
type ReplayStatus string

const (
	ReplayDryRun    ReplayStatus = "dry_run"   // only counts the matching deliveries
	ReplayRunning   ReplayStatus = "running"   // queues further deliveries as earlier ones start
	ReplayCompleted ReplayStatus = "completed" // has queued all matching deliveries
	ReplayCancelled ReplayStatus = "cancelled" // on request, or because the webhook was deleted
)

// ReplayStatuses lists all replay statuses.
var ReplayStatuses = [...]ReplayStatus{ReplayDryRun, ReplayRunning, ReplayCompleted, ReplayCancelled}

// ReplayedStatus is the status of the deliveries that a bulk replay selects.
type ReplayedStatus string

const (
	ReplayedDeadLetters ReplayedStatus = "dead_letter"
	ReplayedDelivered   ReplayedStatus = "delivered"
	ReplayedCancelled   ReplayedStatus = "cancelled"
	ReplayedMissed      ReplayedStatus = "missed" // matching events without a delivery to the webhook
)

// ReplayedStatuses lists all statuses that a bulk replay can select.
var ReplayedStatuses = [...]ReplayedStatus{ReplayedDeadLetters, ReplayedDelivered, ReplayedCancelled, ReplayedMissed}

// BulkReplay replays the deliveries that had ended and matched its filter when it was requested
// (docs/behaviour.md#dead-letters-and-replays).
type BulkReplay struct {
	ID             ReplayID       `json:"id,omitempty"`        // absent for a dry run
	SubscriptionID SubscriptionID `json:"webhookId,omitempty"` // absent = all webhooks of the store
	EventType      EventType      `json:"eventType,omitempty"` // absent = all event types
	DeliveryStatus ReplayedStatus `json:"deliveryStatus"`
	DeliveryReason string         `json:"deliveryReason,omitempty"` // reason of the deliveries; absent = any reason
	From           Time           `json:"from"`                     // time of the deliveries or events, inclusive
	To             Time           `json:"to"`                       // time of the deliveries or events, exclusive
	Status         ReplayStatus   `json:"status"`
	Reason         string         `json:"reason,omitempty"`  // why the bulk replay was cancelled
	Matched        *int64         `json:"matched,omitempty"` // matching deliveries; absent until they are counted
	Replayed       int64          `json:"replayed"`          // deliveries replayed so far
	Skipped        int64          `json:"skipped"`           // deliveries that were erased or no longer match
	InProgress     int64          `json:"inProgress"`        // replayed deliveries whose first attempt is still due
	CreatedAt      Time           `json:"createdAt"`
	EndedAt        *Time          `json:"endedAt,omitempty"`
	// the replayed deliveries by status; only in the response for a single bulk replay
	Outcomes *ReplayOutcomes `json:"outcomes,omitempty"`
}

// ReplayOutcomes counts the deliveries of a bulk replay after their first attempt. A delivery that a later bulk replay
// has replayed counts in the later one only.
type ReplayOutcomes struct {
	Delivered   int64 `json:"delivered"`
	Retrying    int64 `json:"retrying"`    // the first attempt failed, and a retry is scheduled
	DeadLetters int64 `json:"deadLetters"` // dead letters again, for example because the webhook is switched off
	Cancelled   int64 `json:"cancelled"`   // the webhook was deleted, or an operator cancelled the delivery
}

// NewBulkReplay is the input for a bulk replay. An empty SubscriptionID, EventType or DeliveryReason matches all
// deliveries.
type NewBulkReplay struct {
	SubscriptionID SubscriptionID
	EventType      EventType
	DeliveryStatus ReplayedStatus // ReplayedMissed requires a SubscriptionID
	DeliveryReason string         // equals Delivery.Reason; not with ReplayedMissed
	From, To       Time           // From is before To
	DryRun         bool
}

// ReplayableStatuses lists the statuses of deliveries that have ended.
var ReplayableStatuses = []DeliveryStatus{DeliveryDeadLetter, DeliveryDelivered, DeliveryCancelled}

// CanBeReplayed reports whether a delivery with this status has ended, so that it can be replayed.
func (s DeliveryStatus) CanBeReplayed() bool { return slices.Contains(ReplayableStatuses, s) }

// ReasonReplayCancelled is the reason of a bulk replay that was cancelled through the API.
const ReasonReplayCancelled = "cancelled on request"

// MaxRunningReplays is the maximum number of running bulk replays of a store.
const MaxRunningReplays = 20

// ReplayLimits bounds a bulk replay and its steps. A step is one transaction.
type ReplayLimits struct {
	// Waiting is the number of deliveries that wait for their first attempt, except held-back ones, from which no more
	// are queued. The turns that ended deliveries pass on come on top.
	Waiting int
	// Unfinished is the maximum number of deliveries that are queued, held back, pending or retrying.
	Unfinished int
	// List is the maximum number of deliveries, or events, that a step reads into the list of the bulk replay, or
	// removes from the list of one that has ended.
	List int
	// Step is the maximum number of deliveries of the list that a step queues.
	Step int
}

// DefaultReplayLimits returns the limits of production.
func DefaultReplayLimits() ReplayLimits {
	return ReplayLimits{
		// A cancelled bulk replay still makes the deliveries that are queued. The queue of replays of a webhook stays
		// short, so that single replays and other bulk replays have their turn soon.
		Waiting: 200,
		// A resource whose delivery is retried for hours blocks only its own line: the other resources of the list are
		// behind at most this number of rows. Each step counts them.
		Unfinished: 10_000,
		// Listing takes about 50 ms and locks nothing. Queueing takes 20 ms, and locks the turns of the resources.
		List: 5_000, Step: 200,
	}
}

// ReplayStep is the result of one step of a bulk replay. The counts are those of the whole bulk replay, except Decided.
type ReplayStep struct {
	Status   ReplayStatus `json:"status"`
	Moved    bool         `json:"moved,omitempty"` // the step changed the bulk replay
	Matched  int64        `json:"matched"`
	Replayed int64        `json:"replayed"`
	Skipped  int64        `json:"skipped"`
	// Decided is the number of rows of the list that the step queued, skipped or excluded by the filter.
	Decided int  `json:"decided,omitempty"`
	Rest    bool `json:"rest,omitempty"` // the bulk replay has ended, and its list has further rows to remove
}
