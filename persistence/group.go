package persistence

import (
	"context"
	"errors"
	"time"
)

var errClosed = errors.New("the database has been closed")

// grouper lets many callers share one statement (group commit). While one group is on its
// way to the database the next gathers, so that a lone caller never waits and a busy
// service sends few statements.
type grouper[In, Out any] struct {
	waiting chan grouped[In, Out]
	closed  chan struct{}
	run     func(ctx context.Context, group []In) ([]Out, error)
}

type grouped[In, Out any] struct {
	in    In
	reply chan<- reply[Out]
}

type reply[Out any] struct {
	out Out
	err error
}

const (
	maxGroup     = 128
	groupTimeout = 10 * time.Second
	groupLanes   = 2 // groups on their way at once
)

// newGrouper makes a grouper of at most size callers per statement. run returns one Out
// for each In, in the same order.
func newGrouper[In, Out any](size int, run func(context.Context, []In) ([]Out, error)) *grouper[In, Out] {
	g := &grouper[In, Out]{waiting: make(chan grouped[In, Out], size), closed: make(chan struct{}), run: run}
	for range groupLanes {
		go g.loop(size)
	}
	return g
}

// do runs in with whatever else is waiting. Giving up by ctx does not take back what was
// already handed over.
func (g *grouper[In, Out]) do(ctx context.Context, in In) (Out, error) {
	replied := make(chan reply[Out], 1)
	var none Out
	select {
	case g.waiting <- grouped[In, Out]{in, replied}:
	case <-g.closed:
		return none, errClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case r := <-replied:
		return r.out, r.err
	case <-g.closed:
		return none, errClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// close ends the loops. Who still waits gets errClosed, whatever became of its work.
func (g *grouper[In, Out]) close() { close(g.closed) }

func (g *grouper[In, Out]) loop(size int) {
	for {
		select {
		case <-g.closed:
			return
		case first := <-g.waiting:
			g.send(g.gather(first, size))
		}
	}
}

// gather adds to first whatever else waits already.
func (g *grouper[In, Out]) gather(first grouped[In, Out], size int) []grouped[In, Out] {
	group := []grouped[In, Out]{first}
	for len(group) < size {
		select {
		case next := <-g.waiting:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// send runs one group. When the group fails, each of its callers is tried alone, so that
// one bad row is nobody else's failure.
func (g *grouper[In, Out]) send(group []grouped[In, Out]) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	ins := make([]In, len(group))
	for i := range group {
		ins[i] = group[i].in
	}
	outs, err := g.run(ctx, ins)
	if err != nil && len(group) > 1 && !outOfReach(err) {
		for _, one := range group {
			g.send([]grouped[In, Out]{one})
		}
		return
	}
	for i, one := range group {
		if err != nil {
			one.reply <- reply[Out]{err: err}
		} else {
			one.reply <- reply[Out]{out: outs[i]}
		}
	}
}
