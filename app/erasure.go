package app

import "time"

// ErasureLimit is the time after an erasure for which its events wait for queued deliveries. Then these are cancelled:
// a receiver that fails, or a plan, could otherwise keep personal data without end.
const ErasureLimit = 30 * 24 * time.Hour

// JobErasure is the kind of a job that erases the bodies of the events of an erased customer or reservation. Its
// subject is the id of the customer or the reservation.
const JobErasure JobKind = "erasure"

// FieldErased is the entry of updatedFields in the customer.updated of an erased customer.
const FieldErased = "erased"

// ErasureStep is the result of one step of a JobErasure.
type ErasureStep struct {
	Erased  int64 `json:"erased"`  // bodies that this step erased
	Waiting int64 `json:"waiting"` // events with deliveries that have not ended

	Last EventID `json:"last,omitempty"` // last event that was read; "" = the last one of the customer
}
