package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

func clockMissing() string {
	if harness.ClockLibrary() == "" {
		return "libfaketime is not installed"
	}
	return ""
}

// longestStep is the longest step of the clock of PostgreSQL.
const longestStep = time.Minute

// stepClock steps the clock of PostgreSQL by up to a minute, and back.
func stepClock(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (detail string, err error) {
	offset := 5*time.Second + time.Duration(r.Int64N(int64(longestStep-5*time.Second)))
	if r.IntN(2) == 0 {
		offset = -offset
	}
	if err := w.clock.Set(offset); err != nil {
		return "", err
	}
	// PostgreSQL follows within a second.
	return offset.String(), errors.Join(wait(ctx, lasts), w.clock.Set(0), wait(ctx, 2*time.Second))
}

// stepped reports whether a time by the clock of PostgreSQL can differ from that of the judge.
func (h *history) stepped(at time.Time) bool {
	return slices.ContainsFunc(h.Disturbances, func(d disturbance) bool {
		return d.Fault == "clock-postgres" && at.After(d.Begin.Add(-longestStep)) && at.Before(d.End.Add(longestStep))
	})
}
