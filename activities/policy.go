package activities

import "time"

// DeliveryPolicy holds the limits of attempts.
type DeliveryPolicy struct {
	// Timeout is the limit of a POST, from the DNS lookup to the end of the response.
	Timeout time.Duration
	// Load is the limit for loading an attempt. It is a few reads by primary key.
	Load time.Duration
	// Record is the limit for recording a result. It is one statement, which is shared with other
	// attempts and may wait for the health rows of their subscriptions.
	Record time.Duration
}

// DefaultDeliveryPolicy returns the policy of a worker whose POSTs have this timeout.
func DefaultDeliveryPolicy(timeout time.Duration) DeliveryPolicy {
	return DeliveryPolicy{Timeout: timeout, Load: 2 * time.Second, Record: 3 * time.Second}
}

// reportTime is what a worker that stops needs to report a recorded result to Temporal.
const reportTime = time.Second

// AttemptLimit returns how long an attempt can take, from its loading to its record. A workflow
// that allowed less would begin the attempt a second time, possibly on another worker.
func (p DeliveryPolicy) AttemptLimit() time.Duration { return p.Load + p.Timeout + p.Record }

// StopTimeout returns how long a worker that stops waits for attempts in flight. An attempt that
// does not end in that time is made again by another worker.
func (p DeliveryPolicy) StopTimeout() time.Duration { return p.AttemptLimit() + reportTime }
