package app

import "time"

// Retention says how long things are kept (contract §4, Erasure; §1, Idempotency).
type Retention struct {
	Bodies time.Duration // of events and of receivers' answers, after the last of an event's deliveries has ended
	Log    time.Duration // ended deliveries with their attempts, and what else is of no use any more
}

// IdempotencyRetention is how long an Idempotency-Key is remembered.
const IdempotencyRetention = 24 * time.Hour

// Every is how often to look for what is no longer kept: once an hour, or more often where
// bodies are kept for less than a day.
func (r Retention) Every() time.Duration { return min(time.Hour, max(time.Second, r.Bodies/24)) }

// Erased counts what an erasure has removed.
type Erased struct {
	Bodies          int64 `json:"bodies,omitempty"` // of events, with those of their attempts
	Deliveries      int64 `json:"deliveries,omitempty"`
	Events          int64 `json:"events,omitempty"`
	Replays         int64 `json:"replays,omitempty"`
	IdempotencyKeys int64 `json:"idempotencyKeys,omitempty"`
	Sessions        int64 `json:"sessions,omitempty"` // of users and customers
	Invitations     int64 `json:"invitations,omitempty"`
	Mails           int64 `json:"mails,omitempty"`
}
