package app

// InvitationsPerHour is the maximum number of invitations of a store per hour (docs/behaviour.md#rate-limits). It
// limits the mails to addresses that the inviters choose.
const InvitationsPerHour = 20

// WebsiteInvitationsPerHour is the maximum number of invitations of all stores of a website per hour.
const WebsiteInvitationsPerHour = 100

// Invitation is an invitation to join stores of one website with one role.
type Invitation struct {
	ID        InvitationID `json:"id"`
	Email     string       `json:"email"`
	Name      string       `json:"name"`
	Role      Role         `json:"role"`
	StoreIDs  []StoreID    `json:"storeIds"` // live stores; the invitation also applies to their sandboxes
	InvitedBy Inviter      `json:"invitedBy"`
	CreatedAt Time         `json:"createdAt"`
	ExpiresAt Time         `json:"expiresAt"`
	Mailed    bool         `json:"mailed"` // whether the link is also sent to the address
}

// Inviter is the OWNER or the platform administrator who sent an invitation.
type Inviter struct {
	ID   UserID `json:"id"`
	Name string `json:"name"`
}

// MaxInvitationFailures is the number of wrong passwords and one-time passwords that end an invitation of an existing
// user (docs/behaviour.md#users-and-invitations).
const MaxInvitationFailures = 10
