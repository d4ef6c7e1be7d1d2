package workflows

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// RelayStore holds the events and deliveries that a relay works on.
type RelayStore interface {
	// Dispatch turns events into queued deliveries, about limit events and deliveries in total. It may return what it
	// has dispatched together with an error.
	Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error)
	// Claim claims queued deliveries for this relay. It may return claims together with an error.
	Claim(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Claimed, error)
	// ClaimAbandoned claims deliveries whose lease has expired. It may return claims together with an error.
	ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error)
	// MarkStarted records that the workflows of these claims have been started. It ignores deliveries that have been
	// claimed again since then.
	MarkStarted(ctx context.Context, now time.Time, claims []app.Claim) error
	// Unclaim releases claims, so that the deliveries can be claimed again from retryAt on. It ignores deliveries that
	// have been claimed again since then.
	Unclaim(ctx context.Context, retryAt time.Time, claims []app.Claim) error
	// Requeue queues deliveries again whose workflows were not started. It ignores deliveries that have been claimed
	// again since then.
	Requeue(ctx context.Context, claims []app.Claim) error
}

// Relay limits.
const (
	drainTimeout = 5 * time.Second // for the last starts when the relay stops
	markEvery    = 2 * time.Second // well within the lease; most deliveries have ended by then
	// unclaimDelay is the time until a delivery whose start failed can be claimed again. A start that has reached Temporal
	// nevertheless makes its attempt meanwhile, and is counted in the plan window of its claim.
	unclaimDelay = 3 * time.Second
)

// Relay dispatches events, claims deliveries and starts their workflows. Any number of relays run concurrently. If a
// relay dies, another one takes over its claims.
type Relay struct {
	store  RelayStore
	start  func(ctx context.Context, claims []app.Claim) error
	gate   *Gate
	listen func(ctx context.Context, wake func()) error
	limits app.ClaimLimits
	now    func() time.Time
	log    zerolog.Logger
	wake   chan struct{}

	workload func() Workload
}

// NewRelay returns a relay. start starts the workflow of one claim, or of the claims of one burst; it must be
// idempotent. While gate is shut, the relay releases its claims and claims nothing. listen blocks and calls wake
// whenever there may be work. limits.Batch and limits.SlowBatch are the maximum numbers of claims that wait for a
// starter. now is the clock of leases and plan windows, which all relays must share.
func NewRelay(
	store RelayStore, start func(context.Context, []app.Claim) error, gate *Gate,
	listen func(context.Context, func()) error, limits app.ClaimLimits, now func() time.Time, log zerolog.Logger,
) *Relay {
	return &Relay{
		store, start, gate, listen, limits, now, log, make(chan struct{}, 1), func() Workload { return Workload{} },
	}
}

// Follow makes the relay claim only as much as its process can work on. It must be called before Run.
func (r *Relay) Follow(workload func() Workload) { r.workload = workload }

// Wake makes the relay look for work immediately.
func (r *Relay) Wake() { notify(r.wake) }

// notify wakes the receiver of a channel whose buffer has one element.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run runs the relay until ctx is done. Then it starts the workflows of its remaining claims, for at most 5 s.
func (r *Relay) Run(ctx context.Context) {
	draining, drained := context.WithCancel(context.WithoutCancel(ctx))
	defer drained()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, drained) })()

	run := &relayRun{
		Relay: r, results: make(chan startResult, r.limits.Batch+1), freed: make(chan struct{}, 1),
		dispatched: make(chan struct{}, 1), pacing: startPacing(time.Now()),
	}
	onHalfEmpty := func() { notify(run.freed) }
	r.gate.whenOpen(onHalfEmpty)
	start := func(claims []app.Claim) error { return run.startOne(draining, claims) }
	run.healthy = newStarters(healthyStarters, r.limits.Batch, start, run.drop, onHalfEmpty)
	run.others = newStarters(otherStarters, r.limits.SlowBatch, start, run.drop, onHalfEmpty)

	// The claims are the relay's while it listens.
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	defer stopListening()
	var background, marking sync.WaitGroup
	background.Go(func() { r.keepListening(listening) })
	background.Go(func() { run.dispatchLoop(ctx) })
	marking.Go(run.marker)
	var claiming sync.WaitGroup
	claiming.Go(func() { run.takeOverLoop(ctx) })
	run.loop(ctx)
	claiming.Wait()
	run.healthy.wait()
	run.others.wait()
	close(run.results)
	marking.Wait()
	stopListening()
	background.Wait()
}

// keepListening listens for notifications that wake the relay, and reconnects after errors.
func (r *Relay) keepListening(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.listen(ctx, r.Wake)
		if ctx.Err() != nil {
			return
		}
		r.log.Warn().Err(err).Msg("cannot listen for notifications; polling")
		select {
		case <-ctx.Done():
		case <-time.After(idlePoll):
		}
	}
}

// relayRun is the state of a running relay. Claims wait for a starter in the order in which they were claimed. Claims
// of failing and slow subscriptions have separate starters, so that they delay only each other.
type relayRun struct {
	*Relay

	healthy, others *starters
	results         chan startResult
	freed           chan struct{} // receives when starters can take a large batch, and when the gate opens
	dispatched      chan struct{} // receives when deliveries may be queued
	overloaded      atomic.Bool   // as of the last claim
	backlog         atomic.Bool   // the last claim has left deliveries that may start
	pacing          pacing        // of the claims
	full            []string      // websites from which the last claim took nothing for healthy, quick subscriptions
	late            []string      // websites from which it took nothing else
}

type startResult struct {
	claims []app.Claim
	err    error
}

// loop claims deliveries when that is due, until ctx is done.
func (r *relayRun) loop(ctx context.Context) {
	for ctx.Err() == nil {
		if room := r.room(); anyNotIn(r.full, room.full) || anyNotIn(r.late, room.late) {
			r.full, r.late = nil, nil
			r.pacing.wake(time.Now())
		}
		if !r.gate.isShut() && r.pacing.claimDue(time.Now(), r.freeStarters()) {
			r.claim(ctx)
		}
		pause := time.Until(r.pacing.nextClaim(r.freeStarters()))
		switch {
		case r.gate.isShut():
			pause = idlePoll
		case len(r.full) > 0, !r.freeStarters().healthy && r.healthy.halfEmpty():
			pause = min(pause, workPoll)
		case len(r.late) > 0:
			pause = min(pause, busyPoll)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-r.dispatched:
			r.pacing.wake(time.Now())
		case <-r.freed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *relayRun) freeStarters() freeStarters {
	room := r.room().half(runtime.GOMAXPROCS(0))
	return freeStarters{r.healthy.halfEmpty() && room, r.others.halfEmpty(), r.healthy.free() > 0}
}

// all reports whether all starters can take a large batch.
func (f freeStarters) all() bool { return f.healthy && f.others }

// claim claims as many deliveries as the starters can take.
func (r *relayRun) claim(ctx context.Context) {
	began, now := time.Now(), r.now()
	limits := r.pacing.overload.limit(began, r.freeLimits())
	claimed, err := r.store.Claim(ctx, now, limits)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("cannot claim deliveries; retrying")
	}
	r.full, r.late = limits.Full, limits.Late
	r.pacing.overload.claimed(time.Now(), r.limits, claimed)
	r.overloaded.Store(r.pacing.overload.at(time.Now()))
	r.backlog.Store(claimed.More)
	healthy := r.enqueue(claimed.Claims, now.Add(limits.Lease))
	r.pacing.claimed(time.Now(), limits, healthy, len(claimed.Claims)-healthy, claimed.More, err)
}

// takeOverLoop takes over abandoned deliveries until ctx is done: once per idlePoll, and sooner if there may be more
// and all starters are free. It is separate from the loop of the claims, so that claims do not wait for its statements,
// which also search for lost turns.
func (r *relayRun) takeOverLoop(ctx context.Context) {
	for ctx.Err() == nil {
		more, pause := !r.gate.isShut() && r.takeOver(ctx), idlePoll
		if more {
			pause = busyPoll
		}
		for next := time.Now().Add(idlePoll); ctx.Err() == nil && time.Now().Before(next); sleep(ctx, pause, nil) {
			if more && r.freeStarters().all() {
				break
			}
		}
	}
}

// takeOver claims the deliveries of relays that died, and those whose start has failed. It leaves half of the free
// capacity to new claims, but claims something without it too: new claims can occupy all of it for long. Claims beyond
// the free capacity wait in the queues of the starters. It reports whether there may be more.
func (r *relayRun) takeOver(ctx context.Context) (more bool) {
	now := r.now()
	limits := r.freeLimits()
	limits.Batch = max(1, (limits.Batch+1)/2)
	claims, err := r.store.ClaimAbandoned(ctx, now, limits)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("cannot take over abandoned deliveries; retrying")
	}
	if len(claims) > 0 {
		r.log.Info().Int("deliveries", len(claims)).Msg("took over deliveries of a relay that ended")
	}
	r.enqueue(claims, now.Add(r.limits.Lease))
	return err == nil && len(claims) > 0
}

// freeLimits returns the limits for a claim with the free capacity of the starters.
func (r *relayRun) freeLimits() app.ClaimLimits {
	limits := r.limits
	limits.Batch, limits.SlowBatch = r.healthy.free(), r.others.free()
	return r.room().limit(limits)
}

// enqueue adds claims, whose lease ends at until, to the queues of the starters. It returns the number of claims of
// healthy, quick subscriptions.
func (r *relayRun) enqueue(claims []app.Claim, until time.Time) (healthy int) {
	for _, unit := range units(claims) {
		until := until
		for _, claim := range unit {
			if claim.StartBefore != nil && claim.StartBefore.Before(until) {
				until = *claim.StartBefore
			}
		}
		left := until.Sub(r.now())
		if unit[0].Healthy && unit[0].Quick {
			healthy += len(unit)
			r.healthy.add(unit, time.Now().Add(left))
		} else {
			r.others.add(unit, time.Now().Add(left))
		}
	}
	return healthy
}

// units divides claims into units that start together: the claims of one burst, or a single claim. It keeps the order.
func units(claims []app.Claim) [][]app.Claim {
	var units [][]app.Claim
	bursts := map[app.BurstID]int{}
	for _, claim := range claims {
		if at, known := bursts[claim.BurstID]; known {
			units[at] = append(units[at], claim)
			continue
		}
		if claim.BurstID != "" {
			bursts[claim.BurstID] = len(units)
		}
		units = append(units, []app.Claim{claim})
	}
	return units
}

// drop releases units that have waited for a starter for too long. If the plan window that counts a unit has ended, the
// unit is queued again. Otherwise its lease has expired, and a relay takes it over.
func (r *relayRun) drop(units [][]app.Claim) {
	var again []app.Claim
	for _, unit := range units {
		if slices.ContainsFunc(unit, func(c app.Claim) bool {
			return c.StartBefore != nil && !r.now().Before(*c.StartBefore)
		}) {
			again = append(again, unit...)
		}
	}
	if len(again) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := r.store.Requeue(ctx, again); err != nil {
		r.log.Error().Err(err).Int("deliveries", len(again)).
			Msg("cannot queue claims of a past plan window again; their lease will expire")
	}
}

// startOne starts one workflow. It fails immediately if ctx is done or the gate is shut, and at the end of the plan
// window that counts the claims: the first attempts would be made in the next window.
func (r *relayRun) startOne(ctx context.Context, claims []app.Claim) error {
	err := ctx.Err()
	if err == nil {
		limited, cancel := r.withinWindow(ctx, claims)
		defer cancel()
		err = r.gate.start(limited, func(ctx context.Context) error { return r.start(ctx, claims) })
	}
	if err != nil && !errors.Is(err, errShut) && ctx.Err() == nil {
		first := claims[0]
		r.log.Error().Err(err).Str("delivery", string(first.ID)).Str("event", string(first.EventID)).
			Str("store", string(first.StoreID)).Str("burst", string(first.BurstID)).Int("deliveries", len(claims)).
			Msg("cannot start the workflow of a delivery; retrying")
	}
	r.results <- startResult{claims, err}
	return err
}

// withinWindow returns a context that is done at the end of the plan window that counts the claims of a unit.
func (r *relayRun) withinWindow(ctx context.Context, claims []app.Claim) (context.Context, context.CancelFunc) {
	for _, claim := range claims {
		if claim.WindowEnd != nil { // all limited claims of a unit are counted in the same window
			return context.WithTimeout(ctx, claim.WindowEnd.Sub(r.now()))
		}
	}
	return ctx, func() {}
}

// marker records started claims in batches, with a delay: most deliveries have ended by then and need no mark. It
// releases claims that were not started immediately. Those that a shut gate has stopped can be claimed at once, because
// another relay can start them.
func (r *relayRun) marker() {
	var started, failed, left []app.Claim
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case result, more := <-r.results:
			switch {
			case !more:
				r.mark(started)
				r.release(r.now(), left)
				r.release(r.now().Add(unclaimDelay), failed)
				return
			case errors.Is(result.err, errShut):
				left = append(left, result.claims...)
			case result.err != nil:
				failed = append(failed, result.claims...)
			default:
				started = append(started, result.claims...)
			}
			if len(r.results) == 0 {
				r.release(r.now(), left)
				r.release(r.now().Add(unclaimDelay), failed)
				left, failed = nil, nil
			}
		case <-tick.C:
			r.mark(started)
			started = nil
		}
	}
}

func (r *relayRun) mark(started []app.Claim) {
	if len(started) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := r.store.MarkStarted(ctx, r.now(), started); err != nil {
		r.log.Error().Err(err).Int("deliveries", len(started)).
			Msg("cannot record starts; they will be repeated without effect")
	}
}

// release ends the leases of claims at a time.
func (r *relayRun) release(at time.Time, claims []app.Claim) {
	if len(claims) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := r.store.Unclaim(ctx, at, claims); err != nil {
		r.log.Error().Err(err).Int("deliveries", len(claims)).Msg("cannot release claims; their lease will expire")
	}
}
