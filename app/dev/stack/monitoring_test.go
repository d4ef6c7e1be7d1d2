package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// metricLabels returns the labels of each metric that the processes report: those of the table in the documentation,
// which a test of app/boot compares with the registered metrics, those of Temporal's SDK, and some of Go's.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	series := map[string][]string{
		"process_cpu_seconds_total": {}, "process_resident_memory_bytes": {}, "go_goroutines": {},
	}
	add := func(name, kind string, labels ...string) {
		switch kind {
		case "histogram":
			series[name+"_bucket"] = append(slices.Clone(labels), "le")
			series[name+"_count"], series[name+"_sum"] = labels, labels
		default:
			series[name] = labels
		}
	}
	page, err := os.ReadFile("../../../docs/operating-webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(comanda_[a-z_]+)` \\| (counter|gauge|histogram)(?:; ([^|]*))? \\|")
	label := regexp.MustCompile("(?:^|; )((?:`[a-z]+`(?:, )?)+)")
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		names := label.FindString(row[3])
		add(row[1], row[2], strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune("`, ;", r) })...)
	}
	sdk := filepath.Join(strings.TrimSpace(goList(t, "{{.Dir}}", "go.temporal.io/sdk")), "internal/common/metrics")
	constants, err := os.ReadFile(filepath.Join(sdk, "constants.go"))
	if err != nil {
		t.Fatal(err)
	}
	tags := []string{"task_queue", "worker_type", "workflow_type", "operation", "namespace", "status_code"}
	prefix := "temporal_"
	for _, name := range regexp.MustCompile(`= TemporalMetricsPrefix \+ "([a-z_]+)"`).
		FindAllStringSubmatch(string(constants), -1) {
		add(prefix+name[1], "gauge", tags...)
		add(prefix+name[1]+"_total", "counter", tags...)
		add(prefix+name[1]+"_seconds", "histogram", tags...)
	}
	return series
}

// checkExpression reports metrics and labels of an expression that no process reports.
func checkExpression(t *testing.T, known map[string][]string, what, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	used := 0
	var names []string // of labels, in grouping clauses
	available := []string{"job", "instance"}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			used++
			has, ok := known[node.Name]
			if !ok {
				t.Errorf("%s: no process reports the metric %s", what, node.Name)
			}
			available = append(available, has...)
			for _, matcher := range node.LabelMatchers {
				if matcher.Name != model.MetricNameLabel && matcher.Name != "job" && !slices.Contains(has, matcher.Name) {
					t.Errorf("%s: %s has the labels %v, not %s", what, node.Name, has, matcher.Name)
				}
			}
		case *parser.AggregateExpr:
			names = append(names, node.Grouping...)
		}
		return nil
	})
	if used == 0 {
		t.Errorf("%s: the expression %q uses no metric", what, expression)
	}
	for _, name := range names {
		if !slices.Contains(available, name) {
			t.Errorf("%s: the expression groups by %s; its metrics have %v", what, name, available)
		}
	}
}

func TestPrometheusRules(t *testing.T) {
	t.Parallel()
	known := metricLabels(t)
	groups, faults := rulefmt.ParseFile("../../../deploy/monitoring/rules.yml", false, model.UTF8Validation)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	alerts := map[string]bool{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if alerts[rule.Alert] {
				t.Errorf("%s: two alerts have this name", rule.Alert)
			}
			alerts[rule.Alert] = true
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("%s: got %v and %v, want a severity, a summary and a description",
					rule.Alert, rule.Labels, rule.Annotations)
			}
			checkExpression(t, known, rule.Alert, rule.Expr)
		}
	}
	if len(alerts) == 0 {
		t.Error("there is no alert")
	}
}

func TestGrafanaDashboard(t *testing.T) {
	t.Parallel()
	known := metricLabels(t)
	text, err := os.ReadFile("../../../deploy/monitoring/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*")
	shown := map[string]bool{}
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("%s: got the id %d twice", panel.Title, panel.ID)
		}
		ids[panel.ID] = true
		if panel.Type == "row" {
			continue
		}
		if panel.Description == "" || len(panel.Targets) == 0 || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("%s: got %+v, want a description, an expression and a place", panel.Title, panel)
		}
		for _, target := range panel.Targets {
			checkExpression(t, known, panel.Title, variables.Replace(target.Expr))
			for name := range known {
				if strings.Contains(target.Expr, name) {
					shown[name] = true
				}
			}
		}
	}
	for name := range known {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if strings.HasPrefix(name, "comanda_") && !shown[name] && !shown[base+"_bucket"] &&
			name != "comanda_backlog_readable" {
			t.Errorf("no panel shows %s", name)
		}
	}
}
