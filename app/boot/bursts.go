package boot

import (
	"fmt"

	"github.com/comanda-dev/comanda/app"
)

// burst determines when the first attempts of several deliveries share a workflow (docs/behaviour.md#bursts).
type burst string

const (
	burstAuto   burst = "auto"   // under load
	burstOff    burst = "off"    // never
	burstAlways burst = "always" // whenever several deliveries are claimed together; for tests
)

// UnmarshalText accepts one of the constants.
func (b *burst) UnmarshalText(text []byte) error {
	switch word := burst(text); word {
	case burstAuto, burstOff, burstAlways:
		*b = word
		return nil
	default:
		return fmt.Errorf("%q must be auto or off", word)
	}
}

// limit returns the limits of a relay after applying the setting.
func (b burst) limit(limits app.ClaimLimits) app.ClaimLimits {
	switch b {
	case burstOff:
		limits.Burst = 0
	case burstAlways:
		limits.BurstAfter = 0
	}
	return limits
}
