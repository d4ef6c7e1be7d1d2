package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// streamTick is the shortest time between two commits of a stream. At a higher rate, one commit contains several
	// events.
	streamTick = 10 * time.Millisecond
	// streamShortfall is the allowed shortfall of a stream, as a fraction of its rate.
	streamShortfall = 0.05
	// streamLead is the time before the events of a stream count.
	streamLead = 2 * time.Second
)

// stream commits events at a steady rate, regardless of their deliveries.
type stream struct {
	cancel  context.CancelFunc
	stopped sync.WaitGroup
	rate    float64
	began   time.Time
	events  []sent
	err     error
}

// startStream starts a stream. commit commits the n events from the i-th on.
func startStream(
	ctx context.Context, rate float64, commit func(ctx context.Context, i, n int) ([]sent, error),
) *stream {
	running, cancel := context.WithCancel(ctx)
	s := &stream{cancel: cancel, rate: rate, began: time.Now()}
	s.stopped.Go(func() {
		tick := time.NewTicker(max(streamTick, time.Duration(float64(time.Second)/rate)))
		defer tick.Stop()
		for s.err == nil {
			select {
			case <-running.Done():
				return
			case <-tick.C:
			}
			if due := int(time.Since(s.began).Seconds()*rate+0.5) - len(s.events); due > 0 {
				var more []sent
				more, s.err = commit(context.WithoutCancel(ctx), len(s.events), due)
				s.events = append(s.events, more...)
			}
		}
	})
	return s
}

// stop ends the stream and returns its events. It returns an error if the stream fell behind its rate, because the
// figures would then measure the emitter.
func (s *stream) stop() ([]sent, error) {
	took := time.Since(s.began)
	s.cancel()
	s.stopped.Wait()
	expected := s.rate*took.Seconds() - 1
	if s.err == nil && float64(len(s.events)) < (1-streamShortfall)*expected {
		return s.events, fmt.Errorf("only %d of %.0f events were emitted in %s: the clients are too slow",
			len(s.events), expected, took.Round(time.Millisecond))
	}
	return s.events, s.err
}

// emit starts a stream of events of the tenants in turn, without orders.
func (s *stage) emit(ctx context.Context, rate float64, of []*tenant) *stream {
	return startStream(ctx, rate, func(ctx context.Context, i, n int) ([]sent, error) {
		events := make([]event, n)
		for j := range n {
			events[j] = newEvent(of[(i+j)%len(of)])
		}
		at, err := s.b.emitter.commit(ctx, events, nil)
		var committed []sent
		for _, e := range events {
			committed = append(committed, sent{e.subject, e.to, at})
		}
		return committed, err
	})
}

// deliveriesIn counts the deliveries of events.
func deliveriesIn(events []sent) (n int) {
	for _, e := range events {
		n += len(e.to.webhooks)
	}
	return n
}
