package workflows

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Pauses of a relay.
const (
	idlePoll = time.Second           // between two searches if no notification arrives
	busyPoll = 25 * time.Millisecond // between two searches while a limit holds work back
)

// pacing decides when the steps of a relay are due. It prefers few large claims to many small
// ones, because the cost of a claim hardly depends on its size.
type pacing struct {
	dispatchAt, claimAt, takeOverAt time.Time
	dispatchedAt, claimedAt         time.Time

	heldBack time.Duration // pause before the next claim while limits of subscriptions hold deliveries back

	// A batch was filled, so that more deliveries are due than were claimed.
	healthyLeft, othersLeft bool
}

// rooms are the kinds of starters that could take a large batch: at least half of the claims
// that may wait for them.
type rooms struct{ healthy, others bool }

// startPacing makes every step due.
func startPacing(now time.Time) pacing {
	return pacing{dispatchAt: now, claimAt: now, takeOverAt: now, heldBack: busyPoll}
}

// takeOverDue reports whether to look for abandoned deliveries, once in idlePoll.
func (p *pacing) takeOverDue(now time.Time) bool {
	due := !now.Before(p.takeOverAt)
	if due {
		p.takeOverAt = now.Add(idlePoll)
	}
	return due
}

func (p *pacing) dispatchDue(now time.Time) bool { return !now.Before(p.dispatchAt) }

// woken makes a dispatch due. While the starters are busy it waits for more events: their
// deliveries could not start sooner.
func (p *pacing) woken(now time.Time, free rooms) {
	at := now
	if !free.healthy {
		at = p.dispatchedAt.Add(busyPoll)
	}
	if at.Before(p.dispatchAt) {
		p.dispatchAt = at
	}
}

// dispatched follows a dispatch. A claim is due after it even if there were no events: the
// relay is also woken for replays.
func (p *pacing) dispatched(now time.Time, events int, free rooms, err error) {
	p.dispatchedAt, p.dispatchAt = now, now.Add(idlePoll)
	if err != nil {
		return
	}
	p.claimAt = now
	if events >= dispatchLimit {
		p.woken(now, free)
	}
}

// claimDue reports whether to claim: immediately if a batch was filled and there is room for
// another, at the time of the next search if there is room for healthy deliveries, and once in
// idlePoll in any case.
func (p *pacing) claimDue(now time.Time, free rooms) bool { return !now.Before(p.nextClaim(free)) }

func (p *pacing) nextClaim(free rooms) time.Time {
	switch {
	case p.healthyLeft && free.healthy, p.othersLeft && free.others:
		return p.claimedAt
	case !free.healthy && p.claimAt.Before(p.claimedAt.Add(idlePoll)):
		return p.claimedAt.Add(idlePoll)
	}
	return p.claimAt
}

// claimed follows a claim that was made with these limits.
func (p *pacing) claimed(now time.Time, limits app.ClaimLimits, healthy, others int, more bool, err error) {
	p.claimedAt, p.claimAt = now, now.Add(idlePoll)
	if err != nil || !more {
		p.healthyLeft, p.othersLeft, p.heldBack = false, false, busyPoll
		return
	}
	p.healthyLeft, p.othersLeft = healthy >= limits.Batch, others >= limits.SlowBatch
	if healthy+others > 0 {
		p.heldBack = busyPoll
	}
	p.claimAt = now.Add(p.heldBack)
	p.heldBack = min(2*p.heldBack, idlePoll)
}

// pause returns how long no step is due.
func (p *pacing) pause(now time.Time, free rooms) time.Duration {
	next := p.nextClaim(free)
	for _, at := range []time.Time{p.dispatchAt, p.takeOverAt} {
		if at.Before(next) {
			next = at
		}
	}
	return next.Sub(now)
}
