package app

// User is somebody of the tenant realm or of the platform.
type User struct {
	ID           UserID  `json:"id"`
	Email        string  `json:"email"`
	Name         string  `json:"name"`
	PlatformRole *string `json:"platformRole"` // null for ordinary tenant users
}

// Realm is where the user logs in.
func (u User) Realm() Realm {
	if u.PlatformRole != nil {
		return RealmPlatform
	}
	return RealmTenant
}

// PlatformAdmin is the only platform role.
const PlatformAdmin = "ADMIN"

// Member is a user as the owner of a store sees it.
type Member struct {
	ID       UserID `json:"id"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Role     Role   `json:"role"`     // in this store
	JoinedAt Time   `json:"joinedAt"` // this store
}

// Invitation asks somebody to join stores of one website in one role.
type Invitation struct {
	ID        InvitationID `json:"id"`
	Email     string       `json:"email"`
	Name      string       `json:"name"`
	Role      Role         `json:"role"`
	StoreIDs  []StoreID    `json:"storeIds"`
	CreatedAt Time         `json:"createdAt"`
	ExpiresAt Time         `json:"expiresAt"`
}
