package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/comanda-dev/comanda/persistence/pg"
)

var errClosed = errors.New("the delivery queue is closed")

// grouper lets many callers share one statement (group commit). A single caller does not wait. A
// caller that follows another one waits for the rest of a pause, during which the next group gathers,
// unless the group is full before or a caller is urgent. A busy service therefore sends few statements,
// whose duration is its only limit.
type grouper[In, Out any] struct {
	waiting chan grouped[In, Out]
	lanes   chan struct{} // contains one element for each running statement
	closed  chan struct{}
	timeout time.Duration // for one statement
	urgent  func(in In) bool
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

// newGrouper starts a grouper. run returns one Out for each In, in the same order. urgent reports whether a caller does
// not wait for the pause, with those that have gathered; nil = none.
func newGrouper[In, Out any](
	policy GroupPolicy, urgent func(In) bool, run func(context.Context, []In) ([]Out, error),
) *grouper[In, Out] {
	if urgent == nil {
		urgent = func(In) bool { return false }
	}
	g := &grouper[In, Out]{
		waiting: make(chan grouped[In, Out], policy.Size), lanes: make(chan struct{}, policy.Lanes),
		closed: make(chan struct{}), timeout: policy.Timeout, urgent: urgent, run: run,
	}
	go g.loop(policy.Size, policy.Pause)
	return g
}

// do runs in together with the inputs of other callers. in may still run after ctx has ended.
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

// close ends the loop. Waiting callers get errClosed; their inputs may have run.
func (g *grouper[In, Out]) close() { close(g.closed) }

func (g *grouper[In, Out]) loop(size int, pause time.Duration) {
	rested := time.After(0)
	for {
		group := g.gather(size, rested)
		if group == nil {
			return
		}
		select {
		case <-g.closed:
			return
		case g.lanes <- struct{}{}:
		}
		group = g.fill(group, size)
		rested = time.After(pause)
		go func() {
			g.send(group)
			<-g.lanes
		}()
	}
}

// gather waits for a first input, and then until the pause is over, the group is full or an input is urgent. It returns
// nil if the grouper is closed.
func (g *grouper[In, Out]) gather(size int, rested <-chan time.Time) []grouped[In, Out] {
	var group []grouped[In, Out]
	for {
		over := rested
		if len(group) == 0 {
			over = nil
		}
		select {
		case <-g.closed:
			return nil
		case <-over:
			return group
		case next := <-g.waiting:
			if group = append(group, next); len(group) == size || g.urgent(next.in) {
				return group
			}
		}
	}
}

// fill adds the inputs that have arrived while all lanes were busy.
func (g *grouper[In, Out]) fill(group []grouped[In, Out], size int) []grouped[In, Out] {
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

// send runs one group and replies to its callers. If the group fails, each input runs alone, so that
// an invalid input fails only its own caller.
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
