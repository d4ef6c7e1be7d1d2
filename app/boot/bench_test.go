package boot

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// BenchmarkTemporalMetrics reports the metrics of about one delivery, with the SDK's handler for OpenTelemetry and with
// ours.
func BenchmarkTemporalMetrics(b *testing.B) {
	for name, create := range map[string]func(metric.Meter) client.MetricsHandler{
		"SDK": func(meter metric.Meter) client.MetricsHandler {
			return opentelemetry.NewMetricsHandler(
				opentelemetry.MetricsHandlerOptions{Meter: meter, UseMonotonicCounters: true})
		},
		"Comanda": func(meter metric.Meter) client.MetricsHandler { return &temporalSeries{meter: meter} },
	} {
		b.Run(name, func(b *testing.B) {
			meter, err := temporalMeter(prometheus.NewRegistry())
			if err != nil {
				b.Fatal(err)
			}
			metrics := create(meter)
			metrics = metrics.WithTags(map[string]string{"namespace": "default"})
			b.ReportAllocs()
			for b.Loop() {
				for _, operation := range []string{"StartWorkflowExecution", "RespondWorkflowTaskCompleted"} {
					call := metrics.WithTags(map[string]string{
						"workflow_type": "Delivery", "activity_type": "none", "task_queue": "deliveries",
					}).WithTags(map[string]string{"namespace": "default", "operation": operation})
					call.Counter("temporal_request").Inc(1)
					call.Timer("temporal_request_latency").Record(time.Millisecond)
				}
				task := metrics.WithTags(map[string]string{"workflow_type": "Delivery"})
				for _, timer := range []string{
					"temporal_workflow_task_execution_latency", "temporal_workflow_task_replay_latency",
					"temporal_workflow_endtoend_latency",
				} {
					task.Timer(timer).Record(time.Millisecond)
				}
				task.Counter("temporal_workflow_completed").Inc(1)
				attempt := metrics.WithTags(map[string]string{"workflow_type": "Delivery", "activity_type": "Deliver"})
				attempt.Counter("temporal_local_activity_total").Inc(1)
				attempt.Timer("temporal_local_activity_execution_latency").Record(time.Millisecond)
				for _, worker := range []string{"WorkflowWorker", "LocalActivityWorker"} {
					slots := metrics.WithTags(map[string]string{"worker_type": worker})
					slots.Gauge("temporal_worker_task_slots_used").Update(1)
					slots.Gauge("temporal_worker_task_slots_available").Update(1)
				}
			}
		})
	}
}
