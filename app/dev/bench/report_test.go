package main

import (
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestReport checks that ratios are computed per round, that goals apply to ratios, and that each program is compared
// with its own runs and with the shared bare limit.
func TestReport(t *testing.T) {
	t.Parallel()
	b := &bench{options: options{rounds: 3}, results: newResults(), programs: []program{
		{name: "this"}, {name: "previous", version: "v1"},
	}}
	selected, err := selectCases(cases(), "strict")
	if err != nil {
		t.Fatal(err)
	}
	bare, strict := selected[0], selected[1]
	for _, round := range []struct{ bare, this, previous float64 }{{100, 90, 50}, {200, 160, 100}, {50, 50, 40}} {
		b.results.add(bare, b.programs[0], rate(round.bare))
		b.results.add(strict, b.programs[0], rate(round.this))
		b.results.add(strict, b.programs[1], rate(round.previous))
	}
	report := newReport(b, selected, b.results)
	var text strings.Builder
	if err := report.print(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"### " + tableWorkflows.title(), "| workflows/s | 100 | 50 to 200 |",
		"| strict mode (this) | deliveries/s | 90 | 50 to 160 | 0.90 × bare | ≥ 0.85 | yes |",
		"| strict mode (previous) | deliveries/s | 50 | 40 to 100 | 0.50 × bare | ≥ 0.85 | **no** |",
		"| bare limit of the Temporal server | 3 | 1 | 0 | 0 | 2 | 0 | | 7 |",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), line) {
			t.Errorf("the report does not contain %q:\n%s", line, text.String())
		}
	}
}

func rate(perSecond float64) sample {
	spent := cpu{Service: 1, Temporal: 2, Bench: 7}
	return sample{values: map[string]float64{keyRate: perSecond, keyCPU: spent.sum()}, cpu: &spent}
}

// TestClocksSince checks that the time of an ended process is counted: it is part of that of the ended processes.
func TestClocksSince(t *testing.T) {
	t.Parallel()
	const postmaster = 10
	before := clocks{
		1: {ownerService, 100}, 11: {ownerSQL, 20}, 12: {ownerPostgres, 30}, -postmaster: {ownerPostgres, 5},
	}
	now := clocks{
		1: {ownerService, 160}, 11: {ownerSQL, 25}, 13: {ownerPostgres, 4}, -postmaster: {ownerPostgres, 5 + 37},
	}
	if got, want := now.since(before), (cpu{Service: 60, SQL: 5, Postgres: 7 + 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	var ms []float64
	for i := range 200 {
		ms = append(ms, float64(200-i))
	}
	if got, want := distributionOf(ms), (distribution{200, 101, 181, 199, 200}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSubjectIn(t *testing.T) {
	t.Parallel()
	made := newEvent(&tenant{store: "sto_1"})
	product, err := app.NewEvent(app.EventProductCreated, "sto_1", time.Now(), app.Product{ID: "prd_1"})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{string(made.Body): made.subject, string(product.Body): "prd_1"} {
		if got, ok := subjectIn([]byte(body)); !ok || got != want {
			t.Errorf("got subject %q, %v, want %q in %s", got, ok, want, body)
		}
	}
	for _, body := range []string{"", "prd_1", `{"data":{"id":"prd_1`} {
		if got, ok := subjectIn([]byte(body)); ok {
			t.Errorf("got subject %q in %q, want none", got, body)
		}
	}
}
