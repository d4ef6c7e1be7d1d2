package main

import (
	"context"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// spans are the periods of the isolation case, from one instant to the next.
var spans = [...]struct{ key, title string }{
	{"undisturbed", "undisturbed"},
	{"beforeKnown", "until the other's first attempt timed out"},
	{"known", "from then on"},
}

// Figures of the isolation case, in addition to those of the spans.
const (
	keyKnownP50 = "knownOverUndisturbedP50"
	keyKnownP99 = "knownOverUndisturbedP99"
)

func isolationFigures() []figure {
	var figures []figure
	for _, span := range spans {
		for _, f := range latencyFigures(goal{}, goal{}) {
			figures = append(figures, figure{key: span.key + "." + f.key, title: f.title + ", " + span.title})
		}
	}
	return append(figures, figure{key: keyKnownP50, title: "p50, last / undisturbed", goal: atMost(1.08)},
		figure{key: keyKnownP99, title: "p99, last / undisturbed", goal: atMost(1.03)})
}

// isolationRate is the number of events per second of all tenants together.
const isolationRate = 200

// isolation measures healthy webhooks while clients commit events at a steady rate, first undisturbed, then beside a
// neighbour whose receiver no longer responds. The neighbour also commits many events in one transaction.
func isolation(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	// A separate record of arrivals: the stage records only those of healthy webhooks.
	hanging, err := newReceiver(s.certificate, newArrivals(func() {}), accept)
	if err != nil {
		return sample{}, err
	}
	defer hanging.close()
	neighbour, err := s.newTenant(ctx, hanging)
	if err != nil {
		return sample{}, err
	}
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	clients := s.clients(ctx, isolationRate, s.tenants)
	defer clients.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return sample{}, err
	}
	var instants []time.Time
	for _, span := range []func() error{
		func() error { return pause(ctx, b.pace) },
		func() error {
			hanging.hold()
			return s.disturb(ctx, worker, neighbour)
		},
		func() error { return pause(ctx, b.pace) },
	} {
		instants = append(instants, time.Now())
		if err := span(); err != nil {
			return sample{}, err
		}
	}
	instants = append(instants, time.Now())
	events, err := clients.stop()
	if err != nil {
		return sample{}, err
	}
	events = slices.DeleteFunc(events, func(e sent) bool { return e.to == neighbour })
	if _, err := s.arrivals.await(ctx, worker, deliveriesIn(events)); err != nil {
		return sample{}, err
	}
	values, err := s.isolationValues(events, instants)
	return sample{values: values}, err
}

// disturb commits the events of the neighbour and waits until its first attempt has timed out.
func (s *stage) disturb(ctx context.Context, worker *harness.Process, neighbour *tenant) error {
	events := newEvents([]*tenant{neighbour}, s.b.neighbours)
	if _, err := s.b.emitter.commit(ctx, events, nil); err != nil {
		return err
	}
	return until(ctx, worker, "the neighbour's first attempt has timed out", s.timedOut(ctx, neighbour))
}

// timedOut reports whether an attempt of a tenant has failed. Only a timeout fails it.
func (s *stage) timedOut(ctx context.Context, t *tenant) func() (bool, error) {
	var ids []app.SubscriptionID
	for _, w := range t.webhooks {
		ids = append(ids, w.id)
	}
	return func() (ended bool, err error) {
		const query = "SELECT EXISTS (SELECT FROM attempts WHERE subscription_id = ANY ($1) AND status <> 'delivered')"
		err = s.b.emitter.scan(ctx, &ended, query, ids)
		return ended, err
	}
}

func (s *stage) isolationValues(events []sent, instants []time.Time) (map[string]float64, error) {
	values := map[string]float64{}
	for i, span := range spans {
		d, err := s.delaysOf(events, instants[i], instants[i+1])
		if err != nil {
			return nil, err
		}
		for key, value := range d.values() {
			values[span.key+"."+key] = value
		}
	}
	first, last := spans[0].key+".", spans[len(spans)-1].key+"."
	values[keyKnownP50] = values[last+keyP50] / values[first+keyP50]
	values[keyKnownP99] = values[last+keyP99] / values[first+keyP99]
	return values, nil
}
