// Package activities contains the side effects of workflows: HTTP requests to receivers, mails and database access. A
// failure of a receiver is a result. An error is an internal failure: Temporal retries the activity, which does not use
// up an attempt of the delivery.
package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"github.com/comanda-dev/comanda/app"
)

// UserAgent is the value of the header User-Agent in requests to receivers.
const UserAgent = "Comanda-Webhooks/1.0"

// Store contains deliveries and attempts.
type Store interface {
	// Outgoing loads the input of an attempt. It returns NOT_FOUND if the delivery's row has been erased.
	Outgoing(ctx context.Context, id app.DeliveryID, number int) (app.Outgoing, error)
	// OutgoingBody loads a large body that Outgoing has not loaded, nil if it has been erased.
	OutgoingBody(ctx context.Context, id app.DeliveryID) ([]byte, error)
	// RecordAttempt records an attempt. fresh is false if an attempt with this number was already recorded.
	RecordAttempt(ctx context.Context, attempt app.MadeAttempt) (fresh bool, err error)
	// EndDelivery ends a delivery without an attempt.
	EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error
	// EndLoaded is EndDelivery for a delivery that was loaded after a number of replays.
	EndLoaded(ctx context.Context, now time.Time, id app.DeliveryID, replays int, status app.DeliveryStatus,
		reason string) error
	// BeginReplay begins the replay of an ended delivery if it gets its turn, and reports so. Otherwise it queues it.
	BeginReplay(ctx context.Context, now time.Time, id app.DeliveryID) (began bool, err error)
	// OutgoingTest loads the input of a test. It returns NOT_FOUND if the subscription does not exist.
	OutgoingTest(ctx context.Context, test app.WebhookTest) (app.Outgoing, error)
	// RecordTest records the attempt of a test.
	RecordTest(ctx context.Context, attempt app.MadeAttempt) error
}

// Deliveries makes and records the attempts of deliveries. It is safe for concurrent use.
type Deliveries struct {
	store   Store
	egress  *Egress
	policy  DeliveryPolicy
	now     func() time.Time
	metrics attemptMetrics
	log     zerolog.Logger

	flights    flights
	atReceiver atomic.Int64       // attempts that wait for their receivers
	tests      singleflight.Group // a repeated activity waits for the running execution of the same test
	unrecorded unrecorded
	bulkhead   *bulkhead
}

// NewDeliveries returns the activity of attempts with the limits of a policy. It registers their metrics.
func NewDeliveries(
	store Store, egress *Egress, policy DeliveryPolicy, now func() time.Time,
	metrics prometheus.Registerer, log zerolog.Logger,
) *Deliveries {
	return &Deliveries{
		store: store, egress: egress, policy: policy, now: now, metrics: newAttemptMetrics(metrics),
		// If a secret key is missing, many attempts fail repeatedly.
		log:      log.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Minute}),
		bulkhead: newBulkhead(policy.Bulkhead, policy.Timeout, time.Now),
	}
}

// Working returns the number of attempts that this process loads, starts or records. Attempts that wait for their
// receivers do not count.
func (d *Deliveries) Working() int { return d.flights.count() - int(d.atReceiver.Load()) }

// DeliverInput identifies one attempt.
type DeliverInput struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
	Attempt    int            `json:"attempt"` // from 1; continues across replays
	RetryIn    time.Duration  `json:"retryIn"` // delay of the next attempt if this one fails; 0 = no next attempt
	Lane       Lane           `json:"lane"`
	Queue      string         `json:"queue"` // the website, or all its sandboxes
}

// Outcome is the outcome of one call of [Deliveries.Deliver].
type Outcome string

const (
	OutcomeDelivered  Outcome = "delivered"
	OutcomeFailed     Outcome = "failed"
	OutcomeDeadLetter Outcome = "dead_letter" // no attempt: the subscription is inactive or the body was erased
	OutcomeCancelled  Outcome = "cancelled"   // no attempt: the delivery was cancelled or its subscription deleted
	// OutcomeBusy means that no attempt was made: the subscription, or its website, has too many running attempts in
	// this lane.
	OutcomeBusy Outcome = "busy"
	// OutcomeQueued means that no attempt was made: the delivery is queued again, for a replay or after a takeover. The
	// claim that follows makes it pending.
	OutcomeQueued Outcome = "queued"
)

// DeliverResult is the result of an attempt for the workflow and its history.
type DeliverResult struct {
	Outcome    Outcome       `json:"outcome"`
	StatusCode int           `json:"statusCode,omitempty"` // 0 = no response
	Reason     string        `json:"reason,omitempty"`     // a few words; empty if delivered, busy or queued
	Quick      bool          `json:"quick,omitempty"`      // the receiver responded quickly, with any status
	Wait       time.Duration `json:"wait,omitempty"`       // if busy: time to wait; 0 = use the slow lane immediately
}

// withoutAttempt returns the result for a delivery that ends without an attempt.
func withoutAttempt(outcome Outcome, reason string) attempted {
	return attempted{DeliverResult: DeliverResult{Outcome: outcome, Reason: reason}}
}

// erased returns the result for a delivery whose rows have been erased.
func erased() attempted { return withoutAttempt(OutcomeCancelled, "no longer kept") }

// attemptKey returns the key of an attempt in flights and unrecorded.
func attemptKey(id app.DeliveryID, number int) string { return string(id) + "/" + strconv.Itoa(number) }

// errUnreadable is an internal failure. The activity is retried until COMANDA_SECRET_KEYS contains the missing key.
var errUnreadable = errors.New("no key in COMANDA_SECRET_KEYS opens the webhook's secret")

// errExpired is an internal failure of an activity whose attempt was due when it was loaded, but no longer when its
// request was ready, because the worker was suspended in between. Temporal may have timed out the activity, and another
// worker may have made the attempt. The delivery may have ended, and may be in progress as a replay.
var errExpired = errors.New("the attempt is no longer due")

// Deliver makes one attempt and records it. It does not repeat an attempt that is already recorded, because a failed
// workflow task repeats its local activities. The result is that of the record, even if another worker has recorded the
// same attempt in the meantime. An error is an internal failure: Temporal retries the activity, which does not use up
// an attempt of the delivery.
func (d *Deliveries) Deliver(ctx context.Context, in DeliverInput) (DeliverResult, error) {
	// An attempt that has begun finishes and is recorded even if the worker stops, the workflow is cancelled or the
	// activity times out. It has its own timeouts.
	deadline, _ := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	key := attemptKey(in.DeliveryID, in.Attempt)
	flight, isNew := d.flights.enter(key)
	if isNew {
		flight.deadline = deadline
		d.flights.run(key, flight, func() (attempted, error) { return d.deliver(ctx, in, flight) })
	}
	<-flight.done
	return flight.DeliverResult, flight.err
}

func (d *Deliveries) deliver(ctx context.Context, in DeliverInput, flight *flight) (attempted, error) {
	d.unrecorded.extend(attemptKey(in.DeliveryID, in.Attempt), d.now())
	until := time.Now().Add(d.policy.Load)
	loading, loaded := context.WithDeadline(ctx, until)
	outgoing, err := d.store.Outgoing(loading, in.DeliveryID, in.Attempt)
	loaded()
	if app.CodeOf(err) == app.CodeNotFound {
		return erased(), nil
	}
	if err != nil {
		return attempted{}, err
	}
	return d.deliverLoaded(ctx, in, outgoing, until, flight)
}

// deliverLoaded makes and records an attempt with the given input, unless the state of the delivery or of the
// subscription forbids it. It only records the attempt if an earlier execution has already made it. A large body is
// loaded until the given time.
func (d *Deliveries) deliverLoaded(
	ctx context.Context, in DeliverInput, outgoing app.Outgoing, until time.Time, flight *flight,
) (attempted, error) {
	made, ok := d.unrecorded.find(attemptKey(in.DeliveryID, in.Attempt))
	if ok && made.Outgoing.Replays == outgoing.Replays { // otherwise it is an attempt of an earlier schedule
		flight.responded.Store(true)
		return d.record(ctx, made)
	}
	switch {
	case outgoing.Recorded != nil:
		return resultOf(*outgoing.Recorded, in.RetryIn), nil
	case outgoing.Deleted:
		return d.end(ctx, in.DeliveryID, outgoing, OutcomeCancelled, app.ReasonDeleted)
	case outgoing.Status == app.DeliveryCancelled:
		return withoutAttempt(OutcomeCancelled, app.ReasonCancelled), nil
	case !outgoing.Active:
		return d.end(ctx, in.DeliveryID, outgoing, OutcomeDeadLetter, app.ReasonInactive)
	case !outgoing.InProgress():
		return notInProgress(outgoing.Status), nil
	case len(outgoing.Body) == 0 && outgoing.Unloaded == 0:
		return d.end(ctx, in.DeliveryID, outgoing, OutcomeDeadLetter, reasonErased)
	case outgoing.Unreadable:
		return attempted{}, d.unreadable(outgoing)
	}
	leave, wait := d.bulkhead.enter(in.Queue, outgoing.SubscriptionID, in.Lane, outgoing.Unloaded)
	if leave == nil {
		d.metrics.refused.WithLabelValues(string(in.Lane)).Inc()
		return attempted{DeliverResult: DeliverResult{Outcome: OutcomeBusy, Wait: wait}}, nil
	}
	defer leave()
	if outgoing.Unloaded > 0 {
		var err error
		if outgoing.Body, err = d.loadBody(ctx, in.DeliveryID, until); err != nil {
			return attempted{}, err
		}
		if outgoing.Body == nil {
			return d.end(ctx, in.DeliveryID, outgoing, OutcomeDeadLetter, reasonErased)
		}
	}
	due := func() error { return d.stillDue(ctx, in, outgoing, until, flight) }
	if err := due(); err != nil {
		return attempted{}, err
	}
	made, err := d.attempt(ctx, in, outgoing, due)
	if err != nil {
		return attempted{}, err
	}
	made.Outgoing.Body = nil // an attempt that cannot be recorded is kept for longer than its place
	flight.responded.Store(true)
	return d.record(ctx, made)
}

// stillDue returns errExpired if no request of an attempt may begin any more. If the attempt was loaded some time ago,
// it is loaded again: another worker may have taken over the delivery of a suspended worker.
func (d *Deliveries) stillDue(
	ctx context.Context, in DeliverInput, loaded app.Outgoing, until time.Time, flight *flight,
) error {
	now := time.Now()
	if flight.expired(now) {
		return errExpired
	}
	if now.Before(until) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.policy.Load)
	defer cancel()
	again, err := d.store.Outgoing(ctx, in.DeliveryID, in.Attempt)
	if err != nil {
		return err
	}
	if again.Recorded != nil || again.Deleted || !again.Active || !again.InProgress() || again.Replays != loaded.Replays {
		return errExpired
	}
	return nil
}

// loadBody loads a large body until a time. It returns nil if the body has been erased.
func (d *Deliveries) loadBody(ctx context.Context, id app.DeliveryID, until time.Time) ([]byte, error) {
	ctx, loaded := context.WithDeadline(ctx, until)
	defer loaded()
	return d.store.OutgoingBody(ctx, id)
}

// reasonErased is the reason of a dead letter whose body has been erased.
const reasonErased = "payload erased"

// notInProgress returns the result for a delivery that another worker has ended, or that a replay or a takeover has
// queued again. Its workflow follows the row: it waits for the claim, or for a replay of the ended delivery.
func notInProgress(status app.DeliveryStatus) attempted {
	if status == app.DeliveryQueued {
		return attempted{DeliverResult: DeliverResult{Outcome: OutcomeQueued}}
	}
	return withoutAttempt(Outcome(status), "the delivery has ended")
}

// unreadable logs that a request cannot be signed.
func (d *Deliveries) unreadable(outgoing app.Outgoing) error {
	d.log.Error().Str("store", string(outgoing.StoreID)).Str("subscription", string(outgoing.SubscriptionID)).
		Str("event", string(outgoing.EventID)).Err(errUnreadable).Msg("cannot sign a delivery")
	return errUnreadable
}

// attempt makes one attempt of the schedule. Before the request is written, it calls due, whose error it returns.
func (d *Deliveries) attempt(
	ctx context.Context, in DeliverInput, outgoing app.Outgoing, due func() error,
) (app.MadeAttempt, error) {
	d.atReceiver.Add(1)
	defer d.atReceiver.Add(-1) // also if the attempt panics
	made, err := d.post(ctx, outgoing, due)
	made.DeliveryID, made.Number = in.DeliveryID, in.Attempt
	if err != nil || made.Status == app.AttemptDelivered {
		return made, err
	}
	made.Status, made.RetryIn = app.AttemptRetrying, in.RetryIn
	if in.RetryIn == 0 {
		made.Status = app.AttemptDeadLetter
	}
	return made, nil
}

// post makes the POST. The status of the result is AttemptDelivered or AttemptFailed. It returns the error of due.
func (d *Deliveries) post(ctx context.Context, outgoing app.Outgoing, due func() error) (app.MadeAttempt, error) {
	made := app.MadeAttempt{Outgoing: outgoing, At: d.now(), Status: app.AttemptDelivered}
	headers := Headers(outgoing, made.At)
	ctx, span := startAttempt(ctx, outgoing, headers)
	defer func() { endAttempt(span, made) }()
	made.Sent = sent(outgoing, headers)
	var refused atomic.Pointer[error] // after a timeout, the connection may still call due
	response, err := d.egress.Post(ctx, outgoing.URL, headers, outgoing.Body, func() error {
		err := due()
		if err != nil {
			refused.Store(&err)
		}
		return err
	})
	if reason := refused.Load(); reason != nil && err != nil {
		made.Status, made.Error = app.AttemptFailed, (*reason).Error() // for the span
		return made, *reason
	}
	made.Duration = max(0, d.now().Sub(made.At)) // the clock of the database may be set back
	made.StatusCode, made.Headers, made.Body = response.StatusCode, response.Header, response.Body
	if err != nil || response.StatusCode/100 != 2 {
		made.Status, made.Error = app.AttemptFailed, failure(response.StatusCode, err)
	}
	return made, nil
}

// sent returns the headers of a request for the record: with those that the HTTP client adds, and without the values of
// the webhook's further headers.
func sent(outgoing app.Outgoing, headers http.Header) http.Header {
	all := headers.Clone()
	if u, err := url.Parse(outgoing.URL); err == nil {
		all.Set("Host", u.Host)
	}
	all.Set("Content-Length", strconv.Itoa(len(outgoing.Body)))
	for name := range outgoing.Headers {
		all[http.CanonicalHeaderKey(name)] = []string{} // the value is secret
	}
	return all
}

func failure(status int, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case status/100 == 3:
		return fmt.Sprintf("HTTP %d: redirects are not followed", status)
	}
	return fmt.Sprintf("HTTP %d", status)
}

// CancelInput identifies a delivery whose workflow was cancelled.
type CancelInput struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
}

// Cancel records that a delivery's workflow was cancelled.
func (d *Deliveries) Cancel(ctx context.Context, in CancelInput) error {
	return d.store.EndDelivery(ctx, d.now(), in.DeliveryID, app.DeliveryCancelled, app.ReasonCancelled)
}

// BeginReplayInput identifies a dead letter that an operator replays.
type BeginReplayInput struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
}

// BeginReplayResult is the result of a request for the turn.
type BeginReplayResult struct {
	Began bool `json:"began"` // false = the replay is queued, and its workflow gets a signal when it is claimed
}

// BeginReplay requests the turn of an operator's replay. It can be repeated.
func (d *Deliveries) BeginReplay(ctx context.Context, in BeginReplayInput) (BeginReplayResult, error) {
	began, err := d.store.BeginReplay(ctx, d.now(), in.DeliveryID)
	return BeginReplayResult{Began: began}, err
}
