package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/comanda-dev/comanda/persistence/pg"
)

var errClosed = errors.New("the database has been closed")

// grouper lets many callers share one statement (group commit). A lone caller never waits. A caller
// that comes soon after another waits for the rest of a pause, in which the next group gathers. A
// busy service thereby sends few statements.
type grouper[In, Out any] struct {
	waiting chan grouped[In, Out]
	lanes   chan struct{} // holds one for each group on its way
	closed  chan struct{}
	timeout time.Duration // of one statement
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

// newGrouper makes a grouper within a policy. run returns one Out for each In, in the same order.
func newGrouper[In, Out any](policy GroupPolicy, run func(context.Context, []In) ([]Out, error)) *grouper[In, Out] {
	g := &grouper[In, Out]{
		waiting: make(chan grouped[In, Out], policy.Size), lanes: make(chan struct{}, policy.Lanes),
		closed: make(chan struct{}), timeout: policy.Timeout, run: run,
	}
	go g.loop(policy.Size, policy.Pause)
	return g
}

// do runs in together with the other waiting callers. If ctx ends, in may still run.
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

// close ends the loop. Callers that still wait get errClosed; their work may have been done.
func (g *grouper[In, Out]) close() { close(g.closed) }

func (g *grouper[In, Out]) loop(size int, pause time.Duration) {
	rested := time.After(0)
	for {
		var first grouped[In, Out]
		select {
		case <-g.closed:
			return
		case first = <-g.waiting:
		}
		select {
		case <-g.closed:
			return
		case <-rested:
		}
		select {
		case <-g.closed:
			return
		case g.lanes <- struct{}{}:
		}
		group := g.gather(first, size)
		rested = time.After(pause)
		go func() {
			g.send(group)
			<-g.lanes
		}()
	}
}

// gather returns a group of first and the callers that wait already.
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

// send runs one group. If the group fails, each of its callers runs alone, so that one bad row
// fails only its own caller.
func (g *grouper[In, Out]) send(group []grouped[In, Out]) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	ins := make([]In, len(group))
	for i := range group {
		ins[i] = group[i].in
	}
	outs, err := g.run(ctx, ins)
	if err != nil && len(group) > 1 && !pg.OutOfReach(err) {
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
