package workflows

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// RelayStore is what a relay needs of the database.
type RelayStore interface {
	Dispatch(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Dispatched, error)
	ClaimQueued(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error)
	ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error)
	MarkStarted(ctx context.Context, now time.Time, ids []app.DeliveryID) error
	Unclaim(ctx context.Context, retryAt time.Time, ids []app.DeliveryID) error
	HasDue(ctx context.Context, now time.Time) (bool, error)
	MoveUp(ctx context.Context, now time.Time) (bool, error)
}

// Settings of a relay, found by experiment: it is the starting of many workflows at once
// that hurts others.
const (
	starters      = 8 // at most so many workflows start at once
	slowStarters  = 2 // beside them, of failing and slow subscriptions
	startTimeout  = 10 * time.Second
	dispatchLimit = 200
	claimBatch    = 64 // deliveries that wait for a starter
	slowBatch     = 16
	turn          = 8 // new deliveries of one subscription that go before what is queued
	unproven      = 8 // first attempts of one subscription in Temporal at once that has answered none lately
	quickPending  = 200
	slowPending   = 50 // of a failing or slow one
	claimLease    = 10 * time.Second
	drainTimeout  = 5 * time.Second // for the last starts of a relay that ends
	idlePoll      = time.Second     // when no notification comes
	heldBackPoll  = 25 * time.Millisecond
	markEvery     = 2 * time.Second // well within the lease
)

// Relay turns events into deliveries and deliveries into workflows. Any number of relays
// work side by side; each may die anywhere, and another finishes its work.
type Relay struct {
	store  RelayStore
	start  func(ctx context.Context, claim app.Claim) error
	listen func(ctx context.Context, wake func()) error
	now    func() time.Time
	log    zerolog.Logger

	// Claims wait for a starter: new ones, behind these what was queued, and apart from
	// both what goes to failing and slow subscriptions. So a burst holds up only itself.
	fresh, queued, slow chan app.Claim

	results chan startResult
	wake    chan struct{}

	// When the loop claimed last of what is queued, and whether there was more then for failing
	// and slow subscriptions than it took.
	claimedAt time.Time
	slowLeft  bool
}

type startResult struct {
	id  app.DeliveryID
	err error
}

// NewRelay makes a relay. listen blocks and calls wake whenever there may be work; start
// hands a delivery to its workflow and may be repeated.
func NewRelay(store RelayStore, start func(context.Context, app.Claim) error, listen func(context.Context, func()) error, now func() time.Time, log zerolog.Logger) *Relay {
	return &Relay{
		store: store, start: start, listen: listen, now: now, log: log,
		fresh: make(chan app.Claim, claimBatch), queued: make(chan app.Claim, claimBatch), slow: make(chan app.Claim, claimBatch),
		results: make(chan startResult, claimBatch), wake: make(chan struct{}, 1),
	}
}

// Run works until ctx is done, then finishes the starts that it has begun.
func (r *Relay) Run(ctx context.Context) {
	draining, drained := context.WithCancel(context.WithoutCancel(ctx))
	defer drained()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, drained) })()

	var starting, others sync.WaitGroup
	others.Go(func() { r.keepListening(ctx) })
	for range starters {
		starting.Go(func() { r.starter(draining, r.fresh, r.queued) })
	}
	for range slowStarters {
		starting.Go(func() { r.starter(draining, r.slow, nil) })
	}
	others.Go(r.marker)
	others.Go(func() { r.keepMovingUp(ctx) })
	r.loop(ctx)
	close(r.fresh)
	close(r.queued)
	close(r.slow)
	starting.Wait()
	close(r.results)
	others.Wait()
}

// loop dispatches when woken, and looks at what is queued: soon while deliveries are held
// back by a limit, else once in idlePoll. However many events come, it looks.
func (r *Relay) loop(ctx context.Context) {
	look := outlook{events: true, queue: true}
	var pause time.Duration
	var heldBack bool
	takenOver, queueAt := r.now(), r.now()
	for ctx.Err() == nil {
		if r.now().Sub(takenOver) >= idlePoll {
			takenOver, look = r.now(), outlook{events: true, queue: true}
			r.takeOver(ctx)
		}
		did, err := r.round(ctx, look)
		look = outlook{events: did.eventsLeft}
		switch {
		case err != nil && ctx.Err() == nil:
			r.log.Error().Err(err).Msg("the relay cannot reach the database")
			queueAt = r.now().Add(idlePoll)
		case did.looked:
			switch {
			case did.moved, did.heldBack && !heldBack:
				pause = heldBackPoll
			case did.heldBack:
				pause = min(2*pause, idlePoll)
			default:
				pause = idlePoll
			}
			heldBack, queueAt = did.heldBack, r.now().Add(pause)
		}
		wait := queueAt.Sub(r.now())
		if look.events {
			wait = min(wait, heldBackPoll)
		}
		if !did.full {
			select {
			case <-ctx.Done():
			case <-r.wake:
				look.events = true
			case <-time.After(wait):
			}
		}
		look.queue = !r.now().Before(queueAt)
	}
}

// outlook is what a round looks for.
type outlook struct{ events, queue bool }

// progress is what one round of a relay did.
type progress struct {
	full       bool // a batch was full: there is more to do at once
	eventsLeft bool
	looked     bool // at what is queued
	moved      bool // some of it was claimed, or would have been
	heldBack   bool // deliveries are queued although they are due
}

// round does one step: new events, and what is queued if it is time to look there, if some
// was added, or if it was no event that woke the relay. Starters that have enough to do get
// nothing new: few large batches cost less than many small ones.
func (r *Relay) round(ctx context.Context, look outlook) (progress, error) {
	var did progress
	if look.events {
		free := cap(r.fresh) - len(r.fresh)
		if free < cap(r.fresh)/2 {
			did.eventsLeft = true
		} else {
			events, err := r.store.Dispatch(ctx, r.now(), limits(free, 0))
			for _, claim := range events.Claims {
				r.fresh <- claim
			}
			if err != nil {
				return did, err
			}
			did.full = events.Events >= dispatchLimit
			did.eventsLeft = did.full
			look.queue = look.queue || events.Queued > 0 || events.Events == 0
		}
	}
	if !look.queue {
		return did, nil
	}
	return did, r.claimQueued(ctx, &did)
}

// claimQueued claims as much of what is queued as its starters can take.
func (r *Relay) claimQueued(ctx context.Context, did *progress) error {
	did.looked = true
	quick, slow := cap(r.queued)-len(r.queued), max(slowBatch-len(r.slow), 0)
	enough := quick < cap(r.queued)/2 && (slow < slowBatch/2 || !r.slowLeft)
	if enough && r.now().Sub(r.claimedAt) < idlePoll {
		did.moved, did.heldBack = true, true
		return nil
	}
	r.claimedAt = r.now()
	claims, err := r.store.ClaimQueued(ctx, r.now(), limits(quick, slow))
	r.hand(claims)
	if err != nil {
		return err
	}
	healthy := countHealthy(claims)
	r.slowLeft = slow > 0 && len(claims)-healthy >= slow
	did.moved = len(claims) > 0
	if did.heldBack = len(claims) >= quick; !did.heldBack {
		did.heldBack, err = r.store.HasDue(ctx, r.now())
	}
	return err
}

func countHealthy(claims []app.Claim) (n int) {
	for _, claim := range claims {
		if claim.Healthy {
			n++
		}
	}
	return n
}

// takeOver claims what a relay that died has left.
func (r *Relay) takeOver(ctx context.Context) {
	claims, err := r.store.ClaimAbandoned(ctx, r.now(), limits(cap(r.queued)-max(len(r.queued), len(r.slow)), 0))
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the relay cannot take over abandoned deliveries")
	}
	if len(claims) > 0 {
		r.log.Info().Int("deliveries", len(claims)).Msg("taken over from a relay that ended")
	}
	r.hand(claims)
}

func limits(batch, slow int) app.ClaimLimits {
	return app.ClaimLimits{
		Events: dispatchLimit, Batch: batch, SlowBatch: slow, Turn: turn,
		Unproven: unproven, Quick: quickPending, Slow: slowPending, Lease: claimLease,
	}
}

// hand gives the starters what was queued.
func (r *Relay) hand(claims []app.Claim) {
	for _, claim := range claims {
		if claim.Healthy {
			r.queued <- claim
		} else {
			r.slow <- claim
		}
	}
}

// starter starts workflows, one at a time: of those that wait in the second place none
// while any waits in the first. What has been claimed is started also when the relay is
// about to end.
func (r *Relay) starter(ctx context.Context, first, second <-chan app.Claim) {
	for {
		claim, ok := next(&first, &second)
		if !ok {
			return
		}
		limited, cancel := context.WithTimeout(ctx, startTimeout)
		err := r.start(limited, claim)
		cancel()
		if err != nil {
			r.log.Error().Err(err).Str("delivery", string(claim.ID)).Str("event", string(claim.EventID)).
				Str("store", string(claim.StoreID)).Msg("the delivery's workflow could not be started; it will be tried again")
		}
		r.results <- startResult{claim.ID, err}
	}
}

// next returns what comes next, false once both channels are closed and empty. It forgets
// a closed channel.
func next(first, second *<-chan app.Claim) (claim app.Claim, ok bool) {
	for !ok && (*first != nil || *second != nil) {
		select {
		case claim, ok = <-*first:
			if !ok {
				*first = nil
			}
			continue
		default:
		}
		select {
		case claim, ok = <-*first:
			if !ok {
				*first = nil
			}
		case claim, ok = <-*second:
			if !ok {
				*second = nil
			}
		}
	}
	return claim, ok
}

// marker writes down which deliveries have started, some time later and many in one
// statement: by then most have been delivered and need no mark.
func (r *Relay) marker() {
	var started, failed []app.DeliveryID
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
				failed = append(failed, result.id)
			default:
				started = append(started, result.id)
			}
		case <-tick.C:
			r.mark(started, failed)
			started, failed = nil, nil
		}
	}
}

func (r *Relay) mark(started, failed []app.DeliveryID) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if len(started) > 0 {
		if err := r.store.MarkStarted(ctx, r.now(), started); err != nil {
			r.log.Error().Err(err).Int("deliveries", len(started)).Msg("starts could not be noted; they will be repeated without effect")
		}
	}
	if len(failed) > 0 {
		if err := r.store.Unclaim(ctx, r.now().Add(time.Second), failed); err != nil {
			r.log.Error().Err(err).Int("deliveries", len(failed)).Msg("claims could not be given back; they lapse by themselves")
		}
	}
}

// keepListening holds the connection that wakes the relay, with a new one when it breaks.
func (r *Relay) keepListening(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.listen(ctx, r.Wake)
		if ctx.Err() != nil {
			return
		}
		r.log.Warn().Err(err).Msg("the relay hears no notifications and polls instead")
		select {
		case <-ctx.Done():
		case <-time.After(idlePoll):
		}
	}
}

// keepMovingUp moves up what waits for websites whose plan has improved, apart from the
// loop: others' deliveries do not wait for it.
func (r *Relay) keepMovingUp(ctx context.Context) {
	for ctx.Err() == nil {
		found, err := r.store.MoveUp(ctx, r.now())
		if err != nil && ctx.Err() == nil {
			r.log.Error().Err(err).Msg("the relay cannot move deliveries up")
		}
		if found && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(idlePoll):
		}
	}
}

// Wake makes the relay look for work now.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
