package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
)

func TestBacklogMetrics(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	clock, reads := start, 0
	event, due := start.Add(-90*time.Second), start.Add(-30*time.Minute)
	backlog, failure := app.Backlog{OldestEvent: &event, OldestDue: &due, Queued: 5, Pending: 4, Retrying: 3,
		DeadLetters: 2, Jobs: 1}, error(nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(api.NewBacklog(func(ctx context.Context, now time.Time) (app.Backlog, error) {
		if _, limited := ctx.Deadline(); !limited || !now.Equal(clock) {
			t.Errorf("got a read at %v, with a deadline: %v, want one at %v with a deadline", now, limited, clock)
		}
		reads++
		return backlog, failure
	}, func() time.Time { return clock }))
	admin := api.Admin(func(context.Context) error { return nil }, registry, false)
	scrape := func() string {
		recorder := httptest.NewRecorder()
		admin.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if recorder.Code != http.StatusOK {
			t.Errorf("GET /metrics: got %d %s, want 200", recorder.Code, recorder.Body)
		}
		var lines []string
		for line := range strings.Lines(recorder.Body.String()) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "comanda_"))
			}
		}
		return strings.Join(lines, "\n")
	}
	expect := func(when, want string, wantReads int) {
		t.Helper()
		if got := scrape(); got != want || reads != wantReads {
			t.Errorf("%s: got %d reads, want %d; got\n%s\nwant\n%s", when, reads, wantReads, got, want)
		}
	}
	numbers := func(events, deliveries string) string {
		return `backlog_readable 1
dead_letters 2
deliveries_waiting{state="held_back"} 0
deliveries_waiting{state="pending"} 4
deliveries_waiting{state="queued"} 5
deliveries_waiting{state="retrying"} 3
jobs_waiting 1
queue_age_seconds{queue="deliveries"} ` + deliveries + `
queue_age_seconds{queue="events"} ` + events + `
queue_age_seconds{queue="held_back"} 0`
	}
	expect("at first", numbers("90", "1800"), 1)
	clock = start.Add(9 * time.Second)
	expect("soon after", numbers("99", "1809"), 1)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint of the metrics: got %v and error %v, want neither", problems, err)
	}
	clock, failure = start.Add(10*time.Second), errors.New("down")
	expect("with the database down", "backlog_readable 0", 2)
	clock, failure, backlog = start.Add(15*time.Second), nil, app.Backlog{}
	expect("asked again too soon", "backlog_readable 0", 2)
	clock = start.Add(20 * time.Second)
	if got := scrape(); !strings.Contains(got, "readable 1") ||
		!strings.Contains(got, `queue_age_seconds{queue="events"} 0`) {
		t.Errorf("metrics of an empty queue: got\n%s\nwant backlog_readable 1 and an age of 0", got)
	}
}
