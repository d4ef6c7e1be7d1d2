package main

import (
	"context"
	"time"
)

// Figures of the tenants.
const (
	keyUneven  = "uneven"
	keyManyP50 = "manyP50Ms"
	keyOneP50  = "oneP50Ms"
)

// manyWebhooks is the number of webhooks of the large tenant, the most that a store can have.
const manyWebhooks = 100

// tenants measures two tenants that commit the same number of deliveries concurrently, at full speed: one with
// manyWebhooks webhooks, one with a single webhook.
func tenants(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.newStage()
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	many, one, err := s.manyAndOne(ctx)
	if err != nil {
		return sample{}, err
	}
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	if _, err := s.warmUp(ctx, worker, 2); err != nil {
		return sample{}, err
	}
	var events []event
	for range max(b.deliveries(false)/2/manyWebhooks, 1) {
		events = append(events, newEvent(many))
		events = append(events, newEvents([]*tenant{one}, manyWebhooks)...)
	}
	committed, err := b.emitter.commit(ctx, events, nil)
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, deliveriesOf(events)); err != nil {
		return sample{}, err
	}
	p50Many, p50One := s.p50Of(many, events, committed), s.p50Of(one, events, committed)
	return sample{values: map[string]float64{
		keyManyP50: p50Many, keyOneP50: p50One, keyUneven: max(p50Many, p50One) / min(p50Many, p50One),
	}}, stopWorker(ctx, worker)
}

// manyAndOne creates a tenant with manyWebhooks webhooks, and one with a single webhook at a separate receiver.
func (s *stage) manyAndOne(ctx context.Context) (many, one *tenant, err error) {
	for range s.b.stores + 1 {
		if _, err := s.newReceiver(accept); err != nil {
			return nil, nil, err
		}
	}
	var at []*receiver
	for i := range manyWebhooks {
		at = append(at, s.receivers[i%s.b.stores])
	}
	if many, err = s.newTenant(ctx, at...); err != nil {
		return nil, nil, err
	}
	one, err = s.newTenant(ctx, s.receivers[s.b.stores])
	return many, one, err
}

// p50Of returns the median time from commit to arrival of a tenant's events, in milliseconds.
func (s *stage) p50Of(t *tenant, events []event, committed time.Time) float64 {
	var its []sent
	for _, e := range events {
		if e.to == t {
			its = append(its, sent{e.subject, e.to, committed})
		}
	}
	return distributionOf(s.arrivals.delays(its, committed, time.Now())).P50
}
