package pg

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TimeOrNil returns the time of a nullable column; null is nil.
func TimeOrNil(t *time.Time) *app.Time {
	if t == nil {
		return nil
	}
	at := app.At(*t)
	return &at
}
