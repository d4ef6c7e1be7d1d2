package boot

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
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

// burstGauge registers the metric that shows whether bursts are enabled.
func burstGauge(metrics prometheus.Registerer) prometheus.Gauge {
	enabled := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "comanda_bursts_enabled",
		Help: "1 if first attempts may share a workflow under load, 0 if each delivery has its own workflow.",
	})
	metrics.MustRegister(enabled)
	return enabled
}

// admitBursts registers the search attributes of bursts, unless the configuration disables bursts. It returns the
// setting for this worker: bursts are disabled if the namespace has no room for the attributes, because operators could
// not find deliveries without them.
func admitBursts(
	ctx context.Context, config Config, temporal client.Client, metrics prometheus.Registerer, log zerolog.Logger,
) (burst, error) {
	enabled := burstGauge(metrics)
	if config.Burst == burstOff {
		return burstOff, nil
	}
	admitted := burstOff
	err := eventually(ctx, log, "Temporal", func(ctx context.Context) error {
		err := workflows.EnsureBurstAttributes(ctx, temporal, namespaceOf(config.temporal))
		if errors.Is(err, workflows.ErrNoBursts) {
			log.Error().Err(err).Msg(
				"bursts are disabled: too few free search attributes of type KeywordList in the namespace")
			return nil
		}
		if err == nil {
			admitted = config.Burst
			enabled.Set(1)
		}
		return err
	})
	return admitted, err
}
