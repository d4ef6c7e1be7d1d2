package app

// DeliveryStatus is the status of a delivery (docs/behaviour.md#deliveries).
type DeliveryStatus string

const (
	DeliveryQueued     DeliveryStatus = "queued"      // not yet started; it has no workflow
	DeliveryPending    DeliveryStatus = "pending"     // the first attempt, or the first of a replay, is due or running
	DeliveryRetrying   DeliveryStatus = "retrying"    // the last attempt failed and a retry is scheduled
	DeliveryDelivered  DeliveryStatus = "delivered"   // ended with a 2xx response
	DeliveryDeadLetter DeliveryStatus = "dead_letter" // ended without a 2xx response; can be replayed
	DeliveryCancelled  DeliveryStatus = "cancelled"   // ended by deleting the subscription or by an operator
)

// DeliveryStatuses lists all delivery statuses.
var DeliveryStatuses = [...]DeliveryStatus{
	DeliveryQueued, DeliveryPending, DeliveryRetrying, DeliveryDelivered, DeliveryDeadLetter, DeliveryCancelled,
}

// Delivery is the delivery of one event to one subscription.
type Delivery struct {
	ID             DeliveryID     `json:"id"`
	SubscriptionID SubscriptionID `json:"webhookId"`
	EventID        EventID        `json:"eventId"`
	EventType      EventType      `json:"eventType"`
	Status         DeliveryStatus `json:"status"`
	// why it is a dead letter or was cancelled: the error of the last attempt, unless something else ended it
	Reason   string `json:"reason,omitempty"`
	Attempts int    `json:"attempts"` // attempts made so far, including replays
	// earliest start: the time of the event or of the replay; an estimate while the delivery is queued, and nil while
	// it is held back
	ScheduledFor *Time `json:"scheduledFor"`
	// delivery of the same subscription and resource that has the turn; only while this one is held back
	WaitsFor    DeliveryID `json:"waitsFor,omitempty"`
	NextRetryAt *Time      `json:"nextRetryAt,omitempty"`
	CreatedAt   Time       `json:"createdAt"`
	EndedAt     *Time      `json:"endedAt,omitempty"`
	WorkflowID  string     `json:"workflowId,omitempty"` // id of its Temporal workflow; absent while it is queued
	// page of the workflow in Temporal's web UI; only in the response for a single delivery, if the UI's address is
	// configured and Temporal still retains the workflow
	WorkflowURL string `json:"workflowUrl,omitempty"`
}

// DeliveryFilter narrows a list of deliveries. A zero value does not narrow it.
type DeliveryFilter struct {
	SubscriptionID SubscriptionID
	EventID        EventID
	EventType      EventType
	Status         DeliveryStatus
	Reason         string
	From, To       *Time // creation time: From inclusive, To exclusive
}

// DeliveryWorkflowID returns the id of the workflow that delivers an event to a subscription.
func DeliveryWorkflowID(event EventID, subscription SubscriptionID) string {
	return "delivery/" + string(event) + "/" + string(subscription)
}

// BurstWorkflowID returns the id of the workflow that makes the first attempts of a burst.
func BurstWorkflowID(burst BurstID) string { return "burst/" + string(burst) }

// Reasons of deliveries that were not ended by an attempt.
const (
	ReasonInactive  = "subscription inactive"
	ReasonDeleted   = "subscription deleted"
	ReasonCancelled = "workflow cancelled"
	ReasonErased    = "erased" // queued for ErasureLimit after the erasure of its customer or guest
)

// OpenDelivery identifies a delivery that may have an open workflow: it is pending, retrying, a dead letter, or queued
// for a replay.
type OpenDelivery struct {
	ID      DeliveryID
	EventID EventID
	// Idle means queued or a dead letter: its workflow may have completed, or may be that of an earlier run.
	Idle bool
}
