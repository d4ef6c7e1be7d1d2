package app

import "slices"

// JobReplay replays many deliveries. Its subject is the bulk replay.
const JobReplay JobKind = "replay"

// ReplayStatus is where a bulk replay stands.
type ReplayStatus string

const (
	ReplayDryRun    ReplayStatus = "dry_run"   // nothing happens
	ReplayRunning   ReplayStatus = "running"   // more deliveries are queued as those before them start
	ReplayCompleted ReplayStatus = "completed" // all have been queued
	ReplayCancelled ReplayStatus = "cancelled" // by somebody, or because its webhook was deleted
)

// ReplayStatuses lists all of them.
var ReplayStatuses = [...]ReplayStatus{ReplayDryRun, ReplayRunning, ReplayCompleted, ReplayCancelled}

// BulkReplay delivers once more what had ended when it was ordered (contract §4, Dead
// letter).
type BulkReplay struct {
	ID             ReplayID       `json:"id,omitempty"`        // a dry run has none
	SubscriptionID SubscriptionID `json:"webhookId,omitempty"` // none = of all of the store's
	EventType      EventType      `json:"eventType,omitempty"` // none = of all types
	DeliveryStatus DeliveryStatus `json:"deliveryStatus"`
	DeliveryReason string         `json:"deliveryReason,omitempty"` // why they had ended so; none = whyever
	From           Time           `json:"from"`                     // deliveries made at that time or later
	To             Time           `json:"to"`                       // and before that time
	Status         ReplayStatus   `json:"status"`
	Reason         string         `json:"reason,omitempty"` // why it was cancelled
	Matched        int64          `json:"matched"`          // deliveries, when it was ordered
	Replayed       int64          `json:"replayed"`         // of these, so far
	Skipped        int64          `json:"skipped"`          // of these: no longer kept, or no longer as they were
	InProgress     int64          `json:"inProgress"`       // of those replayed: their first attempt is still to come
	CreatedAt      Time           `json:"createdAt"`
	EndedAt        *Time          `json:"endedAt,omitempty"`
}

// NewBulkReplay is what a client asks for. Zero values narrow nothing.
type NewBulkReplay struct {
	SubscriptionID SubscriptionID
	EventType      EventType
	DeliveryStatus DeliveryStatus // one of ReplayableStatuses
	DeliveryReason string         // exactly as Delivery.Reason has it
	From, To       Time           // From is before To
	DryRun         bool
}

// ReplayableStatuses are those of deliveries that have ended.
var ReplayableStatuses = []DeliveryStatus{DeliveryDeadLetter, DeliveryDelivered, DeliveryCancelled}

// CanBeReplayed reports whether a delivery has ended.
func (s DeliveryStatus) CanBeReplayed() bool { return slices.Contains(ReplayableStatuses, s) }

// ReasonReplayCancelled is why a bulk replay ended that somebody cancelled through the API.
const ReasonReplayCancelled = "cancelled on request"

// Bounds of bulk replays.
const (
	MaxRunningReplays = 20  // of one store
	MaxReplaying      = 200 // deliveries of one bulk replay whose first attempt is still to come
)

// ReplayStep is what one step of a bulk replay did.
type ReplayStep struct {
	Status   ReplayStatus `json:"status"`
	Moved    bool         `json:"moved,omitempty"` // this step did something
	Matched  int64        `json:"matched"`
	Replayed int64        `json:"replayed"`
	Skipped  int64        `json:"skipped"`
}
