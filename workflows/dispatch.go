package workflows

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// dispatchLimit is the number of events and deliveries that a dispatch writes, which takes about 5 ms. Events of
	// other websites wait for as long.
	dispatchLimit = 250
	// dispatchRest is the pause after a dispatch, in relation to its duration and at most promptStart, while queued
	// deliveries wait for their start. More of them would only take processor time and connections from starts and from
	// records.
	dispatchRest = 3
)

// dispatchPacing decides when a relay dispatches events. Its loop is separate from that of the claims, so that neither
// waits for the statements of the other.
type dispatchPacing struct {
	at       time.Time // next dispatch
	last     time.Time
	rest     time.Duration // after the last dispatch, see dispatchRest
	notified bool          // since the last dispatch
}

// starting is the state of the starts in which a dispatch is made.
type starting struct {
	free freeStarters
	// backlog means that the last claim could not take all deliveries that may start.
	backlog bool
}

// startDispatch returns a pacing in which a dispatch is due.
func startDispatch(now time.Time) dispatchPacing { return dispatchPacing{at: now} }

func (p *dispatchPacing) due(now time.Time) bool { return !now.Before(p.at) }

// notify makes a dispatch due after a notification: immediately if starters are free, otherwise after its rest, to
// collect more events whose deliveries could not start sooner. In an overload it collects the events of burstPoll for
// a burst. A relay that cannot claim waits for burstPoll, so that one that claims dispatches first.
func (p *dispatchPacing) notify(now time.Time, free freeStarters, overloaded, canClaim bool) {
	p.notified = true
	at := now
	switch {
	case !canClaim:
		at = now.Add(burstPoll)
	case overloaded:
		at = p.last.Add(max(burstPoll, p.rest))
	case !free.healthy:
		at = p.last.Add(max(busyPoll, p.rest))
	}
	if at.Before(p.at) {
		p.at = at
	}
}

// dispatched updates the pacing after a dispatch that took the given time. It reports whether a claim is due: also
// after a notification without an event, because the relay is notified of replays too. After an error, what was
// dispatched before it is claimed, and a dispatch without events waits for the next poll.
func (p *dispatchPacing) dispatched(
	now time.Time, took time.Duration, did app.Dispatched, starts starting, err error,
) (claim bool) {
	claim = p.notified && err == nil || did.Deliveries > 0
	p.last, p.rest, p.at, p.notified = now, 0, now.Add(idlePoll), p.notified && err != nil
	if starts.backlog || !starts.free.healthy {
		p.rest = min(dispatchRest*took, promptStart)
	}
	switch {
	case err != nil && did.Events == 0, !did.More:
	case did.Events == 0:
		p.at = now.Add(busyPoll)
	case !starts.free.healthy:
		p.at = now.Add(max(busyPoll, p.rest))
	default:
		p.at = now.Add(p.rest)
	}
	return claim
}

// dispatchLoop dispatches events until ctx is done.
func (r *relayRun) dispatchLoop(ctx context.Context) {
	pacing := startDispatch(time.Now())
	for ctx.Err() == nil {
		if pacing.due(time.Now()) {
			began := time.Now()
			did, err := r.store.Dispatch(ctx, r.now(), dispatchLimit)
			if err != nil && ctx.Err() == nil {
				r.log.Error().Err(err).Msg("cannot dispatch events; retrying")
			}
			now, starts := time.Now(), starting{r.freeStarters(), r.backlog.Load()}
			if pacing.dispatched(now, now.Sub(began), did, starts, err) {
				notify(r.dispatched)
			}
		}
		timer := time.NewTimer(time.Until(pacing.at))
		select {
		case <-ctx.Done():
		case <-r.wake:
			pacing.notify(time.Now(), r.freeStarters(), r.overloaded.Load(), !r.gate.isShut())
		case <-timer.C:
		}
		timer.Stop()
	}
}
