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
	Reason         string         `json:"reason,omitempty"` // why it is a dead letter or cancelled; the last attempt's error when nothing else ended it
	Attempts       int            `json:"attempts"`         // made so far, replays included
	ScheduledFor   Time           `json:"scheduledFor"`
	NextRetryAt    *Time          `json:"nextRetryAt,omitempty"`
	CreatedAt      Time           `json:"createdAt"`
	EndedAt        *Time          `json:"endedAt,omitempty"`
	WorkflowURL    string         `json:"workflowUrl,omitempty"` // its page in Temporal's UI, of a delivery shown by itself, where that UI's address is set
}

// DeliveryFilter narrows a list of deliveries. A zero value does not narrow it.
type DeliveryFilter struct {
	SubscriptionID SubscriptionID
	EventID        EventID
	EventType      EventType
	Status         DeliveryStatus
	Reason         string
	From, To       *Time // of their creation: From included, To not
}

// DeadLetters counts the dead letters of a subscription that have one reason.
type DeadLetters struct {
	SubscriptionID SubscriptionID `json:"webhookId"`
	Reason         string         `json:"reason"`
	Count          int64          `json:"count"`
	OldestAt       Time           `json:"oldestAt"` // when the first of these deliveries was made
	NewestAt       Time           `json:"newestAt"` // when the last of them was
}

// DeliveryWorkflowID returns the id of the workflow that brings an event to a
// subscription.
func DeliveryWorkflowID(event EventID, subscription SubscriptionID) string {
	return "delivery/" + string(event) + "/" + string(subscription)
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
	DeliveryID     DeliveryID    `json:"deliveryId,omitempty"` // none for a test
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

// AttemptFilter narrows a list of attempts. A zero value does not narrow it.
type AttemptFilter struct {
	Status    AttemptStatus
	EventType EventType
	EventID   EventID
	From, To  *Time // of the attempt: From included, To not
}

// Quick reports whether the receiver responded, with any status, before it counts as slow.
func (a Attempt) Quick() bool {
	return a.StatusCode != 0 && a.ResponseTimeMs < SlowResponse.Milliseconds()
}

// Outgoing is everything that one attempt needs.
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
	PreviousSecret Secret   // the replaced secret while it is still valid; else empty
	Unreadable     bool     // a secret cannot be opened with the configured keys; both are empty
	Active         bool     // the subscription is
	Deleted        bool     // the subscription is
	Recorded       *Attempt // this attempt, if it has already been made
}

// MadeAttempt is an attempt that has been made and is to be recorded. That of a test has
// no delivery, no number and no retry.
type MadeAttempt struct {
	DeliveryID DeliveryID
	Outgoing   Outgoing // as loaded for this attempt
	Number     int
	Status     AttemptStatus
	StatusCode int // 0 = no response
	At         time.Time
	Duration   time.Duration
	Error      string
	Sent       map[string][]string // headers of the request
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
	Quick          bool // its receiver answers fast, be it with failures: the first attempt may take the fast lane
	Healthy        bool // its receiver neither fails nor is slow: its start does not wait for those of others
}

// ClaimLimits bounds what a relay takes on at once.
type ClaimLimits struct {
	Events    int           // events that are turned into deliveries
	Batch     int           // deliveries in all of healthy subscriptions
	SlowBatch int           // the same of failing or slow ones
	Turn      int           // new deliveries of one subscription; the rest is queued
	Unproven  int           // deliveries of one subscription that may be pending, and one more for each lately attempted,
	Quick     int           // up to so many of a healthy one
	Slow      int           // or so many of a failing or slow one
	Lease     time.Duration // after which another relay may take over what is not marked as started
}

// Dispatched is what became of waiting events.
type Dispatched struct {
	Events int     // taken
	Queued int     // deliveries that are due and left for later
	Claims []Claim // deliveries to start now
}

// OpenDelivery names a delivery that has not ended for good, and its event.
type OpenDelivery struct {
	ID      DeliveryID
	EventID EventID
}

// WebhookTest is a test.ping on its way to a subscription.
type WebhookTest struct {
	StoreID        StoreID        `json:"storeId"`
	SubscriptionID SubscriptionID `json:"subscriptionId"`
	EventID        EventID        `json:"eventId"`
}

// TestPing is the data of test.ping.
type TestPing struct {
	SubscriptionID SubscriptionID `json:"webhookId"`
	Message        string         `json:"message"`
}

// WebhookTestResult is what became of a test (spec, POST /webhooks/:id/test).
type WebhookTestResult struct {
	Delivered      bool    `json:"delivered"`
	StatusCode     int     `json:"statusCode"` // 0 = no response
	ResponseTimeMs int64   `json:"responseTimeMs"`
	EventID        EventID `json:"eventId"`
	Error          string  `json:"error,omitempty"` // why it was not delivered
}

// AttemptDetail is an attempt in full.
type AttemptDetail struct {
	Attempt
	Request  SentRequest     `json:"request"`
	Response *ReceivedAnswer `json:"response,omitempty"` // absent when there was none
}

// SentRequest is what was sent.
type SentRequest struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
	Body    *string             `json:"body"` // null once it is no longer kept
}

// ReceivedAnswer is what the receiver answered.
type ReceivedAnswer struct {
	StatusCode int                 `json:"statusCode"`
	Headers    map[string][]string `json:"headers"` // none once they are no longer kept
	Body       *string             `json:"body"`    // at most its first 16 KiB; null once it is no longer kept
	Encoding   BodyEncoding        `json:"bodyEncoding"`
}

// BodyEncoding is how a receiver's body is shown.
type BodyEncoding string

const (
	BodyText   BodyEncoding = "utf-8"
	BodyBase64 BodyEncoding = "base64" // it was no UTF-8
)

// DeliveryStats counts a subscription's attempts in a span of time, tests left out.
type DeliveryStats struct {
	From        Time          `json:"from"`
	To          Time          `json:"to"`
	Granularity Granularity   `json:"granularity"`
	Buckets     []StatsBucket `json:"buckets"` // in the order of time, those without attempts too
	Totals      StatsCounts   `json:"totals"`
	RetryingNow int           `json:"retryingNow"` // deliveries that wait for a retry
}

// StatsBucket is one hour or one day (UTC), as far as the span covers it.
type StatsBucket struct {
	Start Time `json:"start"`
	StatsCounts
}

// StatsCounts counts attempts by their outcome. The response times are those of which half,
// and 99 of 100, were no longer; null when there was no attempt.
type StatsCounts struct {
	Delivered  int    `json:"delivered"`
	Failed     int    `json:"failed"`     // all that were not delivered
	DeadLetter int    `json:"deadLetter"` // of these, the last of their schedules
	P50Ms      *int64 `json:"p50Ms"`
	P99Ms      *int64 `json:"p99Ms"`
}

// Granularity is how long a bucket of statistics is.
type Granularity string

const (
	ByHour Granularity = "hour"
	ByDay  Granularity = "day"
)

// Duration returns how long that is.
func (g Granularity) Duration() time.Duration {
	if g == ByDay {
		return 24 * time.Hour
	}
	return time.Hour
}

// MaxStatsSpan is the longest span of statistics.
const MaxStatsSpan = 90 * 24 * time.Hour
