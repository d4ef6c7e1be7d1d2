package app

// Actor is who does something, and from where.
type Actor struct {
	Realm     Realm  // "" = the service itself
	ID        string // of the user, the customer or the API key; "" = of that realm, but nobody knows who
	Address   string // of the client; "" when there is none
	RequestID RequestID
}

// Actor returns who a principal is.
func (p Principal) Actor(address string, request RequestID) Actor {
	return Actor{Realm: p.Realm, ID: p.Credential(), Address: address, RequestID: request}
}

// As returns the actor as a user, once it is known that it is the one.
func (a Actor) As(user User) Actor {
	a.Realm, a.ID = user.Realm(), string(user.ID)
	return a
}

// Unknown returns the actor as somebody of a realm, where a credential names a user or a
// customer but may well be in the hands of a thief.
func (a Actor) Unknown(realm Realm) Actor {
	a.Realm, a.ID = realm, ""
	return a
}

// AuditAction names something that the audit trail tells of (contract §3, Audit).
type AuditAction string

// What the audit trail tells of. The target is the id of what the sentence speaks of last.
const (
	AuditLoginSucceeded       AuditAction = "login.succeeded"        // a user began a session
	AuditLoginFailed          AuditAction = "login.failed"           // somebody failed to log in as a user
	AuditLogout               AuditAction = "logout"                 // a user ended a session
	AuditSessionReused        AuditAction = "session.reused"         // a superseded refresh token came back and ended all sessions of its user or customer
	AuditUserInvited          AuditAction = "user.invited"           // somebody was asked to join by an invitation
	AuditInvitationAccepted   AuditAction = "invitation.accepted"    // a user joined by an invitation
	AuditRoleChanged          AuditAction = "user.role_changed"      // another role was given to a user
	AuditUserRemoved          AuditAction = "user.removed"           // the store was closed to a user
	AuditAPIKeyCreated        AuditAction = "api_key.created"        // there is a new API key
	AuditAPIKeyRevoked        AuditAction = "api_key.revoked"        // the end of an API key
	AuditWebhookCreated       AuditAction = "webhook.created"        // there is a new webhook
	AuditWebhookChanged       AuditAction = "webhook.changed"        // another URL or other events for a webhook
	AuditWebhookDeleted       AuditAction = "webhook.deleted"        // the end of a webhook
	AuditWebhookSecretRotated AuditAction = "webhook.secret_rotated" // another secret for a webhook
	AuditWebhookDeactivated   AuditAction = "webhook.deactivated"    // somebody, or the service after days of failures, turned off a webhook
	AuditWebhookReactivated   AuditAction = "webhook.reactivated"    // somebody turned on a webhook
	AuditWebhookReplayed      AuditAction = "webhook.replayed"       // somebody had something sent once more: a delivery, or those of a replay
	AuditSettingsChanged      AuditAction = "settings.changed"       // other settings for the store
	AuditPlanChanged          AuditAction = "plan.changed"           // another plan for the store's website
	AuditWebsiteOpened        AuditAction = "website.opened"         // the store came into being with its website
	AuditWebsiteSuspended     AuditAction = "website.suspended"      // nobody can work any more in the store's website
	AuditWebsiteResumed       AuditAction = "website.resumed"        // everybody can work again in the store's website
	AuditRefundIssued         AuditAction = "refund.issued"          // money went back from a payment
)

// AuditActions lists the actions.
var AuditActions = [...]AuditAction{
	AuditLoginSucceeded, AuditLoginFailed, AuditLogout, AuditSessionReused,
	AuditUserInvited, AuditInvitationAccepted, AuditRoleChanged, AuditUserRemoved,
	AuditAPIKeyCreated, AuditAPIKeyRevoked,
	AuditWebhookCreated, AuditWebhookChanged, AuditWebhookDeleted, AuditWebhookSecretRotated,
	AuditWebhookDeactivated, AuditWebhookReactivated, AuditWebhookReplayed,
	AuditSettingsChanged, AuditPlanChanged, AuditWebsiteOpened, AuditWebsiteSuspended, AuditWebsiteResumed,
	AuditRefundIssued,
}

// LoginFault is why a login as a user failed. Whoever tried is not told.
type LoginFault string

const (
	FaultPassword LoginFault = "password" // it was another one
	FaultDisabled LoginFault = "disabled" // the password was right, the user may not log in
	FaultStore    LoginFault = "store"    // the password was right, the wanted store is not one of the user's
)

// AuditEntry is one line of a store's audit trail: who did what to whom, when, from where.
type AuditEntry struct {
	ID        AuditID        `json:"id"`
	Action    AuditAction    `json:"action"`
	Actor     AuditActor     `json:"actor"`
	Target    string         `json:"target,omitempty"`  // the id of what it was done to
	Details   map[string]any `json:"details,omitempty"` // depend on the action: what it was and what it became, a reason
	Address   string         `json:"address,omitempty"` // of the client
	RequestID RequestID      `json:"requestId,omitempty"`
	At        Time           `json:"at"`
}

// AuditActor is the actor as the trail shows it.
type AuditActor struct {
	Realm Realm  `json:"realm,omitempty"` // absent = the service itself
	ID    string `json:"id,omitempty"`    // absent when nobody knows who it was: at a failed login, say
	Name  string `json:"name,omitempty"`  // a user's e-mail address, an API key's name, as they are now
}
