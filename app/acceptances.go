package app

import "time"

// JobAcceptance is the kind of a job that watches an order of an API key until it leaves RECEIVED
// (docs/behaviour.md#acceptance). Its subject is the order's id.
const JobAcceptance JobKind = "acceptance"

// ReasonNotAccepted is the reason of a cancellation by the service.
const ReasonNotAccepted = "not accepted in time"

// AcceptanceStep is the next step of waiting for the acceptance of an order in RECEIVED.
type AcceptanceStep struct {
	Remind bool
	Cancel bool
	Off    bool          // the deadlines are switched off
	Wait   time.Duration // until the next deadline; 0 = none is left
}

// Step returns the next step for an order that has waited for the given time. The time is negative for an order for
// later that is not yet due. If both deadlines have passed, the order is cancelled without a reminder.
func (a Acceptance) Step(waited time.Duration, reminded bool) AcceptanceStep {
	remind := time.Duration(a.RemindAfterMinutes) * time.Minute
	cancel := time.Duration(a.CancelAfterMinutes) * time.Minute
	var left time.Duration // until the cancellation; 0 = never
	if cancel > 0 {
		left = cancel - waited
	}
	switch {
	case waited < 0:
		return AcceptanceStep{Wait: -waited}
	case remind == 0 && cancel == 0:
		return AcceptanceStep{Off: true}
	case cancel > 0 && left <= 0:
		return AcceptanceStep{Cancel: true}
	case remind == 0 || reminded:
		return AcceptanceStep{Wait: left}
	case waited < remind:
		return AcceptanceStep{Wait: remind - waited}
	}
	return AcceptanceStep{Remind: true, Wait: left}
}

// AcceptanceState is the state of the acceptance of an order.
type AcceptanceState string

const (
	AcceptanceScheduled AcceptanceState = "scheduled" // the order is for later and not due
	AcceptanceWaiting   AcceptanceState = "waiting"
	AcceptanceReminded  AcceptanceState = "reminded"
	AcceptanceHandled   AcceptanceState = "handled"   // the order left RECEIVED
	AcceptanceCancelled AcceptanceState = "cancelled" // by the service, because it was not accepted in time
	AcceptanceOff       AcceptanceState = "off"       // the store has no deadlines
	AcceptanceUnknown   AcceptanceState = "unknown"   // the database has no such order, after a restore
)

// AcceptanceTick is the result of evaluating the deadlines of an order.
type AcceptanceTick struct {
	State  AcceptanceState `json:"state"`
	NextIn time.Duration   `json:"nextIn,omitempty"` // until the next deadline; 0 = none is left
}

// Ended reports whether the service no longer waits for the acceptance of the order.
func (t AcceptanceTick) Ended() bool {
	switch t.State {
	case AcceptanceScheduled, AcceptanceWaiting, AcceptanceReminded:
		return false
	}
	return true
}

// SystemActor is the actor of changes that the service makes without a caller.
var SystemActor = Actor{ID: "system"}
