package boot

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/comanda-dev/comanda/app"
)

// newMetrics makes a registry with what every Go process tells of itself.
func newMetrics() *prometheus.Registry {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return metrics
}

// countEnded returns what the database is to call when deliveries have ended.
func countEnded(metrics prometheus.Registerer) func(app.DeliveryStatus, int) {
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "comanda_deliveries_total", Help: "Deliveries that this process has seen end, by outcome; a replay ends anew.",
	}, []string{"outcome"})
	metrics.MustRegister(ended)
	for _, outcome := range []app.DeliveryStatus{app.DeliveryDelivered, app.DeliveryDeadLetter, app.DeliveryCancelled} {
		ended.WithLabelValues(string(outcome)) // a rate needs its zero
	}
	return func(outcome app.DeliveryStatus, n int) { ended.WithLabelValues(string(outcome)).Add(float64(n)) }
}

// temporalBuckets are the bounds of Temporal's histograms, in seconds: calls take
// milliseconds, what waits for a free slot may take minutes.
var temporalBuckets = []float64{.005, .025, .1, .5, 1, 5, 10, 60, 300}

// temporalMetrics lets Temporal's SDK report to the registry.
func temporalMetrics(metrics prometheus.Registerer) (client.MetricsHandler, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(metrics), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics of Temporal's SDK: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: temporalBuckets}},
	)))
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: provider.Meter("temporal"), UseMonotonicCounters: true}), nil
}
