package main

import (
	"context"
	"fmt"
	"time"
)

// Figures of the retries.
const (
	keyLateP50   = "lateP50S"
	keyLateP99   = "lateP99S"
	keyLateMax   = "lateMaxS"
	keyNeighbour = "neighbours"
	keyMissing   = "missing"
)

const (
	// otherRetries is the rate of the other tenants' deliveries, per second.
	otherRetries = 5
	// hangLead is the time between the neighbour's last first attempt and its first retry.
	hangLead = 3 * time.Second
	// lateLimit is the delay of a retry after which the measurement ends without it.
	lateLimit = 2 * time.Minute
)

// retries measures the delay of other tenants' retries while a neighbour's retries hang. The neighbour's deliveries
// fail at the rate of -retry-rate. Then its receiver begins to hang, and their retries fall due at the same rate. The
// deliveries of the other tenants fail once during the same time, so that their retries fall due among those of the
// neighbour. A retry is due one delay after the first attempt.
func retries(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.newStage()
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	neighbour, hanging, err := s.neighbourAndOthers(ctx)
	if err != nil {
		return sample{}, err
	}
	seeding := time.Duration(float64(b.retries) / float64(b.retryRate) * float64(time.Second))
	delay := (seeding + hangLead).Round(time.Second)
	worker, err := b.startWorker(ctx, p, false, map[string]string{"COMANDA_RETRY_SCHEDULE": delay.String() + ",24h"})
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()

	failing := s.emit(ctx, float64(b.retryRate), []*tenant{neighbour})
	defer failing.cancel()
	others := s.emit(ctx, otherRetries, s.tenants[1:])
	defer others.cancel()
	if err := pause(ctx, seeding); err != nil {
		return sample{}, err
	}
	theirs, err := failing.stop()
	if err != nil {
		return sample{}, err
	}
	ours, err := others.stop()
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, len(theirs)+len(ours)); err != nil {
		return sample{}, err
	}
	hanging.hold()
	b.screen.say(fmt.Sprintf("%d retries begin to hang; the others' end in about %s", len(theirs), delay))
	values, err := s.lateness(ctx, ours, delay)
	if err != nil {
		return sample{}, err
	}
	values[keyNeighbour] = float64(len(theirs))
	return sample{values: values}, nil
}

// neighbourAndOthers creates the neighbour, whose receiver fails, and -stores other tenants, whose receivers fail once
// per delivery.
func (s *stage) neighbourAndOthers(ctx context.Context) (neighbour *tenant, failing *receiver, err error) {
	if failing, err = s.newReceiver(refuse); err != nil {
		return nil, nil, err
	}
	if neighbour, err = s.newTenant(ctx, failing); err != nil {
		return nil, nil, err
	}
	for range s.b.stores {
		r, err := s.newReceiver(acceptRetries)
		if err != nil {
			return nil, nil, err
		}
		if _, err := s.newTenant(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	return neighbour, failing, nil
}

// lateness waits for the second attempts of events and returns their delays. An attempt that is still missing at the
// end has the delay that it has reached by then.
func (s *stage) lateness(ctx context.Context, events []sent, delay time.Duration) (map[string]float64, error) {
	var late []float64
	missing := 0
	for _, e := range events {
		for _, d := range e.deliveries() {
			due := s.arrivals.of(d)[0].Add(delay)
			var made []time.Time
			for made = s.arrivals.of(d); len(made) < 2 && time.Since(due) < lateLimit; made = s.arrivals.of(d) {
				if err := pause(ctx, pollEvery); err != nil {
					return nil, err
				}
			}
			at := time.Now()
			if len(made) > 1 {
				at = made[1]
			} else {
				missing++
			}
			late = append(late, at.Sub(due).Seconds())
		}
	}
	d := distributionOf(late)
	return map[string]float64{
		keyLateP50: d.P50, keyLateP99: d.P99, keyLateMax: d.Max, keyMissing: float64(missing),
	}, nil
}
