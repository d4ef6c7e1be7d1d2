package main

import (
	"context"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// crash is what the death of a worker repeats.
type crash struct {
	InFlight int     `json:"inFlight"` // attempts whose receiver had not answered yet
	Repeated int     `json:"repeated"` // of these, how many came again
	Others   int     `json:"others"`   // of all others, before and after; none should
	Seconds  float64 `json:"seconds"`  // from the start of the next worker to the last that came again
}

// crash kills a worker while a number of attempts wait for their answers, and starts
// another.
func (b *bench) crash(ctx context.Context) (*crash, error) {
	b.bar.Describe("crash")
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return nil, err
	}
	defer func() { worker.Kill() }()
	b.receiver.expect(0)
	others, err := b.arrived(ctx, b.inFlight)
	if err != nil {
		return nil, err
	}
	b.receiver.hold()
	inFlight, err := b.arrived(ctx, b.inFlight)
	if err != nil {
		return nil, err
	}
	worker.Kill()
	b.receiver.release()
	started := time.Now()
	if worker, err = b.programs.StartComanda(ctx, b.infra, "worker", nil); err != nil {
		return nil, err
	}
	after, err := b.arrived(ctx, b.inFlight)
	if err != nil {
		return nil, err
	}
	err = until(ctx, "all has been delivered", func() (ended bool, err error) {
		err = b.db.System().DB.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT FROM deliveries WHERE status IN ('queued', 'pending', 'retrying'))").Scan(&ended)
		return ended, err
	})
	if err != nil {
		return nil, err
	}
	result := &crash{InFlight: len(inFlight)}
	for _, id := range inFlight {
		if times := b.receiver.arrivals(id); len(times) > 1 {
			result.Repeated++
			result.Seconds = max(result.Seconds, times[len(times)-1].Sub(started).Seconds())
		}
	}
	for _, id := range append(others, after...) {
		if len(b.receiver.arrivals(id)) > 1 {
			result.Others++
		}
	}
	return result, nil
}

// arrived places orders and waits until all of them have arrived.
func (b *bench) arrived(ctx context.Context, n int) ([]app.OrderID, error) {
	var ids []app.OrderID
	for i := range n {
		id, err := b.place(ctx, i)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, until(ctx, fmt.Sprintf("%d orders have arrived", n), func() (bool, error) {
		for _, id := range ids {
			if len(b.receiver.arrivals(id)) == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}
