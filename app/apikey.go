package app

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// KeyMode says whether an API key works in a store or in the store's sandbox.
type KeyMode string

const (
	KeyLive KeyMode = "live"
	KeyTest KeyMode = "test"
)

// Prefix returns what every key of the mode begins with (spec, API key).
func (m KeyMode) Prefix() string { return "svc_" + string(m) + "_sk_" }

// APIKey is an API key as it can be shown again: everything but the key itself.
type APIKey struct {
	ID         APIKeyID `json:"id"`
	StoreID    StoreID  `json:"storeId"` // the only store that the key sees: in test mode the sandbox
	Name       string   `json:"name"`
	Scopes     []Scope  `json:"scopes"`
	Mode       KeyMode  `json:"mode"`
	Prefix     string   `json:"prefix"`   // how the key begins
	LastFour   string   `json:"lastFour"` // how it ends
	CreatedAt  Time     `json:"createdAt"`
	LastUsedAt *Time    `json:"lastUsedAt"` // to the minute; null before the first use
	RevokedAt  *Time    `json:"revokedAt"`  // null while the key is good
}

// NewAPIKey is what it takes to make an API key. Mode "" = live, and test in a sandbox.
type NewAPIKey struct {
	Name   string
	Scopes []Scope
	Mode   KeyMode
}

// IssuedAPIKey is an API key at the one moment at which the key itself is known.
type IssuedAPIKey struct {
	APIKey
	Key Secret
}

// apiKeySecret is how many random bytes a key has.
const apiKeySecret = 16

// NewAPIKeySecret makes the key itself. Its randomness comes from crypto/rand.
func NewAPIKeySecret(mode KeyMode) Secret {
	var secret [apiKeySecret]byte
	rand.Read(secret[:])
	return NewSecret(mode.Prefix() + hex.EncodeToString(secret[:]))
}

var (
	apiKeyForm = regexp.MustCompile(`^svc_(live|test)_sk_[0-9a-f]{32}$`)
)

// apiKeyLength is how long a key of either mode is.
var apiKeyLength = len(KeyLive.Prefix()) + 2*apiKeySecret

// HashAPIKey returns what is kept of a key: its SHA-256. A key is random enough for that,
// unlike a password. ok is false for what does not have the exact form of a key.
func HashAPIKey(key Secret) (hash [sha256.Size]byte, ok bool) {
	if key.Len() != apiKeyLength || !apiKeyForm.MatchString(key.Reveal()) {
		return hash, false
	}
	return sha256.Sum256([]byte(key.Reveal())), true
}
