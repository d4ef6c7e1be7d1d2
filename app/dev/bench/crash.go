package main

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// crash kills a worker while attempts wait for their responses and starts another one. It counts repeated attempts.
func crash(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer func() { worker.Kill() }()
	if err := s.arrive(ctx, worker, b.inFlight); err != nil {
		return sample{}, err
	}
	for _, r := range s.receivers {
		r.hold()
	}
	events := newEvents(s.tenants, b.inFlight)
	if _, err := b.emitter.commit(ctx, events, nil); err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, 2*b.inFlight); err != nil {
		return sample{}, err
	}
	worker.Kill()
	for _, r := range s.receivers {
		r.release()
	}
	started := time.Now()
	if worker, err = b.startWorker(ctx, p, false, nil); err != nil {
		return sample{}, err
	}
	if err := s.arrive(ctx, worker, 3*b.inFlight); err != nil {
		return sample{}, err
	}
	err = until(ctx, worker, "everything has been delivered", func() (bool, error) {
		open, err := s.with(ctx, app.DeliveryQueued, app.DeliveryPending, app.DeliveryRetrying)
		return open == 0, err
	})
	if err != nil {
		return sample{}, err
	}
	return sample{values: s.repeated(events, started)}, stopWorker(ctx, worker)
}

// arrive commits one event for each attempt in flight and waits until n deliveries have arrived in total.
func (s *stage) arrive(ctx context.Context, worker *harness.Process, n int) error {
	if _, err := s.b.emitter.commit(ctx, newEvents(s.tenants, s.b.inFlight), nil); err != nil {
		return err
	}
	_, err := s.arrivals.await(ctx, worker, n)
	return err
}

// repeated counts the repetitions of events that were in flight, and of all others.
func (s *stage) repeated(inFlight []event, started time.Time) map[string]float64 {
	again, last := 0, 0.0
	for _, e := range inFlight {
		for _, w := range e.to.webhooks {
			if times := s.arrivals.of(delivery{e.subject, w.number}); len(times) > 1 {
				again += len(times) - 1
				last = max(last, times[len(times)-1].Sub(started).Seconds())
			}
		}
	}
	return map[string]float64{
		"inFlight": float64(len(inFlight)), "repeated": float64(again),
		"others": float64(s.arrivals.beyond(1) - again), "lastS": last,
	}
}
