package app

import (
	"encoding/json"
	"time"
)

// TimeFormat is the layout of all times in requests, responses and events: RFC 3339 in UTC with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time is a time in UTC that is encoded as [TimeFormat].
type Time struct{ time.Time }

// At returns t in UTC, truncated to milliseconds. Encoding and storing the result loses no precision.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// String formats the time as [TimeFormat].
func (t Time) String() string { return t.UTC().Format(TimeFormat) }

// OrLater returns the later of t, the updatedAt of an object, and the time of a change. A request that has waited for
// another one keeps the later updatedAt, so that updatedAt never decreases and lists of changes are complete.
func (t Time) OrLater(change Time) Time {
	if change.After(t.Time) {
		return change
	}
	return t
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// MarshalJSON encodes the time as [TimeFormat].
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON accepts any RFC 3339 time and truncates it to milliseconds.
func (t *Time) UnmarshalJSON(b []byte) error {
	var v time.Time
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*t = At(v)
	return nil
}
