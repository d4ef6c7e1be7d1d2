package main

import (
	"context"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// waitLimit is the time after which a run is aborted.
	waitLimit = 10 * time.Minute
	// pollEvery is the time between two checks of a condition. It does not affect the measured times.
	pollEvery = 20 * time.Millisecond
)

// The processes are idle when they use less than quietMs of CPU time in a quietStep. The bench waits
// at most quietLimit for that.
const (
	quietStep  = 500 * time.Millisecond
	quietMs    = 60
	quietLimit = 20 * time.Second
)

// until polls until a condition holds. It fails if the worker ends.
func until(ctx context.Context, worker *harness.Process, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		if worker.Ended() {
			return fmt.Errorf("waiting until %s: the worker has ended\n%s", what, worker.Output())
		}
		if err := pause(ctx, pollEvery); err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
	}
}

// settle waits until the processes are idle and returns their clocks then.
func settle(ctx context.Context, p processes) (clocks, error) {
	deadline := time.Now().Add(quietLimit)
	last, err := p.clocks()
	if err != nil {
		return nil, err
	}
	for {
		if err := pause(ctx, quietStep); err != nil {
			return nil, err
		}
		now, err := p.clocks()
		if err != nil {
			return nil, err
		}
		if now.since(last).sum() < quietMs || time.Now().After(deadline) {
			return now, nil
		}
		last = now
	}
}

// pause waits for a duration, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
