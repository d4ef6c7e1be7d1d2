package pg

import (
	"testing"
	"time"
)

// TestClock checks that the time follows the readings, whatever the clock of the process shows.
func TestClock(t *testing.T) {
	t.Parallel()
	process := time.Now()
	database := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var c clock
	if got := c.now(); got.Before(process) {
		t.Errorf("before the first reading: got %s, want the time of the process", got)
	}
	for _, step := range []struct {
		name                    string
		database                time.Duration // since its first reading
		process, took, expected time.Duration // expected at the end of the reading
	}{
		{"a first reading that takes long", 0, 0, 2 * time.Second, 0},
		{"a time between begin and end", 9 * time.Second, 9 * time.Second, 2 * time.Second, 9 * time.Second},
		{"a later time", 19 * time.Second, 18 * time.Second, 2 * time.Second, 19 * time.Second},
		{"a reading that is quicker", 22 * time.Second, 22 * time.Second, 0, 22 * time.Second},
		{"a reading that is slower", 24 * time.Second, 23 * time.Second, 2 * time.Second, 25 * time.Second},
		{"a database that is ahead", time.Minute, 30 * time.Second, 0, time.Minute},
		{"a long reading of a database that is ahead", time.Hour, 40 * time.Second, 2 * time.Second, time.Hour},
		{"a database that steps back", 5 * time.Second, 50 * time.Second, 10 * time.Millisecond, 5 * time.Second},
	} {
		began := process.Add(step.process)
		ended := began.Add(step.took)
		c.correct(database.Add(step.database), began, ended)
		if got := c.last.Load().at(ended).Sub(database); got != step.expected {
			t.Errorf("%s: got %s, want %s", step.name, got, step.expected)
		}
	}
}
