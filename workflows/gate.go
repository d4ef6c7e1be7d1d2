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
	probeEvery   = time.Second
	probeSoon    = 250 * time.Millisecond // while the gate is shut, or after a start that indicates it
	probeTimeout = time.Second
)

// errShut is the error of starts that a shut gate ends.
var errShut = errors.New("the worker releases the claim, because it cannot use Temporal or the database")

// Gate is shut while a worker cannot start workflows, or cannot load deliveries. Starts in progress then end, their
// claims are released, and nothing is claimed. Other workers start the released deliveries and jobs.
type Gate struct {
	probe     func(context.Context) error
	log       zerolog.Logger
	suspected chan struct{} // receives when a start indicates that the gate must be shut
	stopped   chan struct{} // closed at the end of Run

	lock   sync.Mutex
	onOpen []func()
	open   context.Context // done while the gate is shut
	shut   context.CancelFunc
	probed chan struct{} // closed after the next probe
}

// NewGate returns an open gate. While probe returns an error, the gate is shut.
func NewGate(probe func(context.Context) error, log zerolog.Logger) *Gate {
	g := &Gate{
		probe: probe, log: log, suspected: make(chan struct{}, 1), stopped: make(chan struct{}),
		probed: make(chan struct{}),
	}
	g.open, g.shut = context.WithCancel(context.Background())
	return g
}

// whenOpen makes the gate call f whenever it opens again.
func (g *Gate) whenOpen(f func()) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.onOpen = append(g.onOpen, f)
}

// state returns a context that is done while the gate is shut, and a channel that is closed after the next probe.
func (g *Gate) state() (open context.Context, probed <-chan struct{}) {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.open, g.probed
}

func (g *Gate) isShut() bool {
	open, _ := g.state()
	return open.Err() != nil
}

// start runs a start for at most startTimeout. It returns errShut if the gate is shut or shuts. After a start that did
// not reach Temporal, a probe decides whether the gate shuts, because other starts may succeed.
func (g *Gate) start(ctx context.Context, start func(context.Context) error) error {
	open, _ := g.state()
	if open.Err() != nil {
		return errShut
	}
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	err := start(limited)
	if err != nil && ctx.Err() == nil && (open.Err() != nil || withoutTemporal(err) && g.confirm(ctx)) {
		return errShut
	}
	return err
}

// confirm waits for the next probe and reports whether the gate is shut.
func (g *Gate) confirm(ctx context.Context) bool {
	open, probed := g.state()
	notify(g.suspected)
	select {
	case <-probed:
	case <-open.Done():
	case <-g.stopped:
	case <-ctx.Done():
	}
	return open.Err() != nil
}

// Run probes until ctx is done, and shuts or opens the gate.
func (g *Gate) Run(ctx context.Context) {
	defer close(g.stopped)
	for sleep(ctx, probeSoon, nil) && (g.isShut() || sleep(ctx, probeEvery-probeSoon, g.suspected)) {
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		err := g.probe(limited)
		cancel()
		if ctx.Err() == nil {
			g.set(err)
		}
	}
}

// sleep waits until a time has passed, or until it receives from early. It returns false if ctx is done.
func sleep(ctx context.Context, wait time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}

// set shuts or opens the gate after a probe.
func (g *Gate) set(fault error) {
	g.lock.Lock()
	var opened []func()
	switch shut := g.open.Err() != nil; {
	case fault != nil && !shut:
		g.log.Warn().Err(fault).Msg("cannot start workflows; claims are left to other workers")
		g.shut()
	case fault == nil && shut:
		g.log.Info().Msg("can start workflows again")
		g.open, g.shut = context.WithCancel(context.Background())
		opened = g.onOpen
	}
	close(g.probed)
	g.probed = make(chan struct{})
	g.lock.Unlock()
	for _, f := range opened {
		f()
	}
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
