package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// deadLetterAttempts is the number of attempts until the dead letter, as many as with the
	// production schedule.
	deadLetterAttempts = 6
	// deadLetterShare is the part of -n that fails until the dead letter, as a divisor.
	deadLetterShare = 5
)

// deadLetters measures receivers that respond with 503 immediately until all deliveries are dead
// letters. The schedule is scaled to a second between attempts.
func deadLetters(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(refuse))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	schedule := strings.TrimSuffix(strings.Repeat("1s,", deadLetterAttempts-1), ",")
	worker, err := b.startWorker(ctx, p, false, map[string]string{"COMANDA_RETRY_SCHEDULE": schedule})
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	warm, n := len(s.tenants), max(b.events/deadLetterShare, len(s.tenants))
	processes, err := s.warmUp(ctx, worker, warm)
	if err != nil {
		return sample{}, err
	}
	if err := s.awaitDead(ctx, worker, warm); err != nil {
		return sample{}, err
	}
	before, err := settle(ctx, processes)
	if err != nil {
		return sample{}, err
	}
	s.arrivals.reset()
	began, err := b.emitter.commit(ctx, newEvents(s.tenants, n), nil)
	if err != nil {
		return sample{}, err
	}
	if err := s.awaitDead(ctx, worker, warm+n); err != nil {
		return sample{}, err
	}
	took := time.Since(began)
	after, err := settle(ctx, processes)
	if err != nil {
		return sample{}, err
	}
	each := after.since(before).times(1 / float64(n))
	return sample{cpu: &each, values: map[string]float64{
		keyCPU: each.sum(), keyRate: float64(n) / took.Seconds(),
		keyDoubled: float64(s.arrivals.beyond(deadLetterAttempts)),
	}}, stopWorker(ctx, worker)
}

// awaitDead waits until there are n dead letters.
func (s *stage) awaitDead(ctx context.Context, worker *harness.Process, n int) error {
	return until(ctx, worker, fmt.Sprintf("%d deliveries are dead letters", n), func() (bool, error) {
		if err := pause(ctx, quietStep); err != nil { // the query takes time from the worker
			return false, err
		}
		dead, err := s.with(ctx, app.DeliveryDeadLetter)
		return dead >= n, err
	})
}
