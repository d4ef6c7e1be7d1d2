package app

import (
	"testing"
	"time"
)

func TestPlanPerWindow(t *testing.T) {
	t.Parallel()
	for plan, want := range map[Plan]int{
		PlanStarter: 500, PlanGrow: 2_000, PlanProfessional: 10_000, PlanEnterprise: 0,
	} {
		limit, ok := plan.PerWindow()
		if limit != want || ok != (plan != PlanEnterprise) {
			t.Errorf("%s: limit %d, %v, want %d, %v", plan, limit, ok, want, plan != PlanEnterprise)
		}
	}
}

func TestPlanWindow(t *testing.T) {
	t.Parallel()
	parse := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct {
		at     string
		length time.Duration
		want   string
	}{
		{"2026-03-14T12:00:00Z", time.Hour, "2026-03-14T12:00:00Z"},
		{"2026-03-14T12:59:59.999999999Z", time.Hour, "2026-03-14T12:00:00Z"},
		{"2026-03-14T18:14:00+05:45", time.Hour, "2026-03-14T12:00:00Z"},
		{"2026-03-14T12:34:56Z", 24 * time.Hour, "2026-03-14T00:00:00Z"},
		{"1970-01-01T00:00:20Z", 7 * time.Second, "1970-01-01T00:00:14Z"},
		{"2026-03-14T12:34:56.5Z", time.Second, "2026-03-14T12:34:56Z"},
	} {
		if got := PlanWindow(parse(test.at), test.length); !got.Equal(parse(test.want)) || got.Location() != time.UTC {
			t.Errorf("start of the window of %v that contains %s: %v, want %s", test.length, test.at, got, test.want)
		}
	}
}

// A tenth of a short window remains for the first attempts of its last starts.
func TestLastPlanStart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 12, 34, 56, 0, time.UTC)
	for length, want := range map[time.Duration]time.Duration{
		time.Hour: 25*time.Minute + 3*time.Second, 8 * time.Second: 7200 * time.Millisecond,
		time.Second: 900 * time.Millisecond,
	} {
		if got := LastPlanStart(at, length).Sub(at); got != want {
			t.Errorf("windows of %s: last start after %s, want %s", length, got, want)
		}
	}
}
