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

// distribution is the distribution of times from commit to arrival, in milliseconds.
type distribution struct {
	Count              int
	P50, P90, P99, Max float64
}

// distributionOf returns the distribution of times. It sorts times, which must not be empty.
func distributionOf(ms []float64) distribution {
	slices.Sort(ms)
	return distribution{len(ms), ms[len(ms)/2], ms[len(ms)*9/10], ms[len(ms)*99/100], ms[len(ms)-1]}
}

func (d distribution) values() map[string]float64 {
	return map[string]float64{keyP50: d.P50, keyP90: d.P90, keyP99: d.P99, keyMax: d.Max}
}

// delaysOf returns the distribution of the times of events that were committed in a period.
func (s *stage) delaysOf(events []sent, from, to time.Time) (distribution, error) {
	ms := s.arrivals.delays(events, from, to)
	if len(ms) == 0 {
		return distribution{}, errors.New("no event was committed during the measurement")
	}
	return distributionOf(ms), nil
}

// steady measures a stream for the duration of -pace: the time from commit to arrival, and the CPU time of all
// processes per delivery.
func (s *stage) steady(ctx context.Context, worker *harness.Process, p processes, events *stream) (sample, error) {
	defer events.cancel()
	if err := pause(ctx, streamLead); err != nil {
		return sample{}, err
	}
	from := time.Now()
	before, err := p.clocks()
	if err != nil {
		return sample{}, err
	}
	if err := pause(ctx, s.b.pace); err != nil {
		return sample{}, err
	}
	after, err := p.clocks()
	if err != nil {
		return sample{}, err
	}
	to := time.Now()
	all, err := events.stop()
	if err != nil {
		return sample{}, err
	}
	if _, err := s.arrivals.await(ctx, worker, deliveriesIn(all)); err != nil {
		return sample{}, err
	}
	d, err := s.delaysOf(all, from, to)
	if err != nil {
		return sample{}, err
	}
	each := after.since(before).times(1 / float64(d.Count))
	values := d.values()
	values[keyCPU] = each.sum()
	return sample{values: values, cpu: &each}, nil
}

// loadedLatency measures events at loadedShare of the program's burst capacity, as measured in this round if possible.
func loadedLatency(ctx context.Context, b *bench, measured program) (sample, error) {
	s, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	worker, err := b.startWorker(ctx, measured, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	capacity, ok := b.results.median("bursts", measured.name, keyRate)
	if !ok {
		return sample{}, errors.New("the burst capacity is not known")
	}
	rate := loadedShare * capacity
	p, err := s.warmUp(ctx, worker, max(int(rate), coldEvents))
	if err != nil {
		return sample{}, err
	}
	result, err := s.steady(ctx, worker, p, s.emit(ctx, rate, s.tenants))
	if err != nil {
		return sample{}, err
	}
	result.values[keyRate] = rate
	return result, stopWorker(ctx, worker)
}

// idle measures the CPU time of idle processes in milliseconds per second, for the given duration.
func (p processes) idle(ctx context.Context, d time.Duration) (float64, error) {
	before, err := p.clocks()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause(ctx, d); err != nil {
		return 0, err
	}
	after, err := p.clocks()
	return after.since(before).sum() / time.Since(began).Seconds(), err
}
