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
	// lateLimit is how late a retry may be until the measurement ends without it.
	lateLimit = 2 * time.Minute
)

// retries measures how late other tenants' retries are made while a neighbour's retries hang. The
// neighbour's deliveries fail at -retry-rate. Then its receiver begins to hang, and their retries
// fall due at the same rate. The others' deliveries fail once during the same time, so that their
// retries fall due among the neighbour's. A retry is due one delay after the first attempt.
func retries(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.newStage()
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	hanging, err := s.newReceiver(refuse)
	if err != nil {
		return sample{}, err
	}
	neighbour, err := s.newTenant(ctx, hanging)
	if err != nil {
		return sample{}, err
	}
	for range b.stores {
		r, err := s.newReceiver(acceptRetries)
		if err != nil {
			return sample{}, err
		}
		if _, err := s.newTenant(ctx, r); err != nil {
			return sample{}, err
		}
	}
	seeding := time.Duration(float64(b.options.retries) / float64(b.retryRate) * float64(time.Second))
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

// lateness waits for the second attempts of events and returns how late they were. An attempt that
// does not come in time is as late as it is then.
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
	return map[string]float64{keyLateP50: d.P50, keyLateP99: d.P99, keyLateMax: d.Max, keyMissing: float64(missing)}, nil
}
