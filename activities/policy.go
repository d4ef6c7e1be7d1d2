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
	// Bulkhead limits the attempts of one subscription.
	Bulkhead BulkheadPolicy
}

// DefaultDeliveryPolicy returns the policy of a worker whose POSTs have this timeout.
func DefaultDeliveryPolicy(timeout time.Duration) DeliveryPolicy {
	return DeliveryPolicy{
		Timeout: timeout, Load: 2 * time.Second, Record: 3 * time.Second,
		Bulkhead: BulkheadPolicy{
			Fast:    200, // of 4,000; a quick receiver uses all that a relay starts for it
			Slow:    20,  // of 200: ten receivers that hang together leave the lane open to others
			MinWait: 3 * time.Second,
			MaxWait: 5 * time.Minute,
			// A wake-up takes 5 to 10 ms of processor time: a queue takes at most a fifth of one
			// processor, and 6,000 attempts notice within five minutes that their receiver is back.
			WakeEvery: 50 * time.Millisecond,
		},
	}
}

// BurstPolicy holds the limits of bursts.
type BurstPolicy struct {
	// Leave is how long an attempt may take before its delivery leaves the burst, so that it does
	// not hold the others. Quick receivers respond within a second.
	Leave time.Duration
	// Start is the limit for starting the workflow of a delivery.
	Start time.Duration
	// Starts is how many workflows of deliveries start concurrently. Eight saturate a Temporal
	// server on the same machine; a farther one needs more.
	Starts int
}

// DefaultBurstPolicy returns the policy of a worker.
func DefaultBurstPolicy() BurstPolicy {
	return BurstPolicy{Leave: 2 * time.Second, Start: 10 * time.Second, Starts: 16}
}

// reportTime is what a worker that stops needs to report a recorded result to Temporal.
const reportTime = time.Second

// AttemptLimit returns how long an attempt can take, from its loading to its record. A workflow
// that allowed less would begin the attempt a second time, possibly on another worker.
func (p DeliveryPolicy) AttemptLimit() time.Duration { return p.Load + p.Timeout + p.Record }

// StopTimeout returns how long a worker that stops waits for attempts in flight. An attempt that
// does not end in that time is made again by another worker.
func (p DeliveryPolicy) StopTimeout() time.Duration { return p.AttemptLimit() + reportTime }
