package app

import "time"

// AttemptStatus is the outcome of one POST.
type AttemptStatus string

const (
	AttemptDelivered  AttemptStatus = "delivered"
	AttemptFailed     AttemptStatus = "failed"      // failed, and the next attempt has been made
	AttemptRetrying   AttemptStatus = "retrying"    // failed, and the next attempt is scheduled
	AttemptDeadLetter AttemptStatus = "dead_letter" // failed, and it was the last attempt of the schedule
)

// Attempt is one POST to the receiver, without request and response (see [AttemptDetail]).
type Attempt struct {
	ID             AttemptID     `json:"id"`
	DeliveryID     DeliveryID    `json:"deliveryId,omitempty"` // absent for a test
	EventID        EventID       `json:"eventId"`
	EventType      EventType     `json:"eventType"`
	OrderID        OrderID       `json:"orderId,omitempty"` // absent if the event is not about an order or a payment
	Status         AttemptStatus `json:"status"`
	StatusCode     int           `json:"statusCode"` // 0 = no response
	ResponseTimeMs int64         `json:"responseTimeMs"`
	AttemptNumber  int           `json:"attemptNumber"` // from 1; continues across replays
	Error          string        `json:"error,omitempty"`
	NextRetryAt    *Time         `json:"nextRetryAt,omitempty"`
	DeliveredAt    Time          `json:"deliveredAt"` // time of the attempt
}

// AttemptFilter narrows a list of attempts. A zero value does not narrow it.
type AttemptFilter struct {
	Status    AttemptStatus
	EventType EventType
	EventID   EventID
	From, To  *Time // time of the attempt: From inclusive, To exclusive
}

// Quick reports whether the receiver responded, with any status, in less than [SlowResponse].
func (a Attempt) Quick() bool {
	return a.StatusCode != 0 && a.ResponseTimeMs < SlowResponse.Milliseconds()
}

// MadeAttempt is the result of an attempt, before it is recorded. An attempt of a test has no delivery, number or
// retry.
type MadeAttempt struct {
	DeliveryID DeliveryID
	Outgoing   Outgoing // as loaded for this attempt
	Number     int
	Status     AttemptStatus
	StatusCode int // 0 = no response
	At         time.Time
	Duration   time.Duration
	Error      string
	Sent       map[string][]string // request headers
	Headers    map[string][]string // response headers
	Body       []byte              // beginning of the response body
	RetryIn    time.Duration       // counted from the end of the attempt; only with AttemptRetrying
}

// PassesTurn reports whether the attempt ends its delivery and others wait for its turn.
func (a MadeAttempt) PassesTurn() bool { return a.Outgoing.Awaited && a.Status != AttemptRetrying }

// AttemptDetail is an attempt with its request and response.
type AttemptDetail struct {
	Attempt
	Request  SentRequest       `json:"request"`
	Response *ReceivedResponse `json:"response,omitempty"` // absent if there was no response
}

// SentRequest is the request of an attempt.
type SentRequest struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers"`
	Body    *string             `json:"body"` // null after it was erased
}

// ReceivedResponse is the receiver's response to an attempt.
type ReceivedResponse struct {
	StatusCode int                 `json:"statusCode"`
	Headers    map[string][]string `json:"headers"` // empty after they were erased
	Body       *string             `json:"body"`    // the first 16 KiB at most; null after it was erased
	Encoding   BodyEncoding        `json:"bodyEncoding"`
}

// BodyEncoding is the encoding of a response body.
type BodyEncoding string

const (
	BodyText   BodyEncoding = "utf-8"
	BodyBase64 BodyEncoding = "base64" // for bodies that are not valid UTF-8
)
