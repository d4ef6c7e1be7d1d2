package app

import "time"

// Claim is a delivery that one relay has claimed, until its lease ends.
type Claim struct {
	ID             DeliveryID
	Generation     int // number of claims of the delivery so far, 0 = unknown; (ID, Generation) identifies this claim
	StoreID        StoreID
	Queue          string // the website, or all its sandboxes; at most 64 bytes
	EventID        EventID
	SubscriptionID SubscriptionID
	EventType      EventType
	Attempts       int        // attempts made so far, including replays
	Place          int        // attempts made in the current schedule
	NextRetryAt    *time.Time // when the next attempt is due; nil = now
	Replay         bool       // a replay: the previous workflow may be open or closed
	Repair         bool       // claimed by the reconciler: the workflow is closed, unknown or stuck
	Quick          bool       // recent responses took less than SlowResponse: the first attempt may use the fast lane
	Healthy        bool       // no failing streak
	BurstID        BurstID    // the burst that makes the first attempt; "" = none
	StartBefore    *time.Time // end of the starts in the plan window that counts the claim; nil = unlimited
	WindowEnd      *time.Time // end of that window, until which a start that has begun may take
}

// ClaimLimits bounds the deliveries that a relay claims in one call.
type ClaimLimits struct {
	Batch     int // deliveries of subscriptions that are healthy and quick
	SlowBatch int // deliveries of other subscriptions
	// Deliveries of healthy, quick subscriptions are claimed in bursts of up to Burst deliveries, at most BurstBatch
	// deliveries in total, if at least BurstLeast of them wait and the oldest has waited for BurstAfter or longer. A
	// Burst below 2 disables bursts.
	Burst, BurstBatch, BurstLeast int
	BurstAfter                    time.Duration
	// One subscription may have Unproven pending deliveries, and more with each of its recent attempts. The maximum is
	// Quick for a healthy, quick subscription and Slow for any other.
	Unproven, Quick, Slow int
	// Full lists websites that get no deliveries of healthy, quick subscriptions.
	Full []string
	// Late lists websites that get nothing else, because their workflows wait for a worker: no replays, and no deliveries
	// of other subscriptions.
	Late  []string
	Lease time.Duration // after this time another relay may claim a delivery that was not started
}

// Dispatched is the result of one dispatch.
type Dispatched struct {
	Events     int  // dispatched events
	Deliveries int  // deliveries queued for these events
	More       bool // the search reached its limit, so more events may be undispatched
}

// Claimed is the result of one search for queued deliveries that may start.
type Claimed struct {
	Claims []Claim
	More   bool // more deliveries are queued that need not wait for a later window of their plan
	// Waited is the longest time that a delivery to a healthy, quick subscription has waited.
	Waited time.Duration
}
