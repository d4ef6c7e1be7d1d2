package app

import "time"

// DeliveryStatus is where a delivery stands (contract §4).
type DeliveryStatus string

const (
	DeliveryQueued     DeliveryStatus = "queued"      // not yet handed to its workflow
	DeliveryPending    DeliveryStatus = "pending"     // its first attempt, or a replay's, is on its way
	DeliveryRetrying   DeliveryStatus = "retrying"    // failed, with a retry to come
	DeliveryDelivered  DeliveryStatus = "delivered"   // ended by a 2xx
	DeliveryDeadLetter DeliveryStatus = "dead_letter" // ended without one; can be replayed
	DeliveryCancelled  DeliveryStatus = "cancelled"   // ended by its subscription's end or an operator
)

// DeliveryStatuses lists all of them.
var DeliveryStatuses = [...]DeliveryStatus{
	DeliveryQueued, DeliveryPending, DeliveryRetrying, DeliveryDelivered, DeliveryDeadLetter, DeliveryCancelled,
}

// Delivery is one event on its way to one subscription.
type Delivery struct {
	ID             DeliveryID     `json:"id"`
	SubscriptionID SubscriptionID `json:"webhookId"`
	EventID        EventID        `json:"eventId"`
	EventType      EventType      `json:"eventType"`
	Status         DeliveryStatus `json:"status"`
	Reason         string         `json:"reason,omitempty"` // why it is a dead letter or cancelled, when no attempt tells
	Attempts       int            `json:"attempts"`         // made so far, replays included
	ScheduledFor   Time           `json:"scheduledFor"`
	NextRetryAt    *Time          `json:"nextRetryAt,omitempty"`
	CreatedAt      Time           `json:"createdAt"`
	EndedAt        *Time          `json:"endedAt,omitempty"`
}

// Reasons of a delivery that ended without an attempt that tells why.
const (
	ReasonInactive  = "subscription inactive"
	ReasonDeleted   = "subscription deleted"
	ReasonCancelled = "workflow cancelled"
)

// AttemptStatus is the outcome of one POST (spec, Webhook delivery attempt).
type AttemptStatus string

const (
	AttemptDelivered  AttemptStatus = "delivered"
	AttemptFailed     AttemptStatus = "failed"      // the next one has been made
	AttemptRetrying   AttemptStatus = "retrying"    // the next one is scheduled
	AttemptDeadLetter AttemptStatus = "dead_letter" // there is no next one
)

// Attempt is one POST of a delivery, as lists show it.
type Attempt struct {
	ID             AttemptID     `json:"id"`
	DeliveryID     DeliveryID    `json:"deliveryId"`
	EventID        EventID       `json:"eventId"`
	EventType      EventType     `json:"eventType"`
	Status         AttemptStatus `json:"status"`
	StatusCode     int           `json:"statusCode"` // 0 = no response
	ResponseTimeMs int64         `json:"responseTimeMs"`
	AttemptNumber  int           `json:"attemptNumber"` // from 1, counting on over replays
	Error          string        `json:"error,omitempty"`
	NextRetryAt    *Time         `json:"nextRetryAt,omitempty"`
	DeliveredAt    Time          `json:"deliveredAt"` // when the attempt was made
}

// Outgoing is all that one attempt needs to know.
type Outgoing struct {
	Status         DeliveryStatus
	StoreID        StoreID
	SubscriptionID SubscriptionID
	EventID        EventID
	EventType      EventType
	EventAt        time.Time
	Body           []byte // the envelope's; nil once erased
	URL            string
	Secret         Secret
	Active         bool     // the subscription is
	Deleted        bool     // the subscription is
	Recorded       *Attempt // this very attempt, when it has been made already
}

// MadeAttempt is an attempt that has been made and is to be recorded.
type MadeAttempt struct {
	DeliveryID DeliveryID
	Outgoing   Outgoing // as loaded for this attempt
	Number     int
	Status     AttemptStatus
	StatusCode int // 0 = no response
	At         time.Time
	Duration   time.Duration
	Error      string
	Headers    map[string][]string // of the response
	Body       []byte              // of the response, its beginning
	RetryIn    time.Duration       // from the attempt's end; with AttemptRetrying only
}

// Claim is a delivery that a relay is to start now.
type Claim struct {
	ID             DeliveryID
	StoreID        StoreID
	EventID        EventID
	SubscriptionID SubscriptionID
	EventType      EventType
	Attempts       int  // made so far
	Replay         bool // not its first time: its workflow may be waiting, or may have ended
	Quick          bool // its receiver is healthy and answers fast
}

// ClaimLimits bounds what a relay takes on at once.
type ClaimLimits struct {
	Events int           // events that are turned into deliveries
	Batch  int           // deliveries in all
	Quick  int           // deliveries of one healthy subscription that may be pending
	Slow   int           // the same for a failing or slow one
	Lease  time.Duration // after which another relay may take over what is not marked as started
}

// Dispatched is what became of waiting events.
type Dispatched struct {
	Events int     // taken
	Queued int     // deliveries that are due and left for later
	Claims []Claim // deliveries to start now
}
