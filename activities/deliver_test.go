package activities

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

var eventAt = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// memory is a Store with one delivery.
type memory struct {
	sync.Mutex
	outgoing app.Outgoing
	body     []byte // a large one
	err      error  // of Outgoing and OutgoingBody
	refuse   int    // number of records that fail
	made     []app.MadeAttempt
	ended    []string
}

func (m *memory) Outgoing(_ context.Context, _ app.DeliveryID, number int) (app.Outgoing, error) {
	m.Lock()
	defer m.Unlock()
	outgoing := m.outgoing
	for _, made := range m.made {
		if made.Number == number {
			outgoing.Recorded = &app.Attempt{
				Status: made.Status, StatusCode: made.StatusCode, Error: made.Error,
				ResponseTimeMs: made.Duration.Milliseconds(),
			}
		}
	}
	return outgoing, m.err
}

func (m *memory) OutgoingBody(context.Context, app.DeliveryID) ([]byte, error) {
	m.Lock()
	defer m.Unlock()
	return m.body, m.err
}

func (m *memory) set(outgoing app.Outgoing) {
	m.Lock()
	defer m.Unlock()
	m.outgoing = outgoing
}

func (m *memory) RecordAttempt(_ context.Context, attempt app.MadeAttempt) (bool, error) {
	m.Lock()
	defer m.Unlock()
	if m.refuse > 0 {
		m.refuse--
		return false, errors.New("the database is away")
	}
	if slices.ContainsFunc(m.made, func(made app.MadeAttempt) bool { return made.Number == attempt.Number }) {
		return false, nil
	}
	m.made = append(m.made, attempt)
	return true, nil
}

func (m *memory) OutgoingTest(ctx context.Context, test app.WebhookTest) (app.Outgoing, error) {
	return m.Outgoing(ctx, "", 0)
}

func (m *memory) RecordTest(ctx context.Context, attempt app.MadeAttempt) error {
	_, err := m.RecordAttempt(ctx, attempt)
	return err
}

func (m *memory) BeginReplay(context.Context, time.Time, app.DeliveryID) (bool, error) {
	return true, nil
}

func (m *memory) EndDelivery(context.Context, time.Time, app.DeliveryID, app.DeliveryStatus, string) error {
	return nil
}

func (m *memory) EndLoaded(
	_ context.Context, _ time.Time, _ app.DeliveryID, replays int, status app.DeliveryStatus, reason string,
) error {
	m.Lock()
	defer m.Unlock()
	m.ended = append(m.ended, fmt.Sprintf("%s after %d replays: %s", status, replays, reason))
	return nil
}

func outgoing(url string) app.Outgoing {
	return app.Outgoing{
		Status: app.DeliveryPending, SubscriptionID: "whk_1", EventID: "evt_1", EventAt: eventAt,
		Position: 3632106700800000, Resource: "order/ord_1", Body: []byte(`{"id":"evt_1"}`), URL: url,
		Secret: app.NewSecret(strings.Repeat("s", 32)), Active: true,
	}
}

func newDeliveries(e *Egress, store Store) *Deliveries {
	now := func() time.Time { return eventAt.Add(time.Second) }
	return NewDeliveries(store, e, DefaultDeliveryPolicy(time.Minute), now, prometheus.NewRegistry(), zerolog.Nop())
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	again, last := DeliverInput{Attempt: 1, RetryIn: time.Minute}, DeliverInput{Attempt: 6}
	for name, test := range map[string]struct {
		httpStatus int
		in         DeliverInput
		want       DeliverResult
		status     app.AttemptStatus
	}{
		"delivered":    {204, again, DeliverResult{Outcome: OutcomeDelivered}, app.AttemptDelivered},
		"to be tried":  {503, again, DeliverResult{Outcome: OutcomeFailed, Reason: "HTTP 503"}, app.AttemptRetrying},
		"the last one": {503, last, DeliverResult{Outcome: OutcomeFailed, Reason: "HTTP 503"}, app.AttemptDeadLetter},
		"redirected": {
			301, last,
			DeliverResult{Outcome: OutcomeFailed, Reason: "HTTP 301: redirects are not followed"},
			app.AttemptDeadLetter,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, url := receiver(
				t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.httpStatus) },
			)
			store := &memory{outgoing: outgoing(url)}
			got, err := newDeliveries(e, store).Deliver(t.Context(), test.in)
			if err != nil {
				t.Fatal(err)
			}
			test.want.StatusCode, test.want.Quick = test.httpStatus, true
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			made := store.made[0]
			if made.Status != test.status || made.StatusCode != test.httpStatus ||
				made.Status == app.AttemptRetrying && made.RetryIn != test.in.RetryIn {
				t.Errorf("recorded %+v, want status %s, code %d, retry in %s",
					made, test.status, test.httpStatus, test.in.RetryIn)
			}
		})
	}
}

// A receiver that switches protocols (101) and keeps the connection open has failed.
func TestDeliverSwitchingProtocols(t *testing.T) {
	t.Parallel()
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		if !hold(conn) {
			t.Error("the client kept the connection open, want it closed")
		}
	})
	store := &memory{outgoing: outgoing(url)}
	d := newDeliveries(e, store)
	got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1, RetryIn: time.Minute})
	failed := DeliverResult{Outcome: OutcomeFailed, StatusCode: 101, Reason: "HTTP 101", Quick: true}
	if diff := cmp.Diff(failed, got); diff != "" || err != nil {
		t.Errorf("Deliver: error %v, result (-want +got):\n%s", err, diff)
	}
	tested, err := d.Test(t.Context(), app.WebhookTest{EventID: "evt_2"})
	want := app.WebhookTestResult{StatusCode: 101, EventID: "evt_2", Error: "HTTP 101"}
	if diff := cmp.Diff(want, tested); diff != "" || err != nil {
		t.Errorf("Test: error %v, result (-want +got):\n%s", err, diff)
	}
	if len(store.made) != 2 || store.made[0].Status != app.AttemptRetrying ||
		store.made[1].Status != app.AttemptFailed {
		t.Errorf("recorded %+v, want a retrying and a failed attempt", store.made)
	}
}

func TestDeliverWithoutAttempt(t *testing.T) {
	t.Parallel()
	recorded := outgoing("")
	recorded.Recorded = &app.Attempt{Status: app.AttemptRetrying, StatusCode: 500, Error: "HTTP 500"}
	inactive, deleted, erased, cancelled := outgoing(""), outgoing(""), outgoing(""), outgoing("")
	inactive.Active, deleted.Deleted, erased.Body, cancelled.Status = false, true, nil, app.DeliveryCancelled
	queued, ended, dead := outgoing(""), outgoing(""), outgoing("")
	queued.Status, ended.Status, dead.Status = app.DeliveryQueued, app.DeliveryDelivered, app.DeliveryDeadLetter
	erased.Replays = 2
	inactive.Unreadable = true // irrelevant, because nothing is signed
	for name, test := range map[string]struct {
		store *memory
		want  DeliverResult
		ended []string
	}{
		"recorded": {
			&memory{outgoing: recorded},
			DeliverResult{Outcome: OutcomeFailed, StatusCode: 500, Reason: "HTTP 500", Quick: true}, nil,
		},
		"inactive": {
			&memory{outgoing: inactive},
			DeliverResult{Outcome: OutcomeDeadLetter, Reason: app.ReasonInactive},
			[]string{"dead_letter after 0 replays: subscription inactive"},
		},
		"deleted": {
			&memory{outgoing: deleted},
			DeliverResult{Outcome: OutcomeCancelled, Reason: app.ReasonDeleted},
			[]string{"cancelled after 0 replays: subscription deleted"},
		},
		"erased": {
			&memory{outgoing: erased},
			DeliverResult{Outcome: OutcomeDeadLetter, Reason: "payload erased"},
			[]string{"dead_letter after 2 replays: payload erased"},
		},
		"cancelled": {
			&memory{outgoing: cancelled}, DeliverResult{Outcome: OutcomeCancelled, Reason: app.ReasonCancelled}, nil,
		},
		"queued again": {&memory{outgoing: queued}, DeliverResult{Outcome: OutcomeQueued}, nil},
		"ended before": {
			&memory{outgoing: ended}, DeliverResult{Outcome: OutcomeDelivered, Reason: "the delivery has ended"}, nil,
		},
		"dead letter": {
			&memory{outgoing: dead}, DeliverResult{Outcome: OutcomeDeadLetter, Reason: "the delivery has ended"}, nil,
		},
		"gone": {&memory{err: app.NotFound()}, DeliverResult{Outcome: OutcomeCancelled, Reason: "no longer kept"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unexpected := func(http.ResponseWriter, *http.Request) { t.Error("the receiver got a request, want none") }
			e, url := receiver(t, time.Minute, unexpected)
			test.store.outgoing.URL = url
			got, err := newDeliveries(e, test.store).Deliver(t.Context(), DeliverInput{Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got) + cmp.Diff(test.ended, test.store.ended); diff != "" {
				t.Errorf("result and end of the delivery (-want +got):\n%s", diff)
			}
			if len(test.store.made) > 0 {
				t.Errorf("recorded %+v, want no attempt", test.store.made)
			}
		})
	}
}

// An activity that Temporal has timed out while its worker was suspended makes no attempt. It still records an attempt
// that an earlier execution has made.
func TestTimedOutActivityMakesNoAttempt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	store := &memory{outgoing: outgoing(url), refuse: 1}
	d := newDeliveries(e, store)
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if got, err := d.Deliver(expired, DeliverInput{Attempt: 1}); !errors.Is(err, errExpired) || calls.Load() != 0 {
		t.Errorf("timed out: got %+v, error %v and %d POSTs, want %v and none", got, err, calls.Load(), errExpired)
	}
	if _, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); err == nil {
		t.Error("Deliver with a failing record succeeded, want an error")
	}
	got, err := d.Deliver(expired, DeliverInput{Attempt: 1})
	if err != nil || got.Outcome != OutcomeDelivered || calls.Load() != 1 || len(store.made) != 1 {
		t.Errorf("timed out after the attempt: got %+v, error %v, %d POSTs and records %+v, want it recorded",
			got, err, calls.Load(), store.made)
	}
}

// Without the webhook's secret, a request cannot be signed. The attempt is neither made nor counted, and the activity
// is retried until the keys are available again.
func TestUnreadableSecret(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	store := &memory{outgoing: outgoing(url)}
	store.outgoing.Unreadable = true
	d := newDeliveries(e, store)
	var log bytes.Buffer
	d.log = zerolog.New(&log)
	if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); !errors.Is(err, errUnreadable) {
		t.Errorf("Deliver: %+v, %v, want %v", got, err, errUnreadable)
	}
	if got, err := d.Test(t.Context(), app.WebhookTest{}); !errors.Is(err, errUnreadable) {
		t.Errorf("Test: %+v, %v, want %v", got, err, errUnreadable)
	}
	if calls.Load() != 0 || len(store.made) != 0 || strings.Count(log.String(), `"subscription":"whk_1"`) != 2 {
		t.Errorf("%d POSTs, recorded %+v, log %s, want none, none and two messages",
			calls.Load(), store.made, log.String())
	}
	store.outgoing.Unreadable = false
	if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); err != nil || got.Outcome != OutcomeDelivered {
		t.Errorf("Deliver with the keys: %+v, %v, want %s", got, err, OutcomeDelivered)
	}
}

// Concurrent executions of the activity share one POST.
func TestConcurrentDeliverSharesAttempt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	arrived, release := make(chan struct{}), make(chan struct{})
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) {
		if calls.Add(1) == 1 {
			close(arrived)
		}
		<-release
	})
	d := newDeliveries(e, &memory{outgoing: outgoing(url)})
	var wait sync.WaitGroup
	try := func() {
		if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); err != nil || got.Outcome != OutcomeDelivered {
			t.Errorf("Deliver: %+v, %v, want %s", got, err, OutcomeDelivered)
		}
	}
	wait.Go(try)
	<-arrived
	for range 5 {
		wait.Go(try)
	}
	close(release)
	wait.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d POSTs, want 1", calls.Load())
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	out := outgoing("")
	get := func(at time.Time, name string) string { return Headers(out, at).Get(name) }
	if got := get(eventAt.Add(time.Minute), "X-Webhook-Timestamp"); got != "1773489600" {
		t.Errorf("timestamp one minute after the event: %s, want the event's time", got)
	}
	if got := get(eventAt.Add(time.Hour), "X-Webhook-Timestamp"); got != "1773493200" {
		t.Errorf("timestamp one hour after the event: %s, want the attempt's time", got)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Comanda-Webhooks/1.0", "X-Webhook-Id": "evt_1",
		"Webhook-Id": "evt_1", "Webhook-Timestamp": "1773489600",
		"X-Webhook-Signature": app.Sign(out.Secret, 1773489600, out.Body),
		"Webhook-Signature":   app.SignStandard(out.Secret, "evt_1", 1773489600, out.Body),
		"X-Webhook-Position":  "3632106700800000", "X-Webhook-Resource": "order/ord_1",
	} {
		t.Run(name, func(t *testing.T) {
			if got := get(eventAt, name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		})
	}
	// A test has neither a position nor a resource.
	test := out
	test.Position, test.Resource = 0, ""
	for _, name := range []string{"X-Webhook-Position", "X-Webhook-Resource"} {
		if sent, ok := Headers(test, eventAt)[name]; ok {
			t.Errorf("%s of a test: got %q, want none", name, sent)
		}
	}
	// During an overlap, webhook-signature has both signatures, and X-Webhook-Signature the new one.
	out.PreviousSecret, out.Secret = out.Secret, app.NewSecret(strings.Repeat("n", 32))
	if got, want := get(eventAt, "X-Webhook-Signature"), app.Sign(out.Secret, 1773489600, out.Body); got != want {
		t.Errorf("X-Webhook-Signature: %q, want %q", got, want)
	}
	both := app.SignStandard(out.Secret, "evt_1", 1773489600, out.Body) + " " +
		app.SignStandard(out.PreviousSecret, "evt_1", 1773489600, out.Body)
	if got := get(eventAt, "Webhook-Signature"); got != both {
		t.Errorf("Webhook-Signature: %q, want %q", got, both)
	}
}

// TestAttemptTakenOverBeforeItsRequest checks that no request is sent if the delivery has ended, or has been queued
// again, since the attempt was loaded: another worker has taken it over while this one was suspended in the handshake.
func TestAttemptTakenOverBeforeItsRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*app.Outgoing){
		"unchanged": func(*app.Outgoing) {},
		"recorded":  func(o *app.Outgoing) { o.Recorded = &app.Attempt{Status: app.AttemptFailed} },
		"delivered": func(o *app.Outgoing) { o.Status = app.DeliveryDelivered },
		"queued":    func(o *app.Outgoing) { o.Status = app.DeliveryQueued },
		"replayed":  func(o *app.Outgoing) { o.Replays++ },
		"inactive":  func(o *app.Outgoing) { o.Active = false },
		"deleted":   func(o *app.Outgoing) { o.Deleted = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				requests.Add(1)
			}))
			store := &memory{}
			server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				taken := store.outgoing
				change(&taken)
				store.set(taken)
				return nil, nil
			}}
			egress, url := start(t, server, time.Minute)
			store.set(outgoing(url))
			d := newDeliveries(egress, store)
			d.policy.Load = 0 // it is loaded again before the request
			_, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1})
			due := name == "unchanged"
			if errors.Is(err, errExpired) == due || (requests.Load() == 1) != due || (len(store.made) == 1) != due {
				t.Errorf("got error %v, %d requests and %d records", err, requests.Load(), len(store.made))
			}
		})
	}
}
