package comanda

import "encoding/json"

// Nullable is a member that can be null: its zero value omits the member, which a change leaves as it is, [Null] clears
// it, and [Set] sets it.
type Nullable[T any] struct {
	value *T
	given bool
}

// Set returns a member with a value.
func Set[T any](value T) Nullable[T] { return Nullable[T]{&value, true} }

// Null returns a member that is cleared.
func Null[T any]() Nullable[T] { return Nullable[T]{nil, true} }

// IsZero reports whether the member is omitted.
func (n Nullable[T]) IsZero() bool { return !n.given }

// Value returns the value, or nil if the member is cleared or omitted.
func (n Nullable[T]) Value() *T { return n.value }

// MarshalJSON returns the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON decodes a value or null.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	n.given = true
	return json.Unmarshal(text, &n.value)
}
