package boot

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/comanda-dev/comanda/app"
)

// newMetrics returns a registry with the metrics of the Go runtime and of the process.
func newMetrics() *prometheus.Registry {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return metrics
}

// countEnded registers the counter of ended deliveries and returns the function that increments it.
func countEnded(metrics prometheus.Registerer) func(app.DeliveryStatus, int) {
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "comanda_deliveries_total",
		Help: "Deliveries that ended in this process, by outcome. A replayed delivery counts again.",
	}, []string{"outcome"})
	metrics.MustRegister(ended)
	for _, outcome := range []app.DeliveryStatus{app.DeliveryDelivered, app.DeliveryDeadLetter, app.DeliveryCancelled} {
		ended.WithLabelValues(string(outcome)) // a rate is correct only if the series starts at 0
	}
	return func(outcome app.DeliveryStatus, n int) { ended.WithLabelValues(string(outcome)).Add(float64(n)) }
}
