package pg

import (
	"github.com/comanda-dev/comanda/app"
)

// CheckVersion returns VERSION_MISMATCH if wanted is neither 0 nor the current version.
func CheckVersion(wanted, current int64) error {
	if wanted != 0 && wanted != current {
		return app.Errorf(app.CodeVersionMismatch,
			"the current version is %d; read the resource again and repeat the change", current)
	}
	return nil
}
