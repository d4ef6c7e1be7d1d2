package boot

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/workflows"
)

// burstGauge registers the metric that tells whether bursts are on.
func burstGauge(metrics prometheus.Registerer) prometheus.Gauge {
	enabled := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "comanda_bursts_enabled",
		Help: "1 if first attempts may share a workflow under load, 0 if each delivery is its own workflow from the start.",
	})
	metrics.MustRegister(enabled)
	return enabled
}

// admitBursts registers the search attributes of bursts, unless the configuration has turned
// bursts off. Without these attributes operators could not find a delivery, so it then turns
// bursts off for this worker.
func admitBursts(
	ctx context.Context, config Config, temporal client.Client, metrics prometheus.Registerer, log zerolog.Logger,
) (burst, error) {
	enabled := burstGauge(metrics)
	if config.Burst == burstOff {
		return burstOff, nil
	}
	var refused error
	err := eventually(ctx, log, "Temporal", func(ctx context.Context) error {
		err := workflows.EnsureBurstAttributes(ctx, temporal, namespaceOf(config.temporal))
		if errors.Is(err, workflows.ErrNoBursts) {
			refused = err
			return nil
		}
		return err
	})
	if err != nil {
		return burstOff, err
	}
	if refused != nil {
		log.Error().Err(refused).Msg("bursts are off: the namespace has too few free search attributes of type KeywordList")
		return burstOff, nil
	}
	enabled.Set(1)
	return config.Burst, nil
}
