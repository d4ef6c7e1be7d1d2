// Package activities holds what workflows do to the outside world. A receiver's refusal
// is data here; an error means that we failed, and is tried again without using up one
// of the delivery's attempts.
package activities

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/comanda-dev/comanda/app"
)

// UserAgent is how the service introduces itself to receivers (spec, Delivery request).
const UserAgent = "Comanda-Webhooks/1.0"

// Store is what deliveries need of the database.
type Store interface {
	Outgoing(ctx context.Context, id app.DeliveryID, number int) (app.Outgoing, error)
	RecordAttempt(ctx context.Context, attempt app.MadeAttempt) (fresh bool, err error)
	EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error
	OutgoingTest(ctx context.Context, test app.WebhookTest) (app.Outgoing, error)
	RecordTest(ctx context.Context, attempt app.MadeAttempt) error
}

// Deliveries makes the attempts of deliveries.
type Deliveries struct {
	store    Store
	egress   *Egress
	now      func() time.Time
	attempts *prometheus.CounterVec
	duration prometheus.Histogram

	// underWay joins a try to one that still runs though it was given up as too slow.
	underWay singleflight.Group
	// unrecorded holds attempts that were made and could not be recorded, by attemptKey:
	// the next try records them instead of making them again.
	unrecorded sync.Map
}

// loadTimeout bounds the loading of an attempt, so that the POST that follows ends within
// the time that the workflow gives to the whole.
const loadTimeout = 2 * time.Second

// NewDeliveries joins what attempts need.
func NewDeliveries(store Store, egress *Egress, now func() time.Time, metrics prometheus.Registerer) *Deliveries {
	d := &Deliveries{
		store: store, egress: egress, now: now,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_delivery_attempts_total", Help: "Attempts made, by their outcome.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "comanda_delivery_attempt_seconds", Help: "Time from the start of an attempt to the receiver's status line, or to giving up.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	metrics.MustRegister(d.attempts, d.duration)
	for _, outcome := range []Outcome{OutcomeDelivered, OutcomeFailed} {
		d.attempts.WithLabelValues(string(outcome)) // a rate needs its zero
	}
	return d
}

// DeliverInput names one attempt.
type DeliverInput struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
	Attempt    int            `json:"attempt"` // from 1, counting on over replays
	RetryIn    time.Duration  `json:"retryIn"` // until the next attempt if this one fails; 0 = there is none
	Lane       Lane           `json:"lane,omitempty"`
}

// Lane is the path of one attempt.
type Lane string

const (
	LaneFast Lane = "fast"
	LaneSlow Lane = "slow"
)

// Outcome is what became of an attempt.
type Outcome string

const (
	OutcomeDelivered  Outcome = "delivered"
	OutcomeFailed     Outcome = "failed"
	OutcomeDeadLetter Outcome = "dead_letter" // not made: it must not be, now
	OutcomeCancelled  Outcome = "cancelled"   // not made: there is nobody to send it to
	OutcomeBusy       Outcome = "busy"        // not made: the subscription has too many attempts in flight in this lane
)

// DeliverResult is what the workflow and its history learn of an attempt.
type DeliverResult struct {
	Outcome    Outcome       `json:"outcome"`
	StatusCode int           `json:"statusCode,omitempty"` // 0 = no response
	Reason     string        `json:"reason,omitempty"`     // in a few words, unless delivered
	Quick      bool          `json:"quick,omitempty"`      // the receiver responded in less than one second
	Wait       time.Duration `json:"wait,omitempty"`       // with OutcomeBusy in the slow lane: until the next try
}

type attemptKey struct {
	delivery app.DeliveryID
	number   int
}

// Deliver makes one attempt and records it. An attempt that is recorded already is not
// made again: whatever fails a workflow task runs its local activities once more.
func (d *Deliveries) Deliver(ctx context.Context, in DeliverInput) (DeliverResult, error) {
	// What has begun is finished and recorded, also when the worker stops or the workflow
	// is cancelled; the POST has its own time limit.
	ctx = context.WithoutCancel(ctx)
	key := attemptKey{in.DeliveryID, in.Attempt}
	result, err, _ := d.underWay.Do(fmt.Sprint(key), func() (any, error) { return d.deliver(ctx, key, in) })
	return result.(DeliverResult), err
}

func (d *Deliveries) deliver(ctx context.Context, key attemptKey, in DeliverInput) (DeliverResult, error) {
	if made, ok := d.unrecorded.Load(key); ok {
		return d.record(ctx, key, made.(app.MadeAttempt))
	}
	loading, loaded := context.WithTimeout(ctx, loadTimeout)
	outgoing, err := d.store.Outgoing(loading, in.DeliveryID, in.Attempt)
	loaded()
	switch {
	case app.CodeOf(err) == app.CodeNotFound:
		return DeliverResult{Outcome: OutcomeCancelled, Reason: "no longer kept"}, nil
	case err != nil:
		return DeliverResult{}, err
	case outgoing.Recorded != nil:
		return resultOf(outgoing.Recorded.Status, outgoing.Recorded.StatusCode, outgoing.Recorded.Error), nil
	case outgoing.Deleted:
		return d.end(ctx, in.DeliveryID, OutcomeCancelled, app.ReasonDeleted)
	case outgoing.Status == app.DeliveryCancelled:
		return DeliverResult{Outcome: OutcomeCancelled, Reason: app.ReasonCancelled}, nil
	case !outgoing.Active:
		return d.end(ctx, in.DeliveryID, OutcomeDeadLetter, app.ReasonInactive)
	case len(outgoing.Body) == 0:
		return d.end(ctx, in.DeliveryID, OutcomeDeadLetter, "payload erased")
	}
	return d.record(ctx, key, d.attempt(ctx, in, outgoing))
}

// attempt makes one of the schedule's attempts.
func (d *Deliveries) attempt(ctx context.Context, in DeliverInput, outgoing app.Outgoing) app.MadeAttempt {
	made := d.post(ctx, outgoing)
	made.DeliveryID, made.Number = in.DeliveryID, in.Attempt
	if made.Status == app.AttemptDelivered {
		return made
	}
	made.Status, made.RetryIn = app.AttemptRetrying, in.RetryIn
	if in.RetryIn == 0 {
		made.Status = app.AttemptDeadLetter
	}
	return made
}

// post makes the POST, which is delivered or has failed.
func (d *Deliveries) post(ctx context.Context, outgoing app.Outgoing) app.MadeAttempt {
	made := app.MadeAttempt{Outgoing: outgoing, At: d.now(), Status: app.AttemptDelivered}
	headers := Headers(outgoing, made.At)
	made.Sent = sent(outgoing, headers)
	response, err := d.egress.Post(ctx, outgoing.URL, headers, outgoing.Body)
	made.Duration = d.now().Sub(made.At)
	made.StatusCode, made.Headers, made.Body = response.StatusCode, response.Header, response.Body
	if err != nil || response.StatusCode/100 != 2 {
		made.Status, made.Error = app.AttemptFailed, failure(response.StatusCode, err)
	}
	return made
}

// sent returns the headers of a request with those that the HTTP client adds.
func sent(outgoing app.Outgoing, headers http.Header) http.Header {
	all := headers.Clone()
	if u, err := url.Parse(outgoing.URL); err == nil {
		all.Set("Host", u.Host)
	}
	all.Set("Content-Length", strconv.Itoa(len(outgoing.Body)))
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

// record writes a made attempt down; if that fails it is kept for the next try.
func (d *Deliveries) record(ctx context.Context, key attemptKey, made app.MadeAttempt) (DeliverResult, error) {
	d.unrecorded.Store(key, made)
	if _, err := d.store.RecordAttempt(ctx, made); err != nil {
		return DeliverResult{}, err
	}
	d.unrecorded.Delete(key)
	result := resultOf(made.Status, made.StatusCode, made.Error)
	d.attempts.WithLabelValues(string(result.Outcome)).Inc()
	d.duration.Observe(made.Duration.Seconds())
	return result, nil
}

func resultOf(status app.AttemptStatus, code int, reason string) DeliverResult {
	if status == app.AttemptDelivered {
		return DeliverResult{Outcome: OutcomeDelivered, StatusCode: code}
	}
	return DeliverResult{Outcome: OutcomeFailed, StatusCode: code, Reason: reason}
}

func (d *Deliveries) end(ctx context.Context, id app.DeliveryID, outcome Outcome, reason string) (DeliverResult, error) {
	err := d.store.EndDelivery(ctx, d.now(), id, app.DeliveryStatus(outcome), reason)
	return DeliverResult{Outcome: outcome, Reason: reason}, err
}

// CancelInput names a delivery that an operator has cancelled.
type CancelInput struct {
	DeliveryID app.DeliveryID `json:"deliveryId"`
}

// Cancel records that a delivery's workflow was cancelled.
func (d *Deliveries) Cancel(ctx context.Context, in CancelInput) error {
	return d.store.EndDelivery(ctx, d.now(), in.DeliveryID, app.DeliveryCancelled, app.ReasonCancelled)
}

// Headers returns the headers of one attempt (spec, Delivery request), and those of
// Standard Webhooks beside them (contract §4).
func Headers(outgoing app.Outgoing, at time.Time) http.Header {
	seconds := app.SignatureTime(outgoing.EventAt, at).Unix()
	timestamp := strconv.FormatInt(seconds, 10)
	return http.Header{
		"Content-Type":        {"application/json"},
		"User-Agent":          {UserAgent},
		"X-Webhook-Id":        {string(outgoing.EventID)},
		"X-Webhook-Timestamp": {timestamp},
		"X-Webhook-Signature": {app.Sign(outgoing.Secret, seconds, outgoing.Body)},
		"Webhook-Id":          {string(outgoing.EventID)},
		"Webhook-Timestamp":   {timestamp},
		"Webhook-Signature":   {standardSignatures(outgoing, seconds)},
	}
}

// standardSignatures returns the value of webhook-signature: the secret's signature, and
// that of the secret before it as long as that is good.
func standardSignatures(outgoing app.Outgoing, seconds int64) string {
	signatures := app.SignStandard(outgoing.Secret, outgoing.EventID, seconds, outgoing.Body)
	if outgoing.PreviousSecret.Len() > 0 {
		signatures += " " + app.SignStandard(outgoing.PreviousSecret, outgoing.EventID, seconds, outgoing.Body)
	}
	return signatures
}
