package app

// Actor identifies the caller of an operation in the audit trail.
type Actor struct {
	Realm     Realm  // "" = the service itself
	ID        string // of the user, the customer or the API key; "" = unknown
	Address   string // IP address of the client; "" = unknown
	RequestID RequestID
	UserAgent string // of the client, at most MaxUserAgent characters; it is stored with sessions only
}

// Actor returns the principal as an actor with the client's address and the id of the request.
func (p Principal) Actor(address string, request RequestID) Actor {
	return Actor{Realm: p.Realm, ID: p.Credential(), Address: address, RequestID: request}
}

// As returns the actor with the identity of a user, after a successful login.
func (a Actor) As(user User) Actor {
	a.Realm, a.ID = user.Realm(), string(user.ID)
	return a
}

// AsCustomer is [Actor.As] for a customer.
func (a Actor) AsCustomer(customer CustomerID) Actor {
	a.Realm, a.ID = RealmCustomer, string(customer)
	return a
}

// Unknown returns the actor as an unidentified caller of a realm. It is used if a credential names a user or customer
// but may have been stolen.
func (a Actor) Unknown(realm Realm) Actor {
	a.Realm, a.ID = realm, ""
	return a
}

// AuditAction is the type of an entry in the audit trail (docs/behaviour.md#audit-trails).
type AuditAction string

// Actions in the audit trail. The comments name the target, whose id is [AuditEntry.Target].
const (
	AuditLoginSucceeded       AuditAction = "login.succeeded"        // target: session
	AuditLoginFailed          AuditAction = "login.failed"           // target: user or customer
	AuditLogout               AuditAction = "logout"                 // target: session
	AuditSessionReused        AuditAction = "session.reused"         // all sessions ended; target: user or customer
	AuditSessionEnded         AuditAction = "session.ended"          // by its user; target: session or user (all)
	AuditPasswordChanged      AuditAction = "password.changed"       // target: user or customer
	AuditPasswordResetIssued  AuditAction = "password.reset_issued"  // comanda admin printed a link; target: user
	AuditPasswordReset        AuditAction = "password.reset"         // with a link; target: user or customer
	AuditEmailChangeRequested AuditAction = "email.change_requested" // target: customer
	AuditEmailChanged         AuditAction = "email.changed"          // confirmed with a link; target: customer
	AuditPlatformAdminCreated AuditAction = "platform_admin.created" // by comanda admin; target: user
	AuditUserDisabled         AuditAction = "user.disabled"          // target: user
	AuditUserEnabled          AuditAction = "user.enabled"           // target: user
	AuditUserInvited          AuditAction = "user.invited"           // target: invitation
	AuditInvitationAccepted   AuditAction = "invitation.accepted"    // target: invitation
	AuditInvitationResent     AuditAction = "invitation.resent"      // target: invitation
	AuditInvitationWithdrawn  AuditAction = "invitation.withdrawn"   // by an OWNER or by failures; target: invitation
	AuditRoleChanged          AuditAction = "user.role_changed"      // target: user
	AuditUserRemoved          AuditAction = "user.removed"           // target: user
	AuditAPIKeyCreated        AuditAction = "api_key.created"        // target: API key
	AuditAPIKeyRevoked        AuditAction = "api_key.revoked"        // target: API key
	AuditWebhookCreated       AuditAction = "webhook.created"        // target: subscription
	AuditWebhookChanged       AuditAction = "webhook.changed"        // by PATCH, also its headers; target: subscription
	AuditWebhookDeleted       AuditAction = "webhook.deleted"        // target: subscription
	AuditWebhookSecretRotated AuditAction = "webhook.secret_rotated" // target: subscription
	AuditWebhookDeactivated   AuditAction = "webhook.deactivated"    // by a user or the watchdog; target: subscription
	AuditWebhookReactivated   AuditAction = "webhook.reactivated"    // target: subscription
	AuditWebhookReplayed      AuditAction = "webhook.replayed"       // target: delivery, subscription or bulk replay
	AuditWebhookRetried       AuditAction = "webhook.retried"        // the next attempt requested now; target: delivery
	AuditSettingsChanged      AuditAction = "settings.changed"       // target: store
	AuditStoreCreated         AuditAction = "store.created"          // target: store
	AuditStoreChanged         AuditAction = "store.changed"          // name or country changed; target: store
	AuditOrderingPaused       AuditAction = "ordering.paused"        // target: store
	AuditOrderingResumed      AuditAction = "ordering.resumed"       // by a user, before its end; target: store
	AuditViewCreated          AuditAction = "store_view.created"     // target: store view
	AuditViewChanged          AuditAction = "store_view.changed"     // target: store view
	AuditViewDeleted          AuditAction = "store_view.deleted"     // target: store view
	AuditPlanChanged          AuditAction = "plan.changed"           // target: website
	AuditWebsiteOpened        AuditAction = "website.opened"         // created with its first store; target: website
	AuditWebsiteChanged       AuditAction = "website.changed"        // name, domain or plan manager; target: website
	AuditWebsiteSuspended     AuditAction = "website.suspended"      // target: website
	AuditWebsiteResumed       AuditAction = "website.resumed"        // target: website
	AuditRefundIssued         AuditAction = "refund.issued"          // target: payment
	AuditPricesChanged        AuditAction = "product.prices_changed" // of it or its options; target: product
	AuditOrderCancelled       AuditAction = "order.cancelled"        // by a user; target: order
	AuditTotalLowered         AuditAction = "order.total_lowered"    // by a user, of an accepted order; target: order

	AuditCustomerDisabled AuditAction = "customer.disabled"          // all sessions ended; target: customer
	AuditCustomerEnabled  AuditAction = "customer.enabled"           // target: customer
	AuditCustomerClaimed  AuditAction = "customer.claimed"           // by the owner of its email; target: customer
	AuditCustomerErased   AuditAction = "customer.erased"            // data replaced; target: customer or reservation
	AuditIdentityLinked   AuditAction = "identity.linked"            // for social logins; target: customer
	AuditClientIDsChanged AuditAction = "website.client_ids_changed" // for social logins; target: website
	AuditClientIDsRefused AuditAction = "website.client_ids_refused" // another website lists them; target: website

	AuditOTPEnabled            AuditAction = "otp.enabled"             // target: user
	AuditOTPDisabled           AuditAction = "otp.disabled"            // target: user
	AuditOTPReset              AuditAction = "otp.reset"               // by comanda admin; target: user
	AuditRecoveryCodesReplaced AuditAction = "recovery_codes.replaced" // target: user
	AuditRecoveryCodeUsed      AuditAction = "recovery_code.used"      // target: user
)

// AuditActions lists the actions.
var AuditActions = [...]AuditAction{
	AuditLoginSucceeded, AuditLoginFailed, AuditLogout, AuditSessionReused, AuditSessionEnded, AuditPasswordChanged,
	AuditPasswordResetIssued, AuditPasswordReset, AuditEmailChangeRequested, AuditEmailChanged,
	AuditPlatformAdminCreated, AuditUserDisabled, AuditUserEnabled,
	AuditUserInvited, AuditInvitationAccepted, AuditInvitationResent, AuditInvitationWithdrawn, AuditRoleChanged,
	AuditUserRemoved,
	AuditOTPEnabled, AuditOTPDisabled, AuditOTPReset, AuditRecoveryCodesReplaced, AuditRecoveryCodeUsed,
	AuditAPIKeyCreated, AuditAPIKeyRevoked,
	AuditWebhookCreated, AuditWebhookChanged, AuditWebhookDeleted, AuditWebhookSecretRotated,
	AuditWebhookDeactivated, AuditWebhookReactivated, AuditWebhookReplayed,
	AuditWebhookRetried,
	AuditStoreCreated, AuditStoreChanged, AuditOrderingPaused, AuditOrderingResumed,
	AuditViewCreated, AuditViewChanged, AuditViewDeleted,
	AuditSettingsChanged, AuditPlanChanged, AuditWebsiteOpened, AuditWebsiteChanged, AuditWebsiteSuspended,
	AuditWebsiteResumed,
	AuditRefundIssued, AuditPricesChanged, AuditOrderCancelled, AuditTotalLowered,
	AuditCustomerDisabled, AuditCustomerEnabled, AuditCustomerClaimed, AuditCustomerErased, AuditIdentityLinked,
	AuditClientIDsChanged, AuditClientIDsRefused,
}

// LoginFault is the reason of a failed login. It is recorded in the audit trail and never shown to the caller.
type LoginFault string

const (
	FaultPassword LoginFault = "password" // wrong password
	FaultDisabled LoginFault = "disabled" // correct password, but the user is disabled
	FaultOTP      LoginFault = "otp"      // correct password, but a wrong or used one-time password
	FaultStore    LoginFault = "store"    // correct password, but the user is no member of the requested store
	// correct password, but the website of the requested store, or every website of the user, is suspended
	FaultSuspended LoginFault = "suspended"
	FaultToken     LoginFault = "token"    // the ID token of the customer's provider is already used
	FaultUnlinked  LoginFault = "unlinked" // the account is not linked to the provider, which does not prove the email
)

// AuditEntry is an entry of the audit trail of a store or of the platform.
type AuditEntry struct {
	ID        AuditID        `json:"id"`
	Action    AuditAction    `json:"action"`
	Actor     AuditActor     `json:"actor"`
	Target    string         `json:"target,omitempty"`  // id of the changed resource
	Details   map[string]any `json:"details,omitempty"` // depend on the action: changed values, a reason
	Address   string         `json:"address,omitempty"` // IP address of the client
	RequestID RequestID      `json:"requestId,omitempty"`
	At        Time           `json:"at"`
}

// AuditActor is the user, customer or API key that performed the action.
type AuditActor struct {
	Realm Realm  `json:"realm,omitempty"` // absent for actions of the service itself
	ID    string `json:"id,omitempty"`    // absent if unknown, for example after a failed login
	Name  string `json:"name,omitempty"`  // current email of the user or current name of the API key
}
