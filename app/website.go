package app

// Website is a tenant: stores under one name, with one plan.
type Website struct {
	ID          WebsiteID `json:"id"`
	Name        string    `json:"name"`
	Domain      string    `json:"domain"`
	Plan        Plan      `json:"plan"`
	SuspendedAt *Time     `json:"suspendedAt"` // null unless suspended
	CreatedAt   Time      `json:"createdAt"`
}

// WebsiteChange is what to change about a website; nil leaves as it is.
type WebsiteChange struct {
	Plan *Plan
	// Suspended shuts everybody out: users, customers, API keys and whom invitations are
	// for. Nothing is lost by it: sessions and keys are good again afterwards, and events
	// from before are delivered, retried and kept as ever.
	Suspended *bool
}
