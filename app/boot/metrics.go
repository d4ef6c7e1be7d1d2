package boot

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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
