package workflows

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Times of a gate.
const (
	probeEvery     = time.Second
	probeShutEvery = 250 * time.Millisecond // while the gate is shut
	probeTimeout   = time.Second
)

// errShut is the cause of starts that a shut gate ends.
var errShut = errors.New("the relay has released the claim, because it cannot use Temporal or the database")

// gate is shut while a relay cannot start workflows or their worker cannot load deliveries. Other relays then start the
// deliveries.
type gate struct {
	probe  func(context.Context) error // returns an error if the gate must be shut
	onOpen func()
	log    zerolog.Logger
	closed chan struct{} // receives after close

	lock sync.Mutex
	open context.Context // done while the gate is shut
	shut context.CancelCauseFunc
}

// newGate returns an open gate for starts within ctx.
func newGate(ctx context.Context, probe func(context.Context) error, onOpen func(), log zerolog.Logger) *gate {
	g := &gate{probe: probe, onOpen: onOpen, log: log, closed: make(chan struct{}, 1)}
	g.open, g.shut = context.WithCancelCause(ctx)
	return g
}

// current returns a context that is done when the gate shuts.
func (g *gate) current() context.Context {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.open
}

func (g *gate) isShut() bool { return errors.Is(context.Cause(g.current()), errShut) }

// close shuts the gate. Starts in progress fail.
func (g *gate) close(cause error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.open.Err() != nil { // shut, or the relay stops
		return
	}
	g.log.Warn().Err(cause).Msg("cannot start workflows; claims are left to other workers")
	g.shut(errShut)
	notify(g.closed)
}

// run probes until ctx is done, and opens the gate for starts within a context after a successful probe.
func (g *gate) run(ctx, starts context.Context) {
	for ctx.Err() == nil {
		wait := probeEvery
		if g.isShut() {
			wait = probeShutEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-g.closed: // the wait is shorter now
			continue
		case <-time.After(wait):
		}
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		err := g.probe(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			g.close(err)
		case g.isShut():
			g.reopen(starts)
		}
	}
}

func (g *gate) reopen(starts context.Context) {
	g.lock.Lock()
	g.open, g.shut = context.WithCancelCause(starts)
	g.lock.Unlock()
	g.log.Info().Msg("can start workflows again")
	g.onOpen()
}

// withoutTemporal reports whether a start failed because Temporal cannot be reached.
func withoutTemporal(err error) bool {
	if _, ok := errors.AsType[*serviceerror.Unavailable](err); ok {
		return true
	}
	if _, ok := errors.AsType[*serviceerror.DeadlineExceeded](err); ok {
		return true
	}
	code := status.Code(err)
	return errors.Is(err, context.DeadlineExceeded) || code == codes.Unavailable || code == codes.DeadlineExceeded
}
