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
	WorkflowID     string         `json:"workflowId,omitempty"`  // id of the workflow that makes or made it; absent while it is queued
	WorkflowURL    string         `json:"workflowUrl,omitempty"` // page of that workflow in Temporal's UI; only of a single delivery, if the UI's address is set and Temporal keeps the workflow
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

// BurstWorkflowID returns the id of the workflow that makes the first attempts of a burst.
func BurstWorkflowID(burst BurstID) string { return "burst/" + string(burst) }

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

// Claim is a delivery that is handed to one relay under a lease.
type Claim struct {
	ID             DeliveryID
	Generation     int // counts the claims of the delivery; with ID the key of this one
	StoreID        StoreID
	Queue          string // the website, or the sandbox twin; at most 64 bytes
	EventID        EventID
	SubscriptionID SubscriptionID
	EventType      EventType
	Attempts       int        // made so far, replays included
	Place          int        // of these, made in the current schedule
	NextRetryAt    *time.Time // when the next attempt is due; nil = now
	Replay         bool       // a replay: its workflow may be open or closed
	Repair         bool       // by the reconciler: its workflow is closed, unknown or stuck
	Quick          bool       // recent responses took less than one second: the first attempt may take the fast lane
	Healthy        bool       // no failing streak
	BurstID        BurstID    // the burst that makes the first attempt; "" = none
}

// ClaimLimits bounds the claims that a relay gets in one call.
type ClaimLimits struct {
	Batch     int // deliveries of subscriptions that are healthy and quick
	SlowBatch int // deliveries of other subscriptions
	// Deliveries of the former that have waited for BurstAfter or longer are claimed as bursts of up to Burst, at most
	// BurstBatch in all. A Burst below two means no bursts.
	Burst, BurstBatch int
	BurstAfter        time.Duration
	Unproven          int           // pending deliveries of a subscription, plus one for each of its recent attempts,
	Quick             int           // up to this number if it is healthy,
	Slow              int           // or this number if it is not
	Lease             time.Duration // after which another relay may take over a claim that is not marked as started
}

// Dispatched is the result of one dispatch.
type Dispatched struct {
	Events     int // events that were taken
	Deliveries int // deliveries that were queued for them
}

// Claimed is the result of one search for queued deliveries.
type Claimed struct {
	Claims []Claim
	More   bool // more deliveries are queued, except those that wait for the next window of their plan
	// Waited is the time for which the oldest of the deliveries to healthy, quick subscriptions has waited.
	Waited time.Duration
}

// Without returns the limits that remain for a second search after one that found these claims.
func (l ClaimLimits) Without(claims []Claim) ClaimLimits {
	for _, c := range claims {
		if c.Healthy && c.Quick {
			l.Batch, l.BurstBatch = max(l.Batch-1, 0), max(l.BurstBatch-1, 0)
		} else {
			l.SlowBatch = max(l.SlowBatch-1, 0)
		}
	}
	return l
}

// Overdue is a delivery that should have progressed.
type Overdue struct {
	Claim

	Status DeliveryStatus // pending or retrying
}

// OverdueBatch is the deliveries whose workflows the reconciler checks next.
type OverdueBatch struct {
	Claims []Overdue
	Left   int // overdue deliveries that are not in the batch and not yet checked in this pass
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
