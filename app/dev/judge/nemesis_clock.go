package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

func clockMissing() string {
	if harness.ClockLibrary() == "" {
		return "libfaketime is not installed"
	}
	return ""
}

// stepClock steps the clock of PostgreSQL by up to a minute, and back.
func stepClock(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (detail string, err error) {
	offset := time.Duration(5+r.IntN(56)) * time.Second
	if r.IntN(2) == 0 {
		offset = -offset
	}
	if err := w.clock.Set(offset); err != nil {
		return "", err
	}
	// PostgreSQL follows within a second.
	return offset.String(), errors.Join(wait(ctx, lasts), w.clock.Set(0), wait(ctx, 2*time.Second))
}
