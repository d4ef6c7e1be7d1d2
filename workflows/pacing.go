package workflows

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Pauses of a relay.
const (
	idlePoll = time.Second           // between two searches if no notification arrives
	busyPoll = 25 * time.Millisecond // between two searches while a limit holds work back
	// burstPoll is the shortest time between two searches of an overloaded relay. Events of that time share a burst.
	burstPoll = 100 * time.Millisecond
)

// Limits of an overload.
const (
	overloadHold  = 5 * time.Second // how long it lasts after deliveries have waited, or after a second of overloadRate
	overloadRate  = 100             // deliveries in bursts per second
	overloadLeast = 4               // deliveries in one claim; fewer start as workflows of their own
)

// overload is the state in which deliveries become bursts before they have waited. Without it, a relay would start the
// deliveries behind a burst one by one until they have waited again, and fall behind.
type overload struct {
	until   time.Time
	counted int       // deliveries in bursts
	since   time.Time // start of the second in which they are counted
}

// at reports whether the relay is overloaded.
func (o *overload) at(now time.Time) bool { return now.Before(o.until) }

// claimed updates the state after a claim. limits are those of the relay.
func (o *overload) claimed(now time.Time, limits app.ClaimLimits, found app.Claimed) {
	if limits.Burst < 2 {
		return
	}
	for _, claim := range found.Claims {
		if claim.BurstID != "" {
			o.counted++
		}
	}
	second := now.Sub(o.since) >= time.Second
	if found.Waited >= limits.BurstAfter || second && o.counted >= overloadRate {
		o.until = now.Add(overloadHold)
	}
	if second {
		o.counted, o.since = 0, now
	}
}

// limit returns the limits of the next claim.
func (o *overload) limit(now time.Time, limits app.ClaimLimits) app.ClaimLimits {
	if o.at(now) && limits.BurstAfter > 0 {
		limits.BurstAfter, limits.BurstLeast = 0, overloadLeast
	}
	return limits
}

// pacing decides when the steps of a relay are due. It prefers few large claims to many small ones, because the cost of
// a claim hardly depends on its size.
type pacing struct {
	dispatchAt, claimAt, takeOverAt time.Time
	dispatchedAt, claimedAt         time.Time

	overload overload
	heldBack time.Duration // pause before the next claim while limits of subscriptions hold deliveries back

	// The last claim filled a batch, so more deliveries of that kind are due.
	healthyLeft, othersLeft bool
}

// rooms tells which starters can take a large batch: at least half of their capacity is free.
type rooms struct{ healthy, others bool }

// startPacing returns a pacing in which every step is due.
func startPacing(now time.Time) pacing {
	return pacing{dispatchAt: now, claimAt: now, takeOverAt: now, heldBack: busyPoll}
}

// takeOverDue reports whether to look for abandoned deliveries. It is true once per idlePoll.
func (p *pacing) takeOverDue(now time.Time) bool {
	due := !now.Before(p.takeOverAt)
	if due {
		p.takeOverAt = now.Add(idlePoll)
	}
	return due
}

func (p *pacing) dispatchDue(now time.Time) bool { return !now.Before(p.dispatchAt) }

// woken makes a dispatch due: immediately if the starters have room, otherwise after busyPoll, to collect more events
// whose deliveries could not start sooner anyway. In an overload it collects the events of burstPoll for a burst.
func (p *pacing) woken(now time.Time, free rooms) {
	at := now
	switch {
	case p.overload.at(now):
		at = p.dispatchedAt.Add(burstPoll)
	case !free.healthy:
		at = p.dispatchedAt.Add(busyPoll)
	}
	if at.Before(p.dispatchAt) {
		p.dispatchAt = at
	}
}

// dispatched updates the pacing after a dispatch. A claim is due even if no event was dispatched, because the relay is
// also woken for replays. If another relay dispatches the stores of the oldest events, the next search is due after
// busyPoll.
func (p *pacing) dispatched(now time.Time, did app.Dispatched, free rooms, err error) {
	p.dispatchedAt, p.dispatchAt = now, now.Add(idlePoll)
	if err != nil {
		return
	}
	p.claimAt = now
	switch {
	case !did.More:
	case free.healthy && did.Events > 0:
		p.dispatchAt = now
	default:
		p.dispatchAt = now.Add(busyPoll)
	}
}

// claimDue reports whether to claim deliveries: immediately if the last batch was filled and there is room for another,
// at the time of the next search if there is room for healthy deliveries, and at least once per idlePoll.
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

// claimed updates the pacing after a claim with the given limits.
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

// pause returns the time until the next step is due.
func (p *pacing) pause(now time.Time, free rooms) time.Duration {
	next := p.nextClaim(free)
	for _, at := range []time.Time{p.dispatchAt, p.takeOverAt} {
		if at.Before(next) {
			next = at
		}
	}
	return next.Sub(now)
}
