package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// loadedShare is the part of the burst capacity at which latency is measured.
	loadedShare = 0.8
	// coldEvents is the number of events that warm up a worker before a steady rate.
	coldEvents = 50
)

// keyIdle is the CPU time of idle processes in ms per second.
const keyIdle = "idleMsPerSecond"

// distribution is the distribution of times from commit to arrival, in milliseconds.
type distribution struct {
	Count         int
	P50, P99, Max float64
}

// distributionOf returns the distribution of times. It sorts times, which must not be empty.
func distributionOf(ms []float64) distribution {
	slices.Sort(ms)
	return distribution{len(ms), ms[len(ms)/2], ms[len(ms)*99/100], ms[len(ms)-1]}
}

func (d distribution) values() map[string]float64 {
	return map[string]float64{keyP50: d.P50, keyP99: d.P99, keyMax: d.Max}
}

// delaysOf returns the distribution of the times of events that were committed in a period.
func (s *stage) delaysOf(events []sent, from, to time.Time) (distribution, error) {
	ms := s.arrivals.delays(events, from, to)
	if len(ms) == 0 {
		return distribution{}, errors.New("no event was committed during the measurement")
	}
	return distributionOf(ms), nil
}

// steady measures the latency of a stream for the duration of -pace, and returns its events.
func (s *stage) steady(ctx context.Context, worker *harness.Process, events *stream) (distribution, error) {
	defer events.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return distribution{}, err
	}
	from := time.Now()
	if err := pause(ctx, s.b.pace); err != nil {
		return distribution{}, err
	}
	all, err := events.stop()
	if err != nil {
		return distribution{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, deliveriesIn(all)); err != nil {
		return distribution{}, err
	}
	return s.delaysOf(all, from, time.Now())
}

// latency measures orders at a low rate.
func latency(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
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
	d, err := s.steady(ctx, worker, s.orders(ctx, float64(b.rate), s.tenants))
	if err != nil {
		return sample{}, err
	}
	return sample{values: d.values()}, stopWorker(ctx, worker)
}

// loadedLatency measures events at loadedShare of the program's burst capacity, as measured in this round if possible.
func loadedLatency(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	capacity, ok := b.results.median("bursts", p.name, keyRate)
	if !ok {
		return sample{}, errors.New("the burst capacity is not known")
	}
	rate := loadedShare * capacity
	if _, err := s.warmUp(ctx, worker, max(int(rate), coldEvents)); err != nil {
		return sample{}, err
	}
	d, err := s.steady(ctx, worker, s.emit(ctx, rate, s.tenants))
	if err != nil {
		return sample{}, err
	}
	values := d.values()
	values[keyRate] = rate
	return sample{values: values}, stopWorker(ctx, worker)
}

// lowRate measures the CPU time per delivery at a low rate, without the CPU time of idle processes.
func lowRate(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	processes, err := s.warmUp(ctx, worker, coldEvents)
	if err != nil {
		return sample{}, err
	}
	result, err := processes.beyondIdle(ctx, b.pace, func() (int, error) {
		events := s.emit(ctx, float64(b.rate), s.tenants)
		defer events.cancel()
		if err := pause(ctx, b.pace); err != nil {
			return 0, err
		}
		all, err := events.stop()
		if err != nil {
			return 0, err
		}
		_, err = s.arrivals.await(ctx, worker, deliveriesIn(all))
		return deliveriesIn(all), err
	})
	if err != nil {
		return sample{}, err
	}
	return result, stopWorker(ctx, worker)
}

// beyondIdle measures the CPU time of each unit of work, without the CPU time of the idle processes, which it measures
// before for the given duration. work returns the number of units.
func (p processes) beyondIdle(ctx context.Context, d time.Duration, work func() (int, error)) (sample, error) {
	quiet, err := p.clocks()
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	if err := pause(ctx, d); err != nil {
		return sample{}, err
	}
	before, err := p.clocks()
	if err != nil {
		return sample{}, err
	}
	idle := before.since(quiet).times(1 / time.Since(began).Seconds())
	began = time.Now()
	n, err := work()
	if err != nil {
		return sample{}, err
	}
	after, err := settle(ctx, p)
	if err != nil {
		return sample{}, err
	}
	each := after.since(before).plus(idle, -time.Since(began).Seconds()).times(1 / float64(n))
	return sample{values: map[string]float64{keyCPU: each.sum(), keyIdle: idle.sum()}, cpu: &each}, nil
}
