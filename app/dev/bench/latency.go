package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// percentiles are of the time from commit to arrival, in milliseconds.
type percentiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50Ms"`
	P99   float64 `json:"p99Ms"`
	Max   float64 `json:"maxMs"`
}

func (p percentiles) String() string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, max %.1f ms (%d events)", p.P50, p.P99, p.Max, p.Count)
}

// isolation is how a healthy webhook fares beside one that hangs.
type isolation struct {
	Neighbours  int         `json:"neighbours"` // deliveries to the receiver that hangs
	Undisturbed percentiles `json:"undisturbed"`
	BeforeKnown percentiles `json:"beforeKnown"` // from the neighbour's commit until its first attempt has timed out
	Known       percentiles `json:"known"`       // from then on
	// How much worse than undisturbed it is once the neighbour is known.
	RatioP50 float64 `json:"ratioP50"`
	RatioP99 float64 `json:"ratioP99"`
}

// paced places orders at an even pace until it is stopped.
type paced struct {
	b       *bench
	stop    context.CancelFunc
	stopped sync.WaitGroup
	err     error
	orders  []placed
}

type placed struct {
	id app.OrderID
	at time.Time // of its commit
}

func (b *bench) startPaced(ctx context.Context) *paced {
	b.receiver.expect(0)
	ctx, stop := context.WithCancel(ctx)
	p := &paced{b: b, stop: stop}
	p.stopped.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(b.rate))
		defer tick.Stop()
		for i := 0; p.err == nil; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			id, err := b.place(context.WithoutCancel(ctx), i)
			p.orders, p.err = append(p.orders, placed{id, time.Now()}), err
		}
	})
	return p
}

// end stops placing orders and waits until all of them have arrived.
func (p *paced) end(ctx context.Context) error {
	p.stop()
	p.stopped.Wait()
	if p.err != nil {
		return p.err
	}
	return until(ctx, "every event has arrived", func() (bool, error) {
		for _, order := range p.orders {
			if len(p.b.receiver.arrivals(order.id)) == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// percentiles are of the orders committed from a time on, and before another.
func (p *paced) percentiles(from, to time.Time) percentiles {
	var ms []float64
	for _, order := range p.orders {
		if order.at.Before(from) || !order.at.Before(to) {
			continue
		}
		ms = append(ms, float64(p.b.receiver.arrivals(order.id)[0].Sub(order.at).Microseconds())/1000)
	}
	if len(ms) == 0 {
		return percentiles{}
	}
	slices.Sort(ms)
	return percentiles{len(ms), ms[len(ms)/2], ms[len(ms)*99/100], ms[len(ms)-1]}
}

// latency is measured at an even pace.
func (b *bench) latency(ctx context.Context) (*percentiles, error) {
	b.bar.Describe("latency")
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return nil, err
	}
	defer worker.Kill()
	return b.undisturbed(ctx, b.startPaced(ctx))
}

// undisturbed ends after having measured for as long as it is to be.
func (b *bench) undisturbed(ctx context.Context, p *paced) (*percentiles, error) {
	defer p.stop()
	if err := pause(ctx, time.Second); err != nil { // the first connections
		return nil, err
	}
	from := time.Now()
	if err := pause(ctx, b.pace); err != nil {
		return nil, err
	}
	to := time.Now()
	if err := p.end(ctx); err != nil {
		return nil, err
	}
	measured := p.percentiles(from, to)
	return &measured, nil
}

// isolation measures a healthy webhook alone, then beside a neighbour whose events come
// all at once and whose receiver never answers.
func (b *bench) isolation(ctx context.Context) (*isolation, error) {
	b.bar.Describe("isolation")
	result := &isolation{Neighbours: b.neighbours}
	hanging, err := b.newReceiver()
	if err != nil {
		return result, err
	}
	defer hanging.close()
	hanging.tick = func() {}
	hanging.hold()
	neighbour, err := b.open(ctx, "hanging.example", hanging)
	if err != nil {
		return result, err
	}
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return result, err
	}
	defer worker.Kill()

	p := b.startPaced(ctx)
	defer p.stop()
	if err := pause(ctx, time.Second); err != nil { // the first connections
		return result, err
	}
	from := time.Now()
	if err := pause(ctx, b.pace); err != nil {
		return result, err
	}
	burst := time.Now()
	if err := b.burst(ctx, neighbour, b.neighbours); err != nil {
		return result, err
	}
	err = until(ctx, "the neighbour is known to be slow", func() (known bool, err error) {
		err = b.db.System().DB.QueryRowContext(ctx, "SELECT slow_seen_at IS NOT NULL FROM subscription_health WHERE subscription_id = $1", neighbour.webhook).Scan(&known)
		return known, err
	})
	if err != nil {
		return result, err
	}
	known := time.Now()
	if err := pause(ctx, b.pace); err != nil {
		return result, err
	}
	to := time.Now()
	if err := p.end(ctx); err != nil {
		return result, err
	}
	result.Undisturbed, result.BeforeKnown, result.Known = p.percentiles(from, burst), p.percentiles(burst, known), p.percentiles(known, to)
	result.RatioP50, result.RatioP99 = result.Known.P50/result.Undisturbed.P50, result.Known.P99/result.Undisturbed.P99
	return result, nil
}

// until tries until a condition holds.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
