package pg

import (
	"time"
)

// Cursor is the position at which a page of a list ended. Its zero value is the start.
type Cursor struct {
	At time.Time
	ID string
}
