package app

// DeliveryRetry is a request to make the next attempt of a retrying delivery now.
type DeliveryRetry struct {
	EventID        EventID
	SubscriptionID SubscriptionID
	Number         int // the number of the attempt
	// Made is the attempt if it has already been made, for another request or because it was due.
	Made *Attempt
}

// RetryOutcome is the response of a delivery's workflow to a retry.
type RetryOutcome string

const (
	RetryMade  RetryOutcome = "made"  // the attempt is recorded
	RetryBusy  RetryOutcome = "busy"  // the workflow is not waiting for the attempt, for example during an attempt
	RetryEnded RetryOutcome = "ended" // the delivery ended without the attempt, or continues in another run
	RetryLost  RetryOutcome = "lost"  // the workflow is closed or unknown
)
