package app

// Actor is who does something, and from where.
type Actor struct {
	Realm     Realm  // "" = the service itself
	ID        string // of the user, the customer or the API key
	Address   string // of the client; "" when there is none
	RequestID RequestID
}

// Actor returns who a principal is.
func (p Principal) Actor(address string, request RequestID) Actor {
	return Actor{Realm: p.Realm, ID: p.Credential(), Address: address, RequestID: request}
}

// AuditAction names something that the audit trail tells of (contract §3, Audit).
type AuditAction string

// AuditEntry is one line of a store's audit trail: who did what to whom, when, from where.
type AuditEntry struct {
	ID        AuditID        `json:"id"`
	Action    AuditAction    `json:"action"`
	Actor     AuditActor     `json:"actor"`
	Target    string         `json:"target,omitempty"` // the id of what it was done to
	Details   map[string]any `json:"details,omitempty"`
	Address   string         `json:"address,omitempty"` // of the client
	RequestID RequestID      `json:"requestId,omitempty"`
	At        Time           `json:"at"`
}

// AuditActor is the actor as the trail shows it.
type AuditActor struct {
	Realm Realm  `json:"realm,omitempty"` // "" = the service itself
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"` // a user's e-mail address, an API key's name, as they are now
}
