package app

import (
	"testing"
	"time"
)

func TestRetentionEvery(t *testing.T) {
	t.Parallel()
	for bodies, want := range map[time.Duration]time.Duration{
		720 * time.Hour: time.Hour, 24 * time.Hour: time.Hour, 12 * time.Hour: 30 * time.Minute,
		3 * time.Second: time.Second,
	} {
		if got := (Retention{Bodies: bodies}).Every(); got != want {
			t.Errorf("%v: every %v, want %v", bodies, got, want)
		}
	}
}
