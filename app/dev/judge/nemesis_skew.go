package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// makeSkewable replaces Comanda's program by one whose clock can be stepped.
func makeSkewable(ctx context.Context, w *world) (err error) {
	w.programs, err = w.programs.Skewable(ctx, w.dir)
	return err
}

// skew returns the offset of the clock of a part.
func (p *part) skew(w *world) harness.Skew {
	return harness.Skew{File: filepath.Join(w.dir, "clock of "+p.name)}
}

// skewPart steps the clock of a part to minutes ahead of the others or behind them, to another offset, and back.
func skewPart(program string) disturb {
	return func(ctx context.Context, w *world, r *rand.Rand, lasts time.Duration) (detail string, err error) {
		p := w.pick(r, program)
		defer func() { err = errors.Join(err, p.skew(w).Set(0)) }()
		detail = p.name
		for range 2 {
			offset := time.Duration(r.IntN(2*mostSkew+1)-mostSkew) * time.Second
			if err := p.skew(w).Set(offset); err != nil {
				return "", err
			}
			detail += fmt.Sprintf(", %+.0f s", offset.Seconds())
			if err := wait(ctx, lasts/2); err != nil {
				return "", err
			}
		}
		return detail, nil
	}
}

// skewed reports whether a time by the clock of any process can differ from that of the judge.
func (h *history) skewed(at time.Time) bool {
	return slices.ContainsFunc(h.Disturbances, func(d disturbance) bool {
		return strings.HasPrefix(d.Fault, "clock-") && at.After(d.Begin.Add(-mostSkew*time.Second)) &&
			at.Before(d.End.Add(mostSkew*time.Second))
	})
}

// mostSkew is the largest offset in seconds. Receivers accept a signature whose time differs by up to five minutes.
const mostSkew = 240
