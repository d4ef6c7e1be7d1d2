package main

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// spans are the periods of the isolation case, from one instant to the next.
var spans = [...]struct{ key, title string }{
	{"undisturbed", "undisturbed"},
	{"beforeKnown", "until the other's first attempt timed out"},
	{"known", "from then on"},
}

// Figures of the isolation case, beside those of the spans.
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
	return append(figures, figure{key: keyKnownP50, title: "p50, last / undisturbed"},
		figure{key: keyKnownP99, title: "p99, last / undisturbed"})
}

// isolation measures healthy webhooks alone, then beside a neighbour whose events are committed all
// together and whose receiver never responds.
func isolation(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	healthy := s.tenants
	hanging, err := newReceiver(s.certificate, newArrivals(func() {}), accept) // the stage's log is the healthy ones'
	if err != nil {
		return sample{}, err
	}
	defer hanging.close()
	hanging.hold()
	neighbour, err := s.newTenant(ctx, hanging)
	if err != nil {
		return sample{}, err
	}
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	orders := s.orders(ctx, float64(b.rate), healthy)
	defer orders.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return sample{}, err
	}
	instants := []time.Time{time.Now()}
	if err := pause(ctx, b.pace); err != nil {
		return sample{}, err
	}
	instants = append(instants, time.Now())
	if _, err := b.emitter.commit(ctx, newEvents([]*tenant{neighbour}, b.neighbours), nil); err != nil {
		return sample{}, err
	}
	if err := until(ctx, worker, "the neighbour's first attempt has timed out", s.timedOut(ctx, neighbour)); err != nil {
		return sample{}, err
	}
	instants = append(instants, time.Now())
	if err := pause(ctx, b.pace); err != nil {
		return sample{}, err
	}
	instants = append(instants, time.Now())
	events, err := orders.stop()
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, deliveriesIn(events)); err != nil {
		return sample{}, err
	}
	values, err := s.isolationValues(events, instants)
	return sample{values: values}, err
}

// timedOut reports whether an attempt of a tenant has ended, which only a timeout ends.
func (s *stage) timedOut(ctx context.Context, t *tenant) func() (bool, error) {
	var ids []app.SubscriptionID
	for _, w := range t.webhooks {
		ids = append(ids, w.id)
	}
	return func() (ended bool, err error) {
		err = s.b.emitter.scan(ctx, &ended, "SELECT EXISTS (SELECT FROM attempts WHERE subscription_id = ANY ($1))", ids)
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
