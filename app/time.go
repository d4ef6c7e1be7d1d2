package app

import (
	"encoding/json"
	"time"
)

// TimeFormat is how every time stands on the wire: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time is a moment in UTC that encodes as [TimeFormat].
type Time struct{ time.Time }

// At turns t into a Time, cut to milliseconds so that what is shown, kept and compared
// is the same.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// String formats the time as on the wire.
func (t Time) String() string { return t.UTC().Format(TimeFormat) }

// MarshalJSON encodes the time as on the wire.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON takes any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	var v time.Time
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*t = At(v)
	return nil
}
