package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/comanda-dev/comanda/app"
)

// BurstStore loads the deliveries of a burst.
type BurstStore interface {
	// OutgoingAll loads the inputs of the attempts with this number, in the order of deliveries. The result is nil for
	// a delivery whose row has been erased.
	OutgoingAll(ctx context.Context, deliveries []app.DeliveryID, number int) ([]*app.Outgoing, error)
}

// DeliveryStarter starts the workflow of one delivery. It is idempotent.
type DeliveryStarter interface {
	StartDelivery(ctx context.Context, claim app.Claim) error
}

// Bursts makes the first attempts of many deliveries in one activity.
type Bursts struct {
	deliveries *Deliveries
	store      BurstStore
	starter    DeliveryStarter
	policy     BurstPolicy
	after      func(time.Duration) <-chan time.Time

	runs       singleflight.Group // a repeated activity waits for the running execution of the same burst
	inProgress atomic.Int64       // bursts
	websites   websites

	running  sync.WaitGroup // running attempts, including those of bursts that have ended
	starting *startPlaces
	wakes    *wakes
}

// NewBursts returns the activity of bursts. It makes attempts through deliveries. starter starts the workflows of
// deliveries that a burst does not finish.
func NewBursts(deliveries *Deliveries, store BurstStore, starter DeliveryStarter, policy BurstPolicy) *Bursts {
	return &Bursts{
		deliveries: deliveries, store: store, starter: starter, policy: policy, after: time.After,
		websites: websites{bursts: map[string]int{}}, starting: newStartPlaces(policy.Starts),
		wakes: newWakes(policy.WakeEvery, randomBelow),
	}
}

// BurstInput names the deliveries of a burst.
type BurstInput struct {
	Deliveries []BurstDelivery `json:"deliveries"`
	RetryIn    time.Duration   `json:"retryIn"` // delay of the second attempt; 0 = no second attempt
}

// BurstDelivery names a delivery whose first attempt a burst makes.
type BurstDelivery struct {
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	StoreID        app.StoreID        `json:"storeId"`
	Queue          string             `json:"queue"` // the website, or all its sandboxes
	EventID        app.EventID        `json:"eventId"`
	EventType      app.EventType      `json:"eventType"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
}

// OutcomeContinues is the outcome of a delivery that continues as its own workflow.
const OutcomeContinues Outcome = "continues"

// BurstResult is the result of a burst for its workflow. To keep it small, it lists only the deliveries that were not
// delivered.
type BurstResult struct {
	Delivered int          `json:"delivered"`
	Others    []BurstOther `json:"others,omitempty"` // in the order of the input
}

// BurstOther is a delivery that a burst has not delivered.
type BurstOther struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
	Outcome    Outcome        `json:"outcome"`
	Reason     string         `json:"reason,omitempty"`
}

// maxWakeDelay limits the time after the start of a burst at which workflows wake up that make no second attempt.
const maxWakeDelay = 5 * time.Minute

// firstAttempt is the number of all attempts in a burst.
const firstAttempt = 1

// DeliverBurst makes the first attempts of deliveries concurrently. It returns when each attempt has been recorded or
// its delivery has its own workflow. Attempts that take long continue in the background.
//
// Like [Deliveries.Deliver], it can be repeated: it does not repeat recorded attempts, and it waits for running ones.
// Temporal repeats it while it still runs if it takes long, for example because many workflows are to be started. Such
// a repetition waits for the running execution: it would otherwise start the workflows again, and delay all of them. An
// error is internal, and Temporal repeats the activity.
func (b *Bursts) DeliverBurst(ctx context.Context, in BurstInput) (BurstResult, error) {
	// Cancellation and the time limit of the activity do not interrupt attempts, see Deliver.
	deadline, _ := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	result, err, _ := b.runs.Do(string(in.Deliveries[0].DeliveryID), func() (any, error) {
		return b.run(ctx, in, deadline)
	})
	return result.(BurstResult), err
}

func (b *Bursts) run(ctx context.Context, in BurstInput, deadline time.Time) (BurstResult, error) {
	b.inProgress.Add(1)
	defer b.inProgress.Add(-1)
	working := b.websites.enter(in.Deliveries)
	defer working.leave()
	n := len(in.Deliveries)
	run := &burstRun{
		Bursts: b, in: in, began: b.deliveries.now(), deadline: deadline,
		flights: make([]*flight, n), left: make([]atomic.Bool, n),
		settled: make(chan settled, 2*n), // a delivery can settle twice: it leaves the burst, and its attempt ends
		working: working,
	}
	if err := run.start(ctx); err != nil {
		return BurstResult{}, err
	}
	return run.await(ctx)
}

// InProgress returns the number of bursts in progress.
func (b *Bursts) InProgress() int { return int(b.inProgress.Load()) }

// Websites returns the number of bursts in progress for each website: of those that wait for its deliveries.
func (b *Bursts) Websites() map[string]int { return b.websites.all() }

// Wait waits until the attempts that continue after their bursts have ended. It returns the error of ctx if ctx is done
// first. No burst may start during the call.
func (b *Bursts) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		b.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// burstRun is one run of DeliverBurst. Its slices are in the order of the input.
type burstRun struct {
	*Bursts

	in       BurstInput
	began    time.Time
	deadline time.Time // no attempt begins after it; zero = none
	loadBy   time.Time // time until which large bodies are loaded
	flights  []*flight
	left     []atomic.Bool // the attempt takes long, and its delivery continues as its own workflow
	settled  chan settled
	working  *burstWebsites
}

// settled is the end of one delivery within a burst: its attempt has been recorded, or it has its own workflow, unless
// err is set.
type settled struct {
	place   int // index in the input
	outcome Outcome
	reason  string
	err     error
}

// start starts the attempts. It enters the flights before it loads the inputs. Otherwise, a running attempt could be
// recorded between the two steps, and would be made again. If the inputs cannot be loaded, unrecorded attempts are kept
// for the next run.
func (r *burstRun) start(ctx context.Context) error {
	started := make([]int, 0, len(r.flights))
	for i := range r.flights {
		var isNew bool
		if r.flights[i], isNew = r.deliveries.flights.enter(r.key(i)); isNew {
			r.flights[i].deadline = r.deadline
			started = append(started, i)
			r.deliveries.unrecorded.extend(r.key(i), r.began)
		}
	}
	loaded, err := r.load(ctx, started)
	if err != nil {
		for _, i := range started {
			r.deliveries.flights.run(r.key(i), r.flights[i], func() (attempted, error) { return attempted{}, err })
		}
		return err
	}
	outgoing := make([]*app.Outgoing, len(r.flights))
	for n, i := range started {
		outgoing[i] = loaded[n]
	}
	next := 0
	for i := range r.flights {
		isNew := next < len(started) && started[next] == i
		if isNew {
			next++
		}
		r.running.Go(func() {
			if isNew {
				attempt := func() (attempted, error) { return r.attempt(ctx, i, outgoing[i]) }
				r.deliveries.flights.run(r.key(i), r.flights[i], attempt)
			}
			if s, ok := r.settle(ctx, i); ok {
				r.settled <- s
			}
		})
	}
	return nil
}

func (r *burstRun) key(place int) string {
	return attemptKey(r.in.Deliveries[place].DeliveryID, firstAttempt)
}

// load loads the inputs of the deliveries at these places.
func (r *burstRun) load(ctx context.Context, places []int) ([]*app.Outgoing, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]app.DeliveryID, len(places))
	for n, i := range places {
		ids[n] = r.in.Deliveries[i].DeliveryID
	}
	r.loadBy = time.Now().Add(r.deliveries.policy.Load)
	ctx, loaded := context.WithDeadline(ctx, r.loadBy)
	defer loaded()
	return r.store.OutgoingAll(ctx, ids, firstAttempt)
}

// attempt makes and records one attempt.
func (r *burstRun) attempt(ctx context.Context, place int, outgoing *app.Outgoing) (attempted, error) {
	if outgoing == nil {
		return erased(), nil
	}
	in := DeliverInput{
		DeliveryID: r.in.Deliveries[place].DeliveryID, Attempt: firstAttempt, RetryIn: r.in.RetryIn, Lane: LaneFast,
		Queue: r.in.Deliveries[place].Queue,
	}
	return r.deliveries.deliverLoaded(ctx, in, *outgoing, r.loadBy, r.flights[place])
}

// settle waits for the end of an attempt. It starts the workflow of the delivery if the delivery has not ended. ok is
// false if the delivery has left the burst and continues: then only the start of its workflow settles it.
func (r *burstRun) settle(ctx context.Context, place int) (_ settled, ok bool) {
	flight, claim := r.flights[place], r.claim(place)
	<-flight.done
	s := settled{place: place, outcome: flight.Outcome, reason: flight.Reason}
	switch {
	case errors.Is(flight.err, errUnreadable): // must not block the other deliveries of the burst
		s.reason = errUnreadable.Error()
	case flight.err != nil:
		s.err = flight.err
		return s, true
	case flight.Outcome == OutcomeBusy:
		s.reason = "the webhook or its website has too many attempts in progress"
	case flight.Outcome == OutcomeQueued: // as the workflow of the delivery, see there
		s.reason = "the delivery is queued until its turn"
	case flight.Outcome != OutcomeFailed:
		return s, true
	case flight.status == app.AttemptDeadLetter:
		s.outcome = OutcomeDeadLetter
		return s, true
	case flight.status == app.AttemptFailed: // the next attempt is already made
		s.outcome = OutcomeContinues
		return s, true
	default:
		claim.Attempts, claim.Place, claim.NextRetryAt, claim.Quick = 1, 1, &flight.retryAt, flight.Quick
	}
	if r.left[place].Load() {
		return settled{}, false
	}
	s.outcome = OutcomeContinues
	s.err = r.startDelivery(ctx, claim)
	return s, true
}

// claim returns the claim with which the workflow of a delivery starts. It lets the first attempt use the slow lane.
func (r *burstRun) claim(place int) app.Claim {
	d := r.in.Deliveries[place]
	return app.Claim{
		ID: d.DeliveryID, StoreID: d.StoreID, Queue: d.Queue, EventID: d.EventID, EventType: d.EventType,
		SubscriptionID: d.SubscriptionID,
	}
}

// startDelivery starts a workflow. The number of concurrent starts is limited, because many starts delay other
// subscriptions.
func (r *burstRun) startDelivery(ctx context.Context, claim app.Claim) error {
	r.starting.enter(claim.Queue)
	defer r.starting.leave()
	ctx, started := context.WithTimeout(ctx, r.policy.Start)
	defer started()
	return r.starter.StartDelivery(ctx, claim)
}

// await waits until all deliveries have settled. Deliveries whose attempts take long leave the burst.
func (r *burstRun) await(ctx context.Context) (BurstResult, error) {
	ends := make([]*settled, len(r.flights))
	leave := r.after(r.policy.Leave)
	for waiting := len(ends); waiting > 0; {
		select {
		case s := <-r.settled:
			if ends[s.place] == nil {
				ends[s.place] = &s
				waiting--
				r.working.settled(r.in.Deliveries[s.place].Queue)
			}
		case <-leave:
			for i, flight := range r.flights {
				if ends[i] == nil && !flight.responded.Load() {
					r.leave(ctx, i)
				}
			}
		}
	}
	return r.result(ends)
}

// leave starts the workflow of a delivery whose attempt takes long. Its first attempt is due after the time limit of
// the running attempt, so that it finds the record. If there is no record, this process has died, and the workflow
// makes the attempt. These workflows wake up one after the other until their second attempts are due, because a
// receiver that begins to hang causes hundreds of them.
func (r *burstRun) leave(ctx context.Context, place int) {
	r.left[place].Store(true)
	claim := r.claim(place)
	earliest := r.began.Add(r.deliveries.policy.AttemptLimit())
	due := r.wakes.reserve(claim.Queue, claim.SubscriptionID, earliest, r.latestWake())
	claim.NextRetryAt, claim.Quick = &due, true
	r.running.Go(func() {
		r.settled <- settled{
			place: place, outcome: OutcomeContinues, reason: "the receiver takes long",
			err: r.startDelivery(ctx, claim),
		}
	})
}

// latestWake returns the time at which the second attempt is due if the first one times out. Without a second attempt,
// nothing waits for the workflow.
func (r *burstRun) latestWake() time.Time {
	if r.in.RetryIn == 0 {
		return r.began.Add(maxWakeDelay)
	}
	return r.began.Add(r.deliveries.policy.Timeout + r.in.RetryIn)
}

// result returns the result of the burst. It returns an error if any delivery could not be handled.
func (r *burstRun) result(ends []*settled) (BurstResult, error) {
	var result BurstResult
	var first error
	failed := 0
	for _, s := range ends {
		switch {
		case s.err != nil && first == nil:
			first, failed = s.err, failed+1
		case s.err != nil:
			failed++
		case s.outcome == OutcomeDelivered:
			result.Delivered++
		default:
			other := BurstOther{DeliveryID: r.in.Deliveries[s.place].DeliveryID, Outcome: s.outcome, Reason: s.reason}
			result.Others = append(result.Others, other)
		}
	}
	if first != nil {
		return BurstResult{}, fmt.Errorf("%d of %d deliveries could not be handled: %w", failed, len(ends), first)
	}
	return result, nil
}
