package boot

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/persistence/pg"
)

// poolMetrics collects the metrics of the database's connection pools.
type poolMetrics func() []pg.PoolStats

// poolMetric is one metric of all pools.
type poolMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(pg.PoolStats) float64
}

func newPoolMetric(
	name, help string, kind prometheus.ValueType, value func(pg.PoolStats) float64,
) poolMetric {
	return poolMetric{prometheus.NewDesc(name, help, []string{"pool", "role"}, nil), kind, value}
}

var poolMetricList = [...]poolMetric{
	newPoolMetric("comanda_database_connections_limit", "Maximum number of connections of the pool.",
		prometheus.GaugeValue, func(s pg.PoolStats) float64 { return float64(s.Conns) }),
	newPoolMetric("comanda_database_connections_in_use", "Connections of the pool that callers use.",
		prometheus.GaugeValue, func(s pg.PoolStats) float64 { return float64(s.InUse) }),
	newPoolMetric("comanda_database_waiting_callers", "Callers that wait for a connection of the pool.",
		prometheus.GaugeValue, func(s pg.PoolStats) float64 { return float64(s.Waiting) }),
	newPoolMetric("comanda_database_wait_seconds_total", "Time that callers waited for a connection of the pool.",
		prometheus.CounterValue, func(s pg.PoolStats) float64 { return s.Waited.Seconds() }),
	newPoolMetric("comanda_database_refused_callers_total", "Callers that got no connection of the pool in time.",
		prometheus.CounterValue, func(s pg.PoolStats) float64 { return float64(s.Refused) }),
}

// Describe sends the descriptions of the metrics.
func (poolMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range poolMetricList {
		descs <- m.desc
	}
}

// Collect sends the metrics of all pools.
func (read poolMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, stats := range read() {
		for _, m := range poolMetricList {
			metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(stats), string(stats.Purpose), stats.Role)
		}
	}
}
