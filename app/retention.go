package app

import "time"

// Retention is the retention of deliveries and their content, and of audit trails (docs/behaviour.md#retention).
type Retention struct {
	Bodies time.Duration // of event bodies and receivers' responses, after the last delivery of the event ended
	Log    time.Duration // of ended deliveries with their attempts, and of other obsolete rows
	Audit  time.Duration // of audit entries; at least MinAuditRetention
}

// MinAuditRetention is the minimum of Retention.Audit. The database refuses to erase entries that are more than a day
// younger, so that the roles of the service cannot erase recent traces.
const MinAuditRetention = 30 * 24 * time.Hour

// IdempotencyRetention is the time for which an Idempotency-Key is stored.
const IdempotencyRetention = 24 * time.Hour

// IDTokenRetention is the time for which a used ID token is stored after its expiry. It tolerates differences between
// the clocks of the processes, so that no process accepts an erased token.
const IDTokenRetention = time.Hour

// Every returns the interval between two erasures: one hour, or less if bodies are kept for less than a day.
func (r Retention) Every() time.Duration { return min(time.Hour, max(time.Second, r.Bodies/24)) }

// Erased counts the rows that an erasure has removed.
type Erased struct {
	Bodies          int64 `json:"bodies,omitempty"` // events whose body was erased, with the bodies of their attempts
	Deliveries      int64 `json:"deliveries,omitempty"`
	Events          int64 `json:"events,omitempty"`
	Replays         int64 `json:"replays,omitempty"`
	IdempotencyKeys int64 `json:"idempotencyKeys,omitempty"`
	IDTokens        int64 `json:"idTokens,omitempty"` // used for social logins
	Sessions        int64 `json:"sessions,omitempty"` // of users and of customers
	Invitations     int64 `json:"invitations,omitempty"`
	Mails           int64 `json:"mails,omitempty"`
	AuditEntries    int64 `json:"auditEntries,omitempty"` // of stores and of the platform
}
