package activities

import "github.com/prometheus/client_golang/prometheus"

// attemptMetrics are the metrics of attempts on this worker.
type attemptMetrics struct {
	made     *prometheus.CounterVec
	refused  *prometheus.CounterVec
	duration prometheus.Histogram
}

func newAttemptMetrics(registerer prometheus.Registerer) attemptMetrics {
	m := attemptMetrics{
		made: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_delivery_attempts_total", Help: "Attempts made, by outcome.",
		}, []string{"outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_delivery_attempts_refused_total",
			Help: "Attempts postponed because their webhook has too many running attempts, by lane.",
		}, []string{"lane"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "comanda_delivery_attempt_seconds",
			Help:    "Time from the start of an attempt to the end of the response or to the timeout.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	registerer.MustRegister(m.made, m.refused, m.duration)
	// A rate is correct only if each series starts at 0.
	for _, outcome := range []Outcome{OutcomeDelivered, OutcomeFailed} {
		m.made.WithLabelValues(string(outcome))
	}
	for _, lane := range []Lane{LaneFast, LaneSlow} {
		m.refused.WithLabelValues(string(lane))
	}
	return m
}
