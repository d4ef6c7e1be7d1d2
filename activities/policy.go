package activities

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// DeliveryPolicy holds the limits of attempts.
type DeliveryPolicy struct {
	// Timeout limits a POST, from the DNS lookup to the end of the response.
	Timeout time.Duration
	// Load limits loading the input of an attempt, which takes a few reads by primary key.
	Load time.Duration
	// Record limits recording a result. It takes one statement, which is shared with other attempts and may wait for
	// locks on the health rows of their subscriptions. While the database is not available, it is repeated.
	Record time.Duration
	// Bulkhead limits the attempts of one subscription.
	Bulkhead BulkheadPolicy
}

// DefaultDeliveryPolicy returns the policy of a worker whose POSTs have this timeout.
func DefaultDeliveryPolicy(timeout time.Duration) DeliveryPolicy {
	return DeliveryPolicy{
		Timeout: timeout, Load: 2 * time.Second, Record: 3 * time.Second,
		Bulkhead: BulkheadPolicy{
			Fast:    800, // as many as a relay starts for a quick receiver
			Slow:    20,  // a tenth of the slots
			Bodies:  64 << 20,
			Reserve: 16 * app.MaxEvent,
			MinWait: 3 * time.Second,
			MaxWait: 5 * time.Minute,
			// A wake-up takes 5 to 10 ms of processor time, so a queue takes at most a fifth of a processor. Within
			// five minutes after a receiver has recovered, 6,000 attempts are made.
			WakeEvery: 50 * time.Millisecond,
		},
	}
}

// BurstPolicy holds the limits of bursts.
type BurstPolicy struct {
	// Leave is the time after which a delivery whose attempt is still running leaves the burst, so that it does not
	// delay the others. Quick receivers respond within a second.
	Leave time.Duration
	// Start limits starting the workflow of a delivery.
	Start time.Duration
	// Starts is the maximum number of concurrent starts of workflows. Eight saturate a Temporal server on the same
	// machine; over a network, more are needed.
	Starts int
	// WakeEvery is the time between two wakes of workflows of deliveries that have left their bursts.
	WakeEvery time.Duration
}

// DefaultBurstPolicy returns the policy of bursts.
func DefaultBurstPolicy() BurstPolicy {
	return BurstPolicy{
		Leave: 2 * time.Second, Start: 10 * time.Second, Starts: 16,
		WakeEvery: 50 * time.Millisecond, // as in the bulkhead
	}
}

// reportTime is the time in which a stopping worker reports a recorded result to Temporal.
const reportTime = time.Second

// AttemptLimit returns the maximum duration of an attempt, from loading its input to recording its result. A workflow
// with a shorter timeout would repeat the attempt, possibly on another worker.
func (p DeliveryPolicy) AttemptLimit() time.Duration { return p.Load + p.Timeout + p.Record }

// StopTimeout returns the time for which a stopping worker waits for running attempts. Another worker repeats attempts
// that do not end within that time.
func (p DeliveryPolicy) StopTimeout() time.Duration { return p.AttemptLimit() + reportTime }
