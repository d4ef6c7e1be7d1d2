package app

// User is a user of the tenant realm or a platform administrator.
type User struct {
	ID           UserID  `json:"id"`
	Email        string  `json:"email"`
	Name         string  `json:"name"`
	PlatformRole *string `json:"platformRole"` // null for ordinary tenant users
}

// Realm returns the realm of the user's tokens.
func (u User) Realm() Realm {
	if u.PlatformRole != nil {
		return RealmPlatform
	}
	return RealmTenant
}

// PlatformAdmin is the only platform role.
const PlatformAdmin = "ADMIN"

// Member is a user with a membership in a store.
type Member struct {
	ID       UserID `json:"id"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Role     Role   `json:"role"`     // role in this store
	JoinedAt Time   `json:"joinedAt"` // time at which the user joined this store
}
