package app

// Website is a tenant: a group of stores with one name and one plan.
type Website struct {
	ID            WebsiteID   `json:"id"`
	Name          string      `json:"name"`
	Domain        string      `json:"domain"`
	Plan          Plan        `json:"plan"`
	PlanManagedBy PlanManager `json:"planManagedBy"` // OWNER, or PLATFORM: its OWNERs cannot change the plan
	SuspendedAt   *Time       `json:"suspendedAt"`   // null if the website is not suspended
	Social        ClientIDs   `json:"social"`        // client ids for social logins, sorted
	CreatedAt     Time        `json:"createdAt"`
}

// WebsiteChange is a requested change of a website. A nil field is not changed.
type WebsiteChange struct {
	Name          *string
	Domain        *string
	Plan          *Plan
	PlanManagedBy *PlanManager
	// Suspended blocks users, customers, API keys and invitations of the website with WEBSITE_SUSPENDED. Lifting it
	// makes existing sessions and keys valid again. Deliveries of earlier events continue.
	Suspended *bool
	// Social replaces the client ids of each provider whose list is not nil.
	Social ClientIDs
}

// PlanManager is the party that changes the plan of a website.
type PlanManager string

const (
	PlanManagedByOwner    PlanManager = "OWNER"
	PlanManagedByPlatform PlanManager = "PLATFORM"
)

// PlanManagers lists the parties that can manage a plan.
var PlanManagers = [...]PlanManager{PlanManagedByOwner, PlanManagedByPlatform}

// WebsiteDetails is a website as platform administrators see it.
type WebsiteDetails struct {
	Website
	Stores      []Store        `json:"stores"`      // oldest first, with sandboxes
	Owners      []WebsiteOwner `json:"owners"`      // of live stores
	Invitations []Invitation   `json:"invitations"` // pending ones of OWNERs, newest first
	PlanUsage   PlanUsage      `json:"planUsage"`
}

// WebsiteOwner is a user who is OWNER of stores of a website.
type WebsiteOwner struct {
	ID       UserID    `json:"id"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Disabled bool      `json:"disabled"`
	StoreIDs []StoreID `json:"storeIds"` // live stores of which the user is OWNER
}
