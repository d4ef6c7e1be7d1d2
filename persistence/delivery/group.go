package delivery

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
	owner   func(in In) string
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
// not wait for the pause, with those that have gathered; nil = none. owner returns the owner of the rows that run locks
// for an input; nil = it locks none.
func newGrouper[In, Out any](
	policy GroupPolicy, urgent func(In) bool, owner func(In) string, run func(context.Context, []In) ([]Out, error),
) *grouper[In, Out] {
	if urgent == nil {
		urgent = func(In) bool { return false }
	}
	if owner == nil {
		owner = func(In) string { return "" }
	}
	g := &grouper[In, Out]{
		waiting: make(chan grouped[In, Out], policy.Size), lanes: make(chan struct{}, policy.Lanes),
		closed: make(chan struct{}), timeout: policy.Timeout, urgent: urgent, owner: owner, run: run,
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

// send runs one group and replies to its callers. If the group fails, each input runs alone, so that an invalid input
// fails only its own caller. If it has waited for a lock, its halves run, so that locked rows fail only the inputs of
// their owner: many commits would take long if slow ones were the reason.
func (g *grouper[In, Out]) send(group []grouped[In, Out]) {
	outs, err := g.runGroup(group)
	switch {
	case pg.IsLocked(err):
		g.sendHalves(group, err)
	case err == nil, len(group) == 1, pg.OutOfReach(err):
		respond(group, outs, err)
	default:
		for i := range group {
			g.send(group[i : i+1])
		}
	}
}

// sendHalves runs the halves of a group that has failed. The inputs of an owner stay together. If they are the whole
// group, they fail.
func (g *grouper[In, Out]) sendHalves(group []grouped[In, Out], err error) {
	slices.SortStableFunc(group, func(a, b grouped[In, Out]) int { return cmp.Compare(g.owner(a.in), g.owner(b.in)) })
	owner := g.owner(group[len(group)/2].in)
	first := slices.IndexFunc(group, func(one grouped[In, Out]) bool { return g.owner(one.in) == owner })
	if first == 0 {
		first = slices.IndexFunc(group, func(one grouped[In, Out]) bool { return g.owner(one.in) != owner })
	}
	if first < 0 {
		respond(group, nil, err)
		return
	}
	g.send(group[:first])
	g.send(group[first:])
}

func (g *grouper[In, Out]) runGroup(group []grouped[In, Out]) ([]Out, error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	ins := make([]In, len(group))
	for i := range group {
		ins[i] = group[i].in
	}
	return g.run(ctx, ins)
}

// respond sends the results of a group to its callers.
func respond[In, Out any](group []grouped[In, Out], outs []Out, err error) {
	for i, one := range group {
		if err != nil {
			one.reply <- reply[Out]{err: err}
		} else {
			one.reply <- reply[Out]{out: outs[i]}
		}
	}
}
