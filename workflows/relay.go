package workflows

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// RelayStore holds the events and deliveries that a relay works on.
type RelayStore interface {
	// Dispatch turns waiting events into queued deliveries, at most limit events.
	Dispatch(ctx context.Context, now time.Time, limit int) (app.Dispatched, error)
	// Claim reserves queued deliveries for this relay. An error may come with claims.
	Claim(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Claimed, error)
	// ClaimAbandoned reserves deliveries whose lease has expired. An error may come with claims.
	ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error)
	// MarkStarted records that the workflows of these claims are started. A delivery that has
	// been claimed again since then is not marked.
	MarkStarted(ctx context.Context, now time.Time, claims []app.Claim) error
	// Unclaim gives claims back, to be claimed again from retryAt on. A delivery that has been
	// claimed again since then is left alone.
	Unclaim(ctx context.Context, retryAt time.Time, claims []app.Claim) error
}

// Relay limits.
const (
	dispatchLimit = 200              // events of one dispatch
	startTimeout  = 10 * time.Second // for one start, and for one statement that marks starts
	drainTimeout  = 5 * time.Second  // for the last starts of a relay that ends
	markEvery     = 2 * time.Second  // well within the lease; most deliveries are delivered by then
	unclaimDelay  = time.Second      // until a delivery whose start failed is claimed again
)

// Relay turns events into deliveries and deliveries into workflows. Any number of relays work
// concurrently. If one of them dies, another relay takes over its claims.
type Relay struct {
	store  RelayStore
	start  func(ctx context.Context, claims []app.Claim) error
	listen func(ctx context.Context, wake func()) error
	limits app.ClaimLimits
	now    func() time.Time
	log    zerolog.Logger
	wake   chan struct{}
}

// NewRelay returns a relay. start hands one claim, or the claims of one burst, to their
// workflow; it may be called again for the same claims. listen blocks and calls wake whenever
// there may be work. limits.Batch and limits.SlowBatch are the numbers of claims that may wait
// for a starter.
func NewRelay(
	store RelayStore, start func(context.Context, []app.Claim) error, listen func(context.Context, func()) error,
	limits app.ClaimLimits, now func() time.Time, log zerolog.Logger,
) *Relay {
	return &Relay{store, start, listen, limits, now, log, make(chan struct{}, 1)}
}

// Wake makes the relay look for work now.
func (r *Relay) Wake() { notify(r.wake) }

// notify wakes the receiver of a channel whose buffer has one element.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx is done, then starts the workflows of the claims that it holds.
func (r *Relay) Run(ctx context.Context) {
	draining, drained := context.WithCancel(context.WithoutCancel(ctx))
	defer drained()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, drained) })()

	run := &relayRun{
		Relay: r, results: make(chan startResult, r.limits.Batch+1), room: make(chan struct{}, 1),
		pacing: startPacing(r.now()),
	}
	start := func(claims []app.Claim) error { return run.startOne(draining, claims) }
	run.healthy = newStarters(healthyStarters, r.limits.Batch, start, func() { notify(run.room) })
	run.others = newStarters(otherStarters, r.limits.SlowBatch, start, func() { notify(run.room) })

	var helpers sync.WaitGroup
	helpers.Go(func() { r.keepListening(ctx) })
	helpers.Go(run.marker)
	run.loop(ctx)
	run.healthy.wait()
	run.others.wait()
	close(run.results)
	helpers.Wait()
}

// keepListening holds the connection that wakes the relay, and replaces it when it breaks.
func (r *Relay) keepListening(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.listen(ctx, r.Wake)
		if ctx.Err() != nil {
			return
		}
		r.log.Warn().Err(err).Msg("the relay receives no notifications and polls instead")
		select {
		case <-ctx.Done():
		case <-time.After(idlePoll):
		}
	}
}

// relayRun is the state of a relay that runs. Claims wait for a starter in the order in which
// they were claimed. Claims of failing and of slow subscriptions wait apart from the others,
// so that they delay only each other.
type relayRun struct {
	*Relay

	healthy, others *starters
	results         chan startResult
	room            chan struct{} // starters can take a large batch
	pacing          pacing
}

type startResult struct {
	claims []app.Claim
	err    error
}

// loop does each step when it is due.
func (r *relayRun) loop(ctx context.Context) {
	for ctx.Err() == nil {
		if r.pacing.takeOverDue(r.now()) {
			r.takeOver(ctx)
		}
		if r.pacing.dispatchDue(r.now()) {
			r.dispatch(ctx)
		}
		if r.pacing.claimDue(r.now(), r.rooms()) {
			r.claim(ctx)
		}
		timer := time.NewTimer(r.pacing.pause(r.now(), r.rooms()))
		select {
		case <-ctx.Done():
		case <-r.wake:
			r.pacing.woken(r.now(), r.rooms())
		case <-r.room:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *relayRun) rooms() rooms { return rooms{r.healthy.halfEmpty(), r.others.halfEmpty()} }

func (r *relayRun) dispatch(ctx context.Context) {
	did, err := r.store.Dispatch(ctx, r.now(), dispatchLimit)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the relay cannot dispatch events; it tries again")
	}
	r.pacing.dispatched(r.now(), did.Events, r.rooms(), err)
}

// claim claims as many deliveries as the starters can take.
func (r *relayRun) claim(ctx context.Context) {
	limits := r.freeLimits()
	claimed, err := r.store.Claim(ctx, r.now(), limits)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the relay cannot claim deliveries; it tries again")
	}
	healthy := r.hand(claimed.Claims)
	r.pacing.claimed(r.now(), limits, healthy, len(claimed.Claims)-healthy, claimed.More, err)
}

// takeOver claims what a relay that died has left. Claims beyond the free places of the slow
// starters wait for them.
func (r *relayRun) takeOver(ctx context.Context) {
	claims, err := r.store.ClaimAbandoned(ctx, r.now(), r.freeLimits())
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the relay cannot take over abandoned deliveries; it tries again")
	}
	if len(claims) > 0 {
		r.log.Info().Int("deliveries", len(claims)).Msg("deliveries taken over from a relay that ended")
	}
	r.hand(claims)
}

// freeLimits are the limits of a claim made now.
func (r *relayRun) freeLimits() app.ClaimLimits {
	limits := r.limits
	limits.Batch, limits.SlowBatch = r.healthy.free(), r.others.free()
	limits.BurstBatch = min(limits.BurstBatch, limits.Burst*limits.Batch)
	return limits
}

// hand gives claims to the starters and returns how many of them are of healthy and quick
// subscriptions.
func (r *relayRun) hand(claims []app.Claim) (healthy int) {
	for _, unit := range units(claims) {
		if unit[0].Healthy && unit[0].Quick {
			healthy += len(unit)
			r.healthy.add(unit)
		} else {
			r.others.add(unit)
		}
	}
	return healthy
}

// units divides claims, in their order, into the units that start together: the claims of one
// burst, or a single claim.
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

// startOne starts one workflow.
func (r *relayRun) startOne(ctx context.Context, claims []app.Claim) error {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := r.start(limited, claims)
	if err != nil {
		first := claims[0]
		r.log.Error().Err(err).Str("delivery", string(first.ID)).Str("event", string(first.EventID)).
			Str("store", string(first.StoreID)).Str("burst", string(first.BurstID)).Int("deliveries", len(claims)).
			Msg("the delivery's workflow could not be started; it will be tried again")
	}
	r.results <- startResult{claims, err}
	return err
}

// marker records which claims are started, many in one statement and some time later: most of
// the deliveries have ended by then and need no mark.
func (r *relayRun) marker() {
	var started, failed []app.Claim
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case result, more := <-r.results:
			switch {
			case !more:
				r.mark(started, failed)
				return
			case result.err != nil:
				failed = append(failed, result.claims...)
			default:
				started = append(started, result.claims...)
			}
		case <-tick.C:
			r.mark(started, failed)
			started, failed = nil, nil
		}
	}
}

func (r *relayRun) mark(started, failed []app.Claim) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if len(started) > 0 {
		if err := r.store.MarkStarted(ctx, r.now(), started); err != nil {
			r.log.Error().Err(err).Int("deliveries", len(started)).
				Msg("starts could not be recorded; they are repeated without effect")
		}
	}
	if len(failed) > 0 {
		if err := r.store.Unclaim(ctx, r.now().Add(unclaimDelay), failed); err != nil {
			r.log.Error().Err(err).Int("deliveries", len(failed)).
				Msg("claims could not be given back; their lease expires")
		}
	}
}
