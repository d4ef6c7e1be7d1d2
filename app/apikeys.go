package app

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// KeyMode is the mode of an API key: a live key belongs to a store, a test key to the store's sandbox.
type KeyMode string

const (
	KeyLive KeyMode = "live"
	KeyTest KeyMode = "test"
)

// Prefix returns the prefix of every key of the mode, "svc_live_sk_" or "svc_test_sk_".
func (m KeyMode) Prefix() string { return "svc_" + string(m) + "_sk_" }

// APIKey is an API key without the key itself, which is shown only once, when it is created.
type APIKey struct {
	ID         APIKeyID `json:"id"`
	StoreID    StoreID  `json:"storeId"` // the only store that the key can access; for a test key the sandbox
	Name       string   `json:"name"`
	Scopes     []Scope  `json:"scopes"`
	Mode       KeyMode  `json:"mode"`
	Prefix     string   `json:"prefix"`   // the first characters of the key
	LastFour   string   `json:"lastFour"` // the last four characters of the key
	CreatedAt  Time     `json:"createdAt"`
	LastUsedAt *Time    `json:"lastUsedAt"` // precise to the minute; null if the key was never used
	RevokedAt  *Time    `json:"revokedAt"`  // null while the key is valid
}

// MaxAPIKeys is the maximum number of a store's keys that are not revoked.
const MaxAPIKeys = 100

// NewAPIKey is the input for creating an API key. An empty Mode means live, or test in a sandbox.
type NewAPIKey struct {
	Name   string
	Scopes []Scope
	Mode   KeyMode
}

// IssuedAPIKey is a newly created API key together with the key itself, which is not stored.
type IssuedAPIKey struct {
	APIKey
	Key Secret
}

// apiKeySecret is the number of random bytes in a key.
const apiKeySecret = 16

// NewAPIKeySecret generates the key itself from crypto/rand.
func NewAPIKeySecret(mode KeyMode) Secret {
	var secret [apiKeySecret]byte
	rand.Read(secret[:])
	return NewSecret(mode.Prefix() + hex.EncodeToString(secret[:]))
}

var (
	apiKeyForm = regexp.MustCompile(`^svc_(live|test)_sk_[0-9a-f]{32}$`)
)

// apiKeyLength is the length of a key in bytes. It is the same in both modes.
var apiKeyLength = len(KeyLive.Prefix()) + 2*apiKeySecret

// HashAPIKey returns the SHA-256 of a key, the only form in which a key is stored. Unlike a password, a key is random
// enough for a fast hash. ok is false if the key is malformed.
func HashAPIKey(key Secret) (hash [sha256.Size]byte, ok bool) {
	if key.Len() != apiKeyLength || !apiKeyForm.MatchString(key.Reveal()) {
		return hash, false
	}
	return sha256.Sum256([]byte(key.Reveal())), true
}
