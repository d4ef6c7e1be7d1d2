package pg

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TimeOrNil converts the time of a nullable column; nil is null.
func TimeOrNil(t *time.Time) *app.Time {
	if t == nil {
		return nil
	}
	at := app.At(*t)
	return &at
}

// UTCOrNil converts a time that may be nil to the value of a nullable column.
func UTCOrNil(t *app.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}
