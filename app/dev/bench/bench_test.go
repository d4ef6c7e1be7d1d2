package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain also runs the processes that the benchmark starts from its own program.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-minimal") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestCasesRun runs cases of the table of clients with tiny sizes. The figures are meaningless.
func TestCasesRun(t *testing.T) {
	t.Parallel()
	var report, progress strings.Builder
	err := run(t.Context(), options{
		events: 50, rounds: 1, stores: 10, rate: 20, inFlight: 1, neighbours: 1, retries: 1, retryRate: 1, scale: 100,
		flood: 2, jobs: 5, orders: 5, held: 5, pace: time.Second, outage: time.Second,
		only: "limit,fan-out-1,flood",
	}, &report, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	for _, title := range []string{tableClients.title(), "limit: the minimal sender", "CPU ms per"} {
		if !strings.Contains(report.String(), title) {
			t.Errorf("the report does not contain %q:\n%s", title, report.String())
		}
	}
}
