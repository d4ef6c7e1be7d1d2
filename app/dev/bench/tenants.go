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

// tenants measures two tenants that commit equally many deliveries together, at full speed: one with
// manyWebhooks webhooks, one with a single webhook.
func tenants(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.newStage()
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	for range b.stores + 1 {
		if _, err := s.newReceiver(accept); err != nil {
			return sample{}, err
		}
	}
	one, err := s.newTenant(ctx, s.receivers[b.stores])
	if err != nil {
		return sample{}, err
	}
	var at []*receiver
	for i := range manyWebhooks {
		at = append(at, s.receivers[i%b.stores])
	}
	many, err := s.newTenant(ctx, at...)
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
	for range max(p.deliveries(b.options, false)/2/manyWebhooks, 1) {
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
	p50 := map[*tenant]float64{}
	for _, t := range []*tenant{many, one} {
		var its []sent
		for _, e := range events {
			if e.to == t {
				its = append(its, sent{e.order, e.to, committed})
			}
		}
		p50[t] = distributionOf(s.arrivals.delays(its, committed, time.Now())).P50
	}
	return sample{values: map[string]float64{
		keyManyP50: p50[many], keyOneP50: p50[one],
		keyUneven: max(p50[many], p50[one]) / min(p50[many], p50[one]),
	}}, stopWorker(ctx, worker)
}
