package app

// User is somebody of the tenant realm or of the platform.
type User struct {
	ID           UserID  `json:"id"`
	Email        string  `json:"email"`
	Name         string  `json:"name"`
	PlatformRole *string `json:"platformRole"` // null for ordinary tenant users
}

// PlatformAdmin is the only platform role.
const PlatformAdmin = "ADMIN"
