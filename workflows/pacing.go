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
	burstPoll = 30 * time.Millisecond
)

// Limits of an overload.
const (
	overloadTime  = 5 * time.Second        // duration after deliveries have waited or have come at a high rate
	overloadSpan  = 250 * time.Millisecond // period in which overloadCount deliveries are a high rate: 100 per second
	overloadCount = 25                     // first deliveries to healthy, quick subscriptions
	overloadBatch = 4                      // deliveries in one claim; fewer start as separate workflows
)

// overload is the state in which deliveries become bursts before they have waited. Without it, a relay would start the
// deliveries one by one until they have waited, and fall behind.
type overload struct {
	until   time.Time
	counted int       // first deliveries to healthy, quick subscriptions
	since   time.Time // start of the span in which they are counted
}

// at reports whether the relay is overloaded.
func (o *overload) at(now time.Time) bool { return now.Before(o.until) }

// claimed updates the state after a claim. limits are those of the relay.
func (o *overload) claimed(now time.Time, limits app.ClaimLimits, found app.Claimed) {
	if limits.Burst < 2 {
		return
	}
	if now.Sub(o.since) >= overloadSpan {
		o.counted, o.since = 0, now
	}
	for _, claim := range found.Claims {
		if claim.Healthy && claim.Quick && !claim.Replay {
			o.counted++
		}
	}
	if found.Waited >= limits.BurstAfter || o.counted >= overloadCount {
		o.until = now.Add(overloadTime)
	}
}

// limit returns the limits of the next claim.
func (o *overload) limit(now time.Time, limits app.ClaimLimits) app.ClaimLimits {
	if o.at(now) && limits.BurstAfter > 0 {
		limits.BurstAfter, limits.BurstLeast = 0, overloadBatch
	}
	return limits
}

// pacing decides when a relay claims. It prefers few large claims to many small ones, because the cost of a claim
// hardly depends on its size.
type pacing struct {
	claimAt   time.Time
	claimedAt time.Time
	woken     bool // since the last claim

	overload   overload
	claimPause time.Duration // pause before the next claim while limits of subscriptions hold deliveries back

	// The last claim filled a batch, so more deliveries of that kind are due.
	moreHealthy, moreOthers bool
}

// freeStarters are the starters that can take a large batch: at least half of their places are free.
type freeStarters struct {
	healthy, others bool
	place           bool // those of healthy deliveries have a free place
}

// startPacing returns a pacing in which a claim is due.
func startPacing(now time.Time) pacing { return pacing{claimAt: now, claimPause: busyPoll} }

// wake makes a claim due: after a dispatch, and when a website whose share was occupied may start bursts again.
func (p *pacing) wake(now time.Time) { p.claimAt, p.woken = now, true }

// claimDue reports whether to claim deliveries: immediately if the last batch was filled and its starters are free, at
// the time of the next search if those of healthy deliveries are free, and at least once per idlePoll. After a wake, it
// does not wait for more room than one place, because another website may have a share of it, but rests for busyPoll
// after a claim.
func (p *pacing) claimDue(now time.Time, free freeStarters) bool {
	return !now.Before(p.nextClaim(free))
}

func (p *pacing) nextClaim(free freeStarters) time.Time {
	rest := idlePoll
	if p.woken && free.place {
		rest = busyPoll
	}
	switch {
	case p.moreHealthy && free.healthy, p.moreOthers && free.others:
		return p.claimedAt
	case !free.healthy && p.claimAt.Before(p.claimedAt.Add(rest)):
		return p.claimedAt.Add(rest)
	}
	return p.claimAt
}

// claimed updates the pacing after a claim with the given limits.
func (p *pacing) claimed(now time.Time, limits app.ClaimLimits, healthy, others int, more bool, err error) {
	p.claimedAt, p.claimAt, p.woken = now, now.Add(idlePoll), false
	if err != nil || !more {
		p.moreHealthy, p.moreOthers, p.claimPause = false, false, busyPoll
		return
	}
	p.moreHealthy, p.moreOthers = healthy >= limits.Batch, others >= limits.SlowBatch
	if healthy+others > 0 {
		p.claimPause = busyPoll
	}
	p.claimAt = now.Add(p.claimPause)
	p.claimPause = min(2*p.claimPause, idlePoll)
}
