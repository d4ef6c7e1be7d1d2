package app

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestWatchdogTick(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)
	at := func(days float64) time.Time { return since.Add(time.Duration(days * float64(24*time.Hour))) }
	for name, c := range map[string]struct {
		until    float64   // end of the last evaluated day, in days since the streak began
		days     int       // days counted before
		failures []float64 // failed attempts, in days since the streak began
		now      float64   // in days since the streak began
		want     string    // counted days and consequence
		next     float64   // in days since the streak began; 0 = not checked
	}{
		"within the first day":             {0, 0, []float64{0, .5}, .9, "", 1},
		"at the end of the first day":      {0, 0, []float64{0}, 1, "1 warn", 2},
		"second day":                       {1, 1, []float64{0, 1.5}, 2, "2", 3},
		"day without an attempt":           {1, 1, []float64{0}, 2, "1", 3},
		"failure at the start of a day":    {1, 1, []float64{0, 2}, 2, "1", 3},
		"no day ended since the last":      {2, 2, []float64{0, 1.5, 2.1}, 2.5, "2", 3},
		"third day":                        {2, 2, []float64{0, 1.5, 2.1}, 3, "3 warn", 4},
		"several days since the last":      {0, 0, []float64{0, .1, 4.5, 90}, 100.5, "3 warn", 101},
		"sixth counted day":                {9, 5, []float64{0, 9}, 10.2, "6 warn", 11},
		"seventh counted day":              {9, 6, []float64{0, 9}, 10.2, "7 deactivate", 0},
		"more than seven days to evaluate": {0, 0, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 20, "7 deactivate", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := WatchdogPolicy{Day: 24 * time.Hour, Days: 7}
			watch := Watch{since, at(c.until), c.days}
			tick, err := p.Tick(watch, at(c.now), func(from time.Time) (time.Time, bool, error) {
				for _, f := range c.failures {
					if !at(f).Before(from) {
						return at(f), true, nil
					}
				}
				return time.Time{}, false, nil
			})
			got := ""
			if tick.Watch.Days > 0 {
				got = string(rune('0' + tick.Watch.Days))
			}
			if tick.Warn {
				got += " warn"
			}
			if tick.Deactivate {
				got += " deactivate"
			}
			if err != nil || got != c.want || c.next > 0 && !tick.Next.Equal(at(c.next)) {
				t.Errorf("%s: %q, next %v, error %v, want %q, next %v", name, got, tick.Next, err, c.want, at(c.next))
			}
		})
	}
	broken := errors.New("broken")
	fail := func(time.Time) (time.Time, bool, error) { return time.Time{}, false, broken }
	policy := WatchdogPolicy{Day: time.Hour, Days: 7}
	if _, err := policy.Tick(Watch{Since: since, Until: since}, at(1), fail); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestWatchdogWarnings(t *testing.T) {
	t.Parallel()
	for days, want := range map[int][]int{
		1: nil, 2: {1}, 3: {1, 2}, 4: {1, 3}, 5: {1, 3, 4}, 7: {1, 3, 5, 6}, 10: {1, 3, 5, 7, 9},
	} {
		var got []int
		for day := range days + 2 {
			if (WatchdogPolicy{Days: days}).Warns(day) {
				got = append(got, day)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("warnings of %d days: %v, want %v", days, got, want)
		}
	}
}
