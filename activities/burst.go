package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// BurstStore loads the deliveries of a burst.
type BurstStore interface {
	// OutgoingAll loads what an attempt of that number needs of each delivery, in the same order.
	// A delivery that is gone is nil.
	OutgoingAll(ctx context.Context, deliveries []app.DeliveryID, number int) ([]*app.Outgoing, error)
}

// DeliveryStarter starts the workflow of one delivery. A repeated call has no further effect.
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

	running  sync.WaitGroup // attempts in flight, also of bursts that have ended
	starting chan struct{}  // holds one for each workflow that is being started
}

// NewBursts returns bursts whose attempts deliveries makes. starter starts the workflows of
// deliveries that a burst does not finish.
func NewBursts(deliveries *Deliveries, store BurstStore, starter DeliveryStarter, policy BurstPolicy) *Bursts {
	return &Bursts{
		deliveries: deliveries, store: store, starter: starter, policy: policy, after: time.After,
		starting: make(chan struct{}, policy.Starts),
	}
}

// BurstInput names the deliveries of a burst.
type BurstInput struct {
	Deliveries []BurstDelivery `json:"deliveries"`
	RetryIn    time.Duration   `json:"retryIn"` // until the second attempt of a delivery; 0 = there is none
}

// BurstDelivery names a delivery whose first attempt a burst makes.
type BurstDelivery struct {
	DeliveryID     app.DeliveryID     `json:"deliveryId"`
	StoreID        app.StoreID        `json:"storeId"`
	Queue          string             `json:"queue"` // the website, or the sandbox twin
	EventID        app.EventID        `json:"eventId"`
	EventType      app.EventType      `json:"eventType"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
}

// OutcomeContinues is the outcome of a delivery that has got a workflow of its own.
const OutcomeContinues Outcome = "continues"

// BurstResult is the result of a burst for its workflow. Most deliveries are delivered, so it
// names only the others.
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

// firstAttempt is the number of the attempts that a burst makes.
const firstAttempt = 1

// DeliverBurst makes the first attempts of deliveries concurrently. It returns when each of them
// is recorded or has a workflow of its own. Attempts that take long continue in the background.
//
// Like Deliver, it can be repeated: recorded attempts are not made again, and attempts in
// flight are joined. An error is a failure on our side that concerns the burst.
func (b *Bursts) DeliverBurst(ctx context.Context, in BurstInput) (BurstResult, error) {
	// Attempts that have begun are finished, see Deliver.
	ctx = context.WithoutCancel(ctx)
	n := len(in.Deliveries)
	run := &burstRun{
		Bursts: b, in: in, began: b.deliveries.now(),
		flights: make([]*flight, n), left: make([]atomic.Bool, n), settled: make(chan settled, 2*n), // each may also leave
	}
	if err := run.start(ctx); err != nil {
		return BurstResult{}, err
	}
	return run.await(ctx)
}

// Wait waits for the attempts that continue after their bursts, until ctx ends. No burst may
// begin meanwhile.
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

	in      BurstInput
	began   time.Time
	flights []*flight
	left    []atomic.Bool // the attempt takes long: its delivery gets a workflow of its own
	settled chan settled
}

// settled is the end of one delivery within a burst: it is recorded or has a workflow of its
// own, unless there is an error.
type settled struct {
	place   int // in the input
	outcome Outcome
	reason  string
	err     error
}

// start begins the attempts. It enters the flights before it loads their data: an attempt in
// flight could otherwise be recorded between the two, and be made again.
func (r *burstRun) start(ctx context.Context) error {
	mine := make([]int, 0, len(r.flights))
	for i := range r.flights {
		var own bool
		if r.flights[i], own = r.deliveries.flights.enter(r.key(i)); own {
			mine = append(mine, i)
		}
	}
	loaded, err := r.load(ctx, mine)
	if err != nil {
		for _, i := range mine {
			r.deliveries.flights.run(r.key(i), r.flights[i], func() (attempted, error) { return attempted{}, err })
		}
		return err
	}
	outgoing := make([]*app.Outgoing, len(r.flights))
	for n, i := range mine {
		outgoing[i] = loaded[n]
	}
	next := 0
	for i := range r.flights {
		own := next < len(mine) && mine[next] == i
		if own {
			next++
		}
		r.running.Go(func() {
			if own {
				attempt := func() (attempted, error) { return r.attempt(ctx, i, outgoing[i]) }
				r.deliveries.flights.run(r.key(i), r.flights[i], attempt)
			}
			r.settled <- r.settle(ctx, i)
		})
	}
	return nil
}

func (r *burstRun) key(place int) string {
	return attemptKey(r.in.Deliveries[place].DeliveryID, firstAttempt)
}

// load loads the data of the deliveries at these places.
func (r *burstRun) load(ctx context.Context, places []int) ([]*app.Outgoing, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]app.DeliveryID, len(places))
	for n, i := range places {
		ids[n] = r.in.Deliveries[i].DeliveryID
	}
	ctx, loaded := context.WithTimeout(ctx, r.deliveries.policy.Load)
	defer loaded()
	return r.store.OutgoingAll(ctx, ids, firstAttempt)
}

// attempt makes one attempt, unless an earlier run has made it.
func (r *burstRun) attempt(ctx context.Context, place int, outgoing *app.Outgoing) (attempted, error) {
	flight := r.flights[place]
	if made, ok := r.deliveries.unrecorded.find(r.key(place)); ok {
		flight.responded.Store(true)
		return r.deliveries.record(ctx, made)
	}
	if outgoing == nil {
		return gone(), nil
	}
	in := DeliverInput{
		DeliveryID: r.in.Deliveries[place].DeliveryID, Attempt: firstAttempt, RetryIn: r.in.RetryIn, Lane: LaneFast,
	}
	return r.deliveries.deliverLoaded(ctx, in, *outgoing, flight)
}

// settle waits for an attempt and starts the workflow of its delivery if that has not ended.
func (r *burstRun) settle(ctx context.Context, place int) settled {
	flight, claim := r.flights[place], r.claim(place)
	<-flight.done
	s := settled{place: place, outcome: flight.Outcome, reason: flight.Reason}
	switch {
	case errors.Is(flight.err, errUnreadable): // holds only this delivery
		s.reason = errUnreadable.Error()
	case flight.err != nil:
		s.err = flight.err
		return s
	case flight.Outcome == OutcomeBusy:
		s.reason = "the webhook has too many attempts in progress"
	case flight.Outcome != OutcomeFailed:
		return s
	case flight.status == app.AttemptDeadLetter:
		s.outcome = OutcomeDeadLetter
		return s
	case flight.status == app.AttemptFailed: // the next attempt is already made
		s.outcome = OutcomeContinues
		return s
	default:
		claim.Attempts, claim.Place, claim.NextRetryAt, claim.Quick = 1, 1, &flight.retryAt, flight.Quick
	}
	s.outcome = OutcomeContinues
	if !r.left[place].Load() {
		s.err = r.startDelivery(ctx, claim)
	}
	return s
}

// claim returns the claim with which a delivery begins in a workflow of its own. Its attempts
// take the slow lane.
func (r *burstRun) claim(place int) app.Claim {
	d := r.in.Deliveries[place]
	return app.Claim{
		ID: d.DeliveryID, StoreID: d.StoreID, Queue: d.Queue, EventID: d.EventID, EventType: d.EventType,
		SubscriptionID: d.SubscriptionID,
	}
}

// startDelivery starts a workflow. Only a few start concurrently: many starts delay others.
func (r *burstRun) startDelivery(ctx context.Context, claim app.Claim) error {
	r.starting <- struct{}{}
	defer func() { <-r.starting }()
	ctx, started := context.WithTimeout(ctx, r.policy.Start)
	defer started()
	return r.starter.StartDelivery(ctx, claim)
}

// await collects the ends of all deliveries. Attempts that take long leave the burst.
func (r *burstRun) await(ctx context.Context) (BurstResult, error) {
	ends := make([]*settled, len(r.flights))
	leave := r.after(r.policy.Leave)
	for waiting := len(ends); waiting > 0; {
		select {
		case s := <-r.settled:
			if ends[s.place] == nil {
				ends[s.place] = &s
				waiting--
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

// leave starts the workflow of a delivery whose attempt takes long. The workflow begins after
// the attempt must have been recorded, so that it finds the record. Without one, this process
// has died, and the workflow makes the attempt.
func (r *burstRun) leave(ctx context.Context, place int) {
	r.left[place].Store(true)
	claim, due := r.claim(place), r.began.Add(r.deliveries.policy.AttemptLimit())
	claim.NextRetryAt, claim.Quick = &due, true
	r.running.Go(func() {
		r.settled <- settled{
			place: place, outcome: OutcomeContinues, reason: "the receiver takes long", err: r.startDelivery(ctx, claim),
		}
	})
}

// result returns the ends of all deliveries, or the first error.
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
