package app

import "time"

// Outgoing is the input of one attempt, as loaded from the database.
type Outgoing struct {
	Status         DeliveryStatus
	Replays        int // of the delivery so far
	StoreID        StoreID
	SubscriptionID SubscriptionID
	EventID        EventID
	EventType      EventType
	EventAt        time.Time
	Position       int64  // of the event; 0 = none
	Resource       string // that the event is about, see EventType.Resource; "" = none
	Body           []byte // bytes of the envelope; nil if they have been erased, or Unloaded
	Unloaded       int    // size of a large body, which is loaded apart; 0 = Body is loaded or erased
	TraceContext   string // the trace of the event as the header traceparent (W3C Trace Context); "" = not traced
	URL            string
	Secret         Secret
	PreviousSecret Secret // the previous secret during its overlap; otherwise empty
	Headers        WebhookHeaders
	Unreadable     bool     // no configured key opens the secrets or the headers; all are empty
	Active         bool     // the subscription is active
	Deleted        bool     // the subscription is deleted
	Awaited        bool     // others of its resource waited for its turn when the attempt was loaded
	Recorded       *Attempt // this attempt, if it has already been recorded
}

// InProgress reports whether the delivery is between a claim and its end. It is attempted only then: otherwise the plan
// does not count the attempt, and another delivery of its resource may be in progress.
func (o Outgoing) InProgress() bool {
	return o.Status == DeliveryPending || o.Status == DeliveryRetrying
}
