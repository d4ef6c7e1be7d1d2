package app

import (
	"encoding/json"
	"fmt"
	"io"
)

const redacted = "[redacted]"

// Secret is a password, key or token in memory. Printing, logging and encoding it yields "[redacted]"; only
// [Secret.Reveal] returns the value.
type Secret struct{ value string }

// NewSecret returns a Secret with the given value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value.
func (s Secret) Reveal() string { return s.value }

// Len returns the length of the value in bytes.
func (s Secret) Len() int { return len(s.value) }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// Format prints "[redacted]" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalJSON encodes "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalJSON reads the value from a JSON string.
func (s *Secret) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.value) }
