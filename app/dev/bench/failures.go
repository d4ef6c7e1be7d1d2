package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// killedAfter is the share of a run's deliveries that have arrived when the worker is killed, as a divisor.
	killedAfter = 3
	// afterKill is the time in which the requests that a killed worker has written still arrive.
	afterKill = 100 * time.Millisecond
	// failingFor is the time for which receivers respond with 500 before they heal, and healingSchedule the retries
	// during and after that time.
	failingFor      = 4 * time.Second
	healingSchedule = "1s,2s,4s,8s"
)

// Figures of the failures.
const (
	keyFirst = "firstS"
	keyReady = "readyS"
	keyP90   = "p90Ms"
	keyLost  = "lost"
)

// kill kills a worker while clients commit as fast as they can, and starts another one immediately. It measures the
// time until the next delivery arrives.
func kill(ctx context.Context, b *bench, p program) (sample, error) {
	load := clientLoad{}
	s, worker, end, err := load.start(ctx, b, p)
	if err != nil {
		return sample{}, err
	}
	defer end()
	if _, err := load.warmUp(ctx, s, worker); err != nil {
		return sample{}, err
	}
	n := load.events(b)
	committed := make(chan error, 1)
	go func() {
		_, err := s.commitEach(ctx, s.tenants, n)
		committed <- err
	}()
	if _, err := s.arrivals.await(ctx, worker, n/killedAfter); err != nil {
		return sample{}, err
	}
	worker.Kill()
	killed := time.Now()
	next, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer next.Kill()
	ready := time.Since(killed)
	if err := <-committed; err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, next, n); err != nil {
		return sample{}, err
	}
	first := s.arrivals.firstAfter(killed.Add(afterKill))
	if first.IsZero() {
		return sample{}, errors.New("every delivery had arrived when the worker was killed; increase -n")
	}
	return sample{values: map[string]float64{
		keyFirst: first.Sub(killed).Seconds(), keyReady: ready.Seconds(),
		keyDoubled: float64(s.arrivals.beyond(1)),
	}}, stopWorker(ctx, next)
}

// withoutTemporal measures two workers, one of which loses the way to Temporal for the duration of -outage.
func withoutTemporal(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return sample{}, err
	}
	address := b.infra.Ready.TemporalAddress
	proxy := harness.NewProxyOn(listener, func() (net.Conn, error) { return net.Dial("tcp", address) }, 0)
	defer proxy.Close()
	lost, err := b.startWorker(ctx, p, false, map[string]string{"TEMPORAL_ADDRESS": proxy.Address})
	if err != nil {
		return sample{}, err
	}
	defer lost.Kill()
	well, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer well.Kill()
	if _, err := s.warmUp(ctx, well, coldEvents); err != nil {
		return sample{}, err
	}
	clients := s.clients(ctx, float64(b.rate), s.tenants)
	defer clients.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return sample{}, err
	}
	proxy.Hold()
	from := time.Now()
	if err := pause(ctx, b.outage); err != nil {
		return sample{}, err
	}
	proxy.Release()
	to := time.Now()
	events, err := clients.stop()
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, well, deliveriesIn(events)); err != nil {
		return sample{}, err
	}
	d, err := s.delaysOf(events, from, to)
	values := d.values()
	values[keyDoubled] = float64(s.arrivals.beyond(1))
	return sample{values: values}, err
}

// heals measures receivers that respond with 500 for failingFor: the deliveries that none of them has accepted in the
// end.
func heals(ctx context.Context, b *bench, p program) (sample, error) {
	var healthy atomic.Bool
	healthy.Store(true)
	s, err := b.spread(ctx, 1, all(func(int) int {
		if healthy.Load() {
			return http.StatusNoContent
		}
		return http.StatusInternalServerError
	}))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, map[string]string{"COMANDA_RETRY_SCHEDULE": healingSchedule})
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	if _, err := s.warmUp(ctx, worker, coldEvents); err != nil {
		return sample{}, err
	}
	healthy.Store(false)
	time.AfterFunc(failingFor, func() { healthy.Store(true) })
	if _, err := s.commitEach(ctx, s.tenants, b.events); err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, b.events); err != nil {
		return sample{}, err
	}
	open := func() (int, error) { return s.with(ctx, app.DeliveryQueued, app.DeliveryPending, app.DeliveryRetrying) }
	err = until(ctx, worker, "every delivery has ended", func() (bool, error) {
		n, err := open()
		return n == 0, err
	})
	if err != nil {
		return sample{}, err
	}
	if s.arrivals.beyond(1) == 0 {
		return sample{}, fmt.Errorf("no attempt failed in %s", failingFor)
	}
	return sample{values: map[string]float64{
		keyLost: float64(b.events - s.arrivals.accepted()), keyDoubled: float64(s.arrivals.beyond(1)),
	}}, stopWorker(ctx, worker)
}
