package boot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
)

// temporalBuckets lists the bounds of Temporal's histograms in seconds. Calls take milliseconds; waiting for a free
// slot may take minutes.
var temporalBuckets = []float64{.005, .025, .1, .5, 1, 5, 10, 60, 300}

// temporalMetrics returns a handler through which Temporal's SDK reports to the registry. It uses OpenTelemetry's
// exporter, because the SDK reports series of one name with different labels, which vectors of the Prometheus client do
// not support.
func temporalMetrics(metrics prometheus.Registerer) (client.MetricsHandler, error) {
	meter, err := temporalMeter(metrics)
	return &temporalSeries{meter: meter}, err
}

func temporalMeter(metrics prometheus.Registerer) (metric.Meter, error) {
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(metrics), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("cannot register the metrics of Temporal's SDK: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: temporalBuckets}},
	)))
	return provider.Meter("temporal"), nil
}

// temporalSeries is a metrics handler for one set of tags. It caches the instruments and the handlers with more tags.
// The SDK requests them for every report, dozens of times per delivery, and its own handler creates them each time,
// which causes most of the cost of reporting.
type temporalSeries struct {
	meter metric.Meter
	tags  attribute.Set

	children, counters, gauges, timers sync.Map
}

// WithTags returns the handler for the tags of s and the given tags.
func (s *temporalSeries) WithTags(tags map[string]string) client.MetricsHandler {
	names := make([]string, 0, 8)
	for name := range tags {
		names = append(names, name)
	}
	slices.Sort(names)
	var key strings.Builder
	for _, name := range names {
		key.WriteString(name)
		key.WriteByte(0)
		key.WriteString(tags[name])
		key.WriteByte(0)
	}
	return cached(&s.children, key.String(), func() *temporalSeries {
		all := s.tags.ToSlice()
		for name, value := range tags {
			all = append(all, attribute.String(name, value))
		}
		return &temporalSeries{meter: s.meter, tags: attribute.NewSet(all...)}
	})
}

// Counter returns the counter with a name.
func (s *temporalSeries) Counter(name string) client.MetricsCounter {
	return cached(&s.counters, name, func() client.MetricsCounter {
		counter, err := s.meter.Int64Counter(name)
		if err != nil {
			return client.MetricsNopHandler.Counter(name)
		}
		return &temporalCounter{counter, []metric.AddOption{metric.WithAttributeSet(s.tags)}}
	})
}

// Gauge returns the gauge with a name.
func (s *temporalSeries) Gauge(name string) client.MetricsGauge {
	return cached(&s.gauges, name, func() client.MetricsGauge {
		gauge, err := s.meter.Float64Gauge(name)
		if err != nil {
			return client.MetricsNopHandler.Gauge(name)
		}
		return &temporalGauge{gauge, []metric.RecordOption{metric.WithAttributeSet(s.tags)}}
	})
}

// Timer returns the histogram with a name.
func (s *temporalSeries) Timer(name string) client.MetricsTimer {
	return cached(&s.timers, name, func() client.MetricsTimer {
		histogram, err := s.meter.Float64Histogram(name, metric.WithUnit("s"))
		if err != nil {
			return client.MetricsNopHandler.Timer(name)
		}
		return &temporalTimer{histogram, []metric.RecordOption{metric.WithAttributeSet(s.tags)}}
	})
}

func cached[T any](cache *sync.Map, key string, create func() T) T {
	value, ok := cache.Load(key)
	if !ok {
		value, _ = cache.LoadOrStore(key, create())
	}
	return value.(T)
}

type temporalCounter struct {
	counter metric.Int64Counter
	tags    []metric.AddOption
}

// Inc adds to the counter.
func (c *temporalCounter) Inc(n int64) { c.counter.Add(context.Background(), n, c.tags...) }

type temporalGauge struct {
	gauge metric.Float64Gauge
	tags  []metric.RecordOption
}

// Update sets the gauge.
func (g *temporalGauge) Update(value float64) {
	g.gauge.Record(context.Background(), value, g.tags...)
}

type temporalTimer struct {
	histogram metric.Float64Histogram
	tags      []metric.RecordOption
}

// Record adds a duration to the histogram, in seconds.
func (t *temporalTimer) Record(took time.Duration) {
	t.histogram.Record(context.Background(), took.Seconds(), t.tags...)
}
