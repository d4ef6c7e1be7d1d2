package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// eventsPerOrder is the number of events of an order.
	eventsPerOrder = 6
	// turnRounds is the number of rounds in which turnLatency commits one order of each tenant.
	turnRounds = 20
	// heldRate is the number of events per second beside held-back deliveries.
	heldRate = 20
)

// Figures of orders.
const (
	keyInversions  = "inversions"
	keyAloneP50    = "aloneP50Ms"
	keyBesideAlone = "besideOverAlone"
)

// orders is a run at full speed in which each order has several events. All are committed together.
type orders struct {
	ordering app.Ordering
}

func (o orders) run(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spreadWith(ctx, settings{fanOut: 1, ordering: o.ordering}, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	events := newOrders(s.tenants, b.orders, eventsPerOrder)
	result, err := s.saturate(ctx, worker, events)
	if err != nil {
		return sample{}, err
	}
	result.values[keyInversions] = float64(s.inversions(events))
	return result, stopWorker(ctx, worker)
}

// inversions returns the number of deliveries that arrived before one of an earlier event of the same order.
func (s *stage) inversions(events []event) (n int) {
	latest := map[delivery]time.Time{} // by order and webhook
	for _, e := range events {
		for _, w := range e.to.webhooks {
			at, line := s.arrivals.of(delivery{e.subject, w.number})[0], delivery{e.resource, w.number}
			if at.Before(latest[line]) {
				n++
			} else {
				latest[line] = at
			}
		}
	}
	return n
}

// turnLatency measures the time from the arrival of a delivery, whose receiver responds immediately, to the arrival of
// the next one of its order. The worker has little other work.
func turnLatency(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spreadWith(ctx, settings{fanOut: 1, ordering: app.OrderingResource}, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	if _, err := s.warmUp(ctx, worker, coldEvents); err != nil {
		return sample{}, err
	}
	var ms []float64
	for range turnRounds {
		events := newOrders(s.tenants, len(s.tenants), eventsPerOrder)
		if _, err := b.emitter.commit(ctx, events, nil); err != nil {
			return sample{}, err
		}
		if _, err := s.arrivals.await(ctx, worker, len(events)); err != nil {
			return sample{}, err
		}
		previous := map[string]time.Time{} // by order
		for _, e := range events {
			at := s.arrivals.of(delivery{e.subject, e.to.webhooks[0].number})[0]
			if before, ok := previous[e.resource]; ok {
				ms = append(ms, float64(at.Sub(before).Microseconds())/1000)
			}
			previous[e.resource] = at
		}
		s.arrivals.reset()
	}
	return sample{values: distributionOf(ms).values()}, stopWorker(ctx, worker)
}

// besideHeld measures the other orders of a webhook, first alone, then beside many deliveries of one order that are
// held back because the first one is not accepted.
func besideHeld(ctx context.Context, b *bench, p program) (sample, error) {
	var refusing atomic.Bool
	s, err := b.spreadWith(ctx, settings{fanOut: 1, ordering: app.OrderingResource}, all(func(int) int {
		if refusing.Load() {
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	}))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, map[string]string{"COMANDA_RETRY_SCHEDULE": "24h"})
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	processes, err := s.warmUp(ctx, worker, coldEvents)
	if err != nil {
		return sample{}, err
	}
	alone, err := s.steady(ctx, worker, processes, s.emit(ctx, heldRate, s.tenants[:1]))
	if err != nil {
		return sample{}, err
	}
	if err := s.holdBack(ctx, worker, s.tenants[0], &refusing); err != nil {
		return sample{}, err
	}
	if processes, err = s.warmUp(ctx, worker, coldEvents); err != nil {
		return sample{}, err
	}
	beside, err := s.steady(ctx, worker, processes, s.emit(ctx, heldRate, s.tenants[:1]))
	if err != nil {
		return sample{}, err
	}
	beside.values[keyAloneP50] = alone.values[keyP50]
	beside.values[keyBesideAlone] = beside.values[keyP50] / alone.values[keyP50]
	return beside, stopWorker(ctx, worker)
}

// holdBack commits events of one order of a tenant. The first one is not accepted, so that -held deliveries are held
// back.
func (s *stage) holdBack(ctx context.Context, worker *harness.Process, t *tenant, refusing *atomic.Bool) error {
	events := newOrders([]*tenant{t}, 1, 1+s.b.held)
	refusing.Store(true)
	if _, err := s.b.emitter.commit(ctx, events[:1], nil); err != nil {
		return err
	}
	err := until(ctx, worker, "the first delivery waits for a retry", func() (bool, error) {
		n, err := s.with(ctx, app.DeliveryRetrying)
		return n == 1, err
	})
	if err != nil {
		return err
	}
	refusing.Store(false)
	if _, err := s.b.emitter.commit(ctx, events[1:], nil); err != nil {
		return err
	}
	err = until(ctx, worker, "all events are dispatched", func() (done bool, err error) {
		return done, s.b.emitter.scan(ctx, &done, "SELECT NOT EXISTS (SELECT FROM undispatched)")
	})
	if err != nil {
		return err
	}
	s.arrivals.reset()
	var held int
	err = s.b.emitter.scan(ctx, &held, `SELECT count(*) FROM deliveries
		WHERE subscription_id = ANY ($1) AND status = 'queued' AND held`, s.subscriptions())
	if err == nil && held != s.b.held {
		err = fmt.Errorf("%d deliveries are held back, not %d", held, s.b.held)
	}
	return err
}
