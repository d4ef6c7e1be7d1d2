package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// Figures of the neighbour that commits many events.
const (
	keyMade       = "madePerSecond"
	keyDispatched = "dispatchedPerSecond"
)

const (
	// floodInsert is the number of events in one transaction of the neighbour.
	floodInsert = 1000
	// floodWarmUp is the number of the neighbour's events before that.
	floodWarmUp = 2
	// countEvery is the time between two counts of the neighbour's dispatched deliveries.
	countEvery = time.Second
)

// flood is a run in which a neighbour commits -flood events for manyWebhooks webhooks each, beside tenants whose
// clients commit at a steady rate.
type flood struct{ workers int }

func (f flood) run(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	others := slices.Clone(s.tenants)
	neighbour, made, err := s.newNeighbour(ctx)
	if err != nil {
		return sample{}, err
	}
	var worker *harness.Process
	for range f.workers {
		if worker, err = b.startWorker(ctx, p, false, nil); err != nil {
			return sample{}, err
		}
		defer worker.Kill()
	}
	if err := b.warmUpNeighbour(ctx, worker, neighbour, made); err != nil {
		return sample{}, err
	}
	s.tenants = others // the neighbour's arrivals have a separate record
	// The neighbour's work would delay new connections until they time out.
	if _, err := s.warmUpClients(ctx, worker, coldEvents); err != nil {
		return sample{}, err
	}
	clients := s.clients(ctx, float64(b.rate), others)
	defer clients.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return sample{}, err
	}
	from := time.Now()
	for rest := b.flood; rest > 0; rest -= floodInsert {
		events := newEvents([]*tenant{neighbour}, min(rest, floodInsert))
		if _, err := b.emitter.commit(ctx, events, nil); err != nil {
			return sample{}, err
		}
	}
	values, err := b.neighbourWork(ctx, neighbour, made)
	if err != nil {
		return sample{}, err
	}
	to := time.Now()
	events, err := clients.stop()
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, deliveriesIn(events)); err != nil {
		return sample{}, err
	}
	d, err := s.delaysOf(events, from, to)
	maps.Copy(values, d.values())
	return sample{values: values}, err
}

// newNeighbour creates a tenant with manyWebhooks webhooks at receivers with a separate record of arrivals.
func (s *stage) newNeighbour(ctx context.Context) (*tenant, *arrivals, error) {
	made := newArrivals(func() {})
	var at []*receiver
	for range s.b.stores {
		r, err := newReceiver(s.certificate, made, accept)
		if err != nil {
			return nil, nil, err
		}
		s.receivers, at = append(s.receivers, r), append(at, r)
	}
	for len(at) < manyWebhooks {
		at = append(at, at[len(at)-s.b.stores])
	}
	neighbour, err := s.newTenant(ctx, at[:manyWebhooks]...)
	return neighbour, made, err
}

// warmUpNeighbour delivers floodWarmUp events of the neighbour, so that its receivers count as quick.
func (b *bench) warmUpNeighbour(
	ctx context.Context, worker *harness.Process, neighbour *tenant, made *arrivals,
) error {
	events := newEvents([]*tenant{neighbour}, floodWarmUp)
	if _, err := b.emitter.commit(ctx, events, nil); err != nil {
		return err
	}
	if _, err := made.await(ctx, worker, deliveriesOf(events)); err != nil {
		return fmt.Errorf("warm-up of the neighbour: %w", err)
	}
	made.reset()
	return nil
}

// neighbourWork measures the work for the neighbour until all its deliveries have arrived, at most for the duration of
// -pace: its deliveries made and dispatched per second.
func (b *bench) neighbourWork(ctx context.Context, neighbour *tenant, made *arrivals) (map[string]float64, error) {
	var webhooks []string
	for _, w := range neighbour.webhooks {
		webhooks = append(webhooks, string(w.id))
	}
	all, began := b.flood*manyWebhooks, time.Now()
	var arrived, dispatched int
	var making, dispatching time.Duration
	for arrived < all && making < b.pace {
		if err := pause(ctx, min(countEvery, b.pace-making)); err != nil {
			return nil, err
		}
		if dispatched < all {
			const query = "SELECT count(*) FROM deliveries WHERE subscription_id = ANY ($1)"
			if err := b.emitter.scan(ctx, &dispatched, query, webhooks); err != nil {
				return nil, err
			}
			dispatched -= floodWarmUp * manyWebhooks
			dispatching = time.Since(began)
		}
		var last time.Time
		arrived, last = made.count()
		if making = time.Since(began); arrived == all {
			making = last.Sub(began)
		}
	}
	return map[string]float64{
		keyMade: float64(arrived) / making.Seconds(), keyDispatched: float64(dispatched) / dispatching.Seconds(),
	}, nil
}
