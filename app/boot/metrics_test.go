package boot

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
	"github.com/comanda-dev/comanda/workflows"
)

// registry records the names of the registered metrics that begin with comanda_.
type registry struct {
	*prometheus.Registry
	names []string
}

var fqName = regexp.MustCompile(`fqName: "(comanda_[^"]*)"`)

func (r *registry) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		descs := make(chan *prometheus.Desc, 100)
		collector.Describe(descs)
		close(descs)
		for desc := range descs {
			if name := fqName.FindStringSubmatch(desc.String()); name != nil {
				r.names = append(r.names, name[1])
			}
		}
	}
	r.Registry.MustRegister(collectors...)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	metrics := &registry{Registry: newMetrics()}
	countEnded(metrics)(app.DeliveryDelivered, 3)
	metrics.MustRegister(api.NewBacklog(db.Backlog, time.Now), poolMetrics(func() []pg.PoolStats {
		return []pg.PoolStats{{
			Pool: pg.Pool{Role: pg.RoleSystem, Purpose: pg.Relay, Conns: 4}, InUse: 3, Waiting: 2,
			Waited: 1500 * time.Millisecond, Refused: 1,
		}}
	}))
	activities.NewDeliveries(nil, nil, activities.DefaultDeliveryPolicy(time.Second), time.Now, metrics, zerolog.Nop())
	workflows.NewReconciler(nil, nil, time.Minute, time.Now, metrics, zerolog.Nop())
	activities.NewMails(nil, nil, "", time.Now, metrics)
	server := api.New(api.Config{
		DB: db.DB, Keyring: persistencetest.Keyring(), Issuer: "https://comanda.example", AccessTTL: time.Minute,
		RefreshTTL: time.Hour, Metrics: metrics,
	})
	defer server.Close()
	server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/auth/me", nil))
	temporal, err := temporalMetrics(metrics)
	if err != nil {
		t.Fatal(err)
	}
	const start = "StartWorkflowExecution"
	for range 2 {
		both := temporal.WithTags(map[string]string{"operation": start, "namespace": "default"})
		both.Counter("temporal_request").Inc(1)
	}
	temporal = temporal.WithTags(map[string]string{"namespace": "default"}).WithTags(
		map[string]string{"operation": start},
	)
	failed := temporal.WithTags(map[string]string{"status_code": "UNAVAILABLE"}) // a series with other labels
	failed.Counter("temporal_request").Inc(1)
	temporal.Timer("temporal_request_latency").Record(20 * time.Millisecond)
	temporal.Gauge("temporal_worker_task_slots_used").Update(7)

	recorder := httptest.NewRecorder()
	admin := api.Admin(func(context.Context) error { return nil }, metrics, false)
	admin.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	scraped := recorder.Body.String()
	for _, line := range []string{
		`comanda_deliveries_total{outcome="delivered"} 3`,
		`comanda_deliveries_total{outcome="dead_letter"} 0`,
		`comanda_delivery_attempts_total{outcome="failed"} 0`,
		`comanda_backlog_readable 1`,
		`comanda_queue_age_seconds{queue="events"} 0`,
		`comanda_database_connections_limit{pool="relay",role="comanda_system"} 4`,
		`comanda_database_connections_in_use{pool="relay",role="comanda_system"} 3`,
		`comanda_database_waiting_callers{pool="relay",role="comanda_system"} 2`,
		`comanda_database_wait_seconds_total{pool="relay",role="comanda_system"} 1.5`,
		`comanda_database_refused_callers_total{pool="relay",role="comanda_system"} 1`,
		`temporal_request_total{namespace="default",operation="StartWorkflowExecution"} 2`,
		`temporal_request_total{namespace="default",operation="StartWorkflowExecution",status_code="UNAVAILABLE"} 1`,
		`temporal_request_latency_seconds_bucket{namespace="default",operation="StartWorkflowExecution",le="0.025"} 1`,
		`temporal_request_latency_seconds_bucket{namespace="default",operation="StartWorkflowExecution",le="0.005"} 0`,
		`temporal_worker_task_slots_used{namespace="default",operation="StartWorkflowExecution"} 7`,
	} {
		if recorder.Code != http.StatusOK || !strings.Contains(scraped, line+"\n") {
			t.Errorf("GET /metrics: got status %d and no line %s, want 200 and the line", recorder.Code, line)
		}
	}
	if t.Failed() {
		t.Log(scraped)
	}
	problems, err := promlint.New(strings.NewReader(scraped)).Lint()
	if err != nil {
		t.Errorf("promlint: %v", err)
	}
	for _, problem := range problems {
		// the SDK sets no help text
		if problem.Text != "no help text" || !strings.HasPrefix(problem.Metric, "temporal_") {
			t.Errorf("%s: got the problem %q, want none", problem.Metric, problem.Text)
		}
	}
	checkDocumented(t, metrics.names)
}

// checkDocumented compares the names of metrics with the table in docs/operating-webhooks.md.
func checkDocumented(t *testing.T, names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating-webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(comanda_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, row[1])
	}
	slices.Sort(rows)
	slices.Sort(names)
	if diff := cmp.Diff(names, rows); diff != "" {
		t.Errorf("registered and documented metrics differ (- registered, + documented):\n%s", diff)
	}
}
