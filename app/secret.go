package app

import (
	"encoding/json"
	"fmt"
	"io"
)

const redacted = "[redacted]"

// Secret is a password, key or token in memory. However it is printed, logged or
// encoded, it shows as "[redacted]"; only [Secret.Reveal] gives it out.
type Secret struct{ value string }

// NewSecret wraps a value that must not be shown.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return s.value }

// Len returns the length in bytes.
func (s Secret) Len() int { return len(s.value) }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// Format prints "[redacted]" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalJSON encodes "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalJSON takes the secret from a JSON string.
func (s *Secret) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.value) }
