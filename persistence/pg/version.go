package pg

import (
	"github.com/comanda-dev/comanda/app"
)

// CheckVersion returns VERSION_MISMATCH if a wanted version is not 0 and not the row's.
func CheckVersion(wanted, version int64) error {
	if wanted != 0 && wanted != version {
		return app.Errorf(app.CodeVersionMismatch, "it has version %d by now", version)
	}
	return nil
}
