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
	starters      = 8
	startTimeout  = 10 * time.Second
	dispatchLimit = 200
	claimBatch    = 64
	quickPending  = 200 // first attempts of one healthy subscription in Temporal at once
	slowPending   = 50  // of a failing or slow one
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

	claims  chan app.Claim
	results chan startResult
	wake    chan struct{}
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
		claims: make(chan app.Claim, claimBatch), results: make(chan startResult, claimBatch), wake: make(chan struct{}, 1),
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
		starting.Go(func() { r.starter(draining) })
	}
	others.Go(r.marker)
	others.Go(func() { r.keepMovingUp(ctx) })
	r.loop(ctx)
	close(r.claims)
	starting.Wait()
	close(r.results)
	others.Wait()
}

// loop dispatches and claims: again at once while batches are full, soon while
// deliveries are held back by a limit, else when woken. However many events come, it looks
// once in idlePoll for deliveries whose time has come.
func (r *Relay) loop(ctx context.Context) {
	pause, heldBack := idlePoll, false
	looked := r.now()
	for ctx.Err() == nil {
		if r.now().Sub(looked) >= idlePoll {
			looked, heldBack = r.now(), true
			r.takeOver(ctx)
		}
		did, err := r.round(ctx, heldBack)
		heldBack = did.heldBack
		switch {
		case err != nil && ctx.Err() == nil:
			r.log.Error().Err(err).Msg("the relay cannot reach the database")
			pause = idlePoll
		case did.full:
			continue
		case heldBack && did.claimed > 0:
			pause = heldBackPoll
		case heldBack:
			pause = min(2*pause, idlePoll)
		default:
			pause = idlePoll
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(pause):
		}
	}
}

// progress is what one round of a relay did.
type progress struct {
	claimed  int
	full     bool // a batch was full: there is more to do at once
	heldBack bool // deliveries wait although they are due
}

// round does one step: new events, and what is queued when there are none of these or
// when some were left waiting before.
func (r *Relay) round(ctx context.Context, heldBack bool) (progress, error) {
	free := cap(r.claims) - len(r.claims)
	if free < cap(r.claims)/2 { // the starters have work; few large batches cost less than many small ones
		return progress{claimed: 1, heldBack: true}, nil
	}
	events, err := r.store.Dispatch(ctx, r.now(), limits(free))
	r.hand(events.Claims)
	if err != nil {
		return progress{}, err
	}
	did := progress{claimed: len(events.Claims), full: events.Events >= dispatchLimit, heldBack: events.Queued > 0}
	free = cap(r.claims) - len(r.claims)
	if events.Events > 0 && !heldBack || free < cap(r.claims)/2 {
		return did, nil
	}
	queued, err := r.store.ClaimQueued(ctx, r.now(), limits(free))
	if err != nil {
		return progress{}, err
	}
	r.hand(queued)
	did.claimed += len(queued)
	did.full = did.full || len(queued) == free
	if !did.full && (heldBack || len(queued) > 0) {
		did.heldBack, err = r.store.HasDue(ctx, r.now())
	}
	return did, err
}

// takeOver claims what a relay that died has left.
func (r *Relay) takeOver(ctx context.Context) {
	claims, err := r.store.ClaimAbandoned(ctx, r.now(), limits(cap(r.claims)-len(r.claims)))
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the relay cannot take over abandoned deliveries")
	}
	if len(claims) > 0 {
		r.log.Info().Int("deliveries", len(claims)).Msg("taken over from a relay that ended")
	}
	r.hand(claims)
}

func limits(batch int) app.ClaimLimits {
	return app.ClaimLimits{Events: dispatchLimit, Batch: batch, Quick: quickPending, Slow: slowPending, Lease: claimLease}
}

func (r *Relay) hand(claims []app.Claim) {
	for _, claim := range claims {
		r.claims <- claim
	}
}

// starter starts workflows, one at a time. What has been claimed is started also when the
// relay is about to end.
func (r *Relay) starter(ctx context.Context) {
	for claim := range r.claims {
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
