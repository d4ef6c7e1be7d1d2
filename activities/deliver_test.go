package activities

import (
	"bytes"
	"context"
	"errors"
	"net/http"
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

// memory is a Store that holds one delivery.
type memory struct {
	sync.Mutex
	outgoing app.Outgoing
	err      error // of loading
	refuse   int   // how many records fail
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
				Status: made.Status, StatusCode: made.StatusCode, Error: made.Error, ResponseTimeMs: made.Duration.Milliseconds(),
			}
		}
	}
	return outgoing, m.err
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

func (m *memory) EndDelivery(_ context.Context, _ time.Time, _ app.DeliveryID, status app.DeliveryStatus, reason string) error {
	m.Lock()
	defer m.Unlock()
	m.ended = append(m.ended, string(status)+": "+reason)
	return nil
}

func outgoing(url string) app.Outgoing {
	return app.Outgoing{
		Status: app.DeliveryPending, SubscriptionID: "whk_1", EventID: "evt_1", EventAt: eventAt, Body: []byte(`{"id":"evt_1"}`), URL: url,
		Secret: app.NewSecret(strings.Repeat("s", 32)), Active: true,
	}
}

func newDeliveries(e *Egress, store Store) *Deliveries {
	now := func() time.Time { return eventAt.Add(time.Second) }
	return NewDeliveries(store, e, DefaultDeliveryPolicy(time.Minute), now, prometheus.NewRegistry(), zerolog.Nop())
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer int
		in     DeliverInput
		want   DeliverResult
		status app.AttemptStatus
	}{
		"delivered":    {204, DeliverInput{Attempt: 1, RetryIn: time.Minute}, DeliverResult{Outcome: OutcomeDelivered, StatusCode: 204, Quick: true}, app.AttemptDelivered},
		"to be tried":  {503, DeliverInput{Attempt: 1, RetryIn: time.Minute}, DeliverResult{Outcome: OutcomeFailed, StatusCode: 503, Reason: "HTTP 503", Quick: true}, app.AttemptRetrying},
		"the last one": {503, DeliverInput{Attempt: 6}, DeliverResult{Outcome: OutcomeFailed, StatusCode: 503, Reason: "HTTP 503", Quick: true}, app.AttemptDeadLetter},
		"redirected":   {301, DeliverInput{Attempt: 1}, DeliverResult{Outcome: OutcomeFailed, StatusCode: 301, Reason: "HTTP 301: redirects are not followed", Quick: true}, app.AttemptDeadLetter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.answer) })
			store := &memory{outgoing: outgoing(url)}
			got, err := newDeliveries(e, store).Deliver(t.Context(), test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if made := store.made[0]; made.Status != test.status || made.RetryIn != test.in.RetryIn && made.Status == app.AttemptRetrying || made.StatusCode != test.answer {
				t.Errorf("recorded %+v", made)
			}
		})
	}
}

// A receiver that switches protocols and keeps the connection has failed like another.
func TestSwitchingProtocolsIsAFailure(t *testing.T) {
	t.Parallel()
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		if !hold(conn) {
			t.Error("the client kept the connection")
		}
	})
	store := &memory{outgoing: outgoing(url)}
	d := newDeliveries(e, store)
	got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1, RetryIn: time.Minute})
	if diff := cmp.Diff(DeliverResult{Outcome: OutcomeFailed, StatusCode: 101, Reason: "HTTP 101", Quick: true}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	tested, err := d.Test(t.Context(), app.WebhookTest{EventID: "evt_2"})
	if diff := cmp.Diff(app.WebhookTestResult{StatusCode: 101, EventID: "evt_2", Error: "HTTP 101"}, tested); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(store.made) != 2 || store.made[0].Status != app.AttemptRetrying || store.made[1].Status != app.AttemptFailed {
		t.Errorf("recorded %+v", store.made)
	}
}

func TestWhatIsNotToBeSentIsNotSent(t *testing.T) {
	t.Parallel()
	recorded := outgoing("")
	recorded.Recorded = &app.Attempt{Status: app.AttemptRetrying, StatusCode: 500, Error: "HTTP 500"}
	inactive, deleted, erased, cancelled := outgoing(""), outgoing(""), outgoing(""), outgoing("")
	inactive.Active, deleted.Deleted, erased.Body, cancelled.Status = false, true, nil, app.DeliveryCancelled
	inactive.Unreadable = true // does not matter where nothing is to be signed
	for name, test := range map[string]struct {
		store *memory
		want  DeliverResult
		ended []string
	}{
		"recorded":  {&memory{outgoing: recorded}, DeliverResult{Outcome: OutcomeFailed, StatusCode: 500, Reason: "HTTP 500", Quick: true}, nil},
		"inactive":  {&memory{outgoing: inactive}, DeliverResult{Outcome: OutcomeDeadLetter, Reason: app.ReasonInactive}, []string{"dead_letter: subscription inactive"}},
		"deleted":   {&memory{outgoing: deleted}, DeliverResult{Outcome: OutcomeCancelled, Reason: app.ReasonDeleted}, []string{"cancelled: subscription deleted"}},
		"erased":    {&memory{outgoing: erased}, DeliverResult{Outcome: OutcomeDeadLetter, Reason: "payload erased"}, []string{"dead_letter: payload erased"}},
		"cancelled": {&memory{outgoing: cancelled}, DeliverResult{Outcome: OutcomeCancelled, Reason: app.ReasonCancelled}, nil},
		"gone":      {&memory{err: app.NotFound()}, DeliverResult{Outcome: OutcomeCancelled, Reason: "no longer kept"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
			test.store.outgoing.URL = url
			got, err := newDeliveries(e, test.store).Deliver(t.Context(), DeliverInput{Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got) + cmp.Diff(test.ended, test.store.ended); diff != "" {
				t.Error(diff)
			}
			if len(test.store.made) > 0 {
				t.Error("an attempt was recorded")
			}
		})
	}
}

// Without its secret a POST cannot be signed. That is no failure of the receiver: the attempt is
// neither made nor counted, and is tried again until the keys are back.
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
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := d.Test(t.Context(), app.WebhookTest{}); !errors.Is(err, errUnreadable) {
		t.Errorf("test: %+v, %v", got, err)
	}
	if calls.Load() != 0 || len(store.made) != 0 || strings.Count(log.String(), `"subscription":"whk_1"`) != 2 {
		t.Errorf("%d POSTs, recorded %+v, logged %s", calls.Load(), store.made, log.String())
	}
	store.outgoing.Unreadable = false
	if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); err != nil || got.Outcome != OutcomeDelivered {
		t.Errorf("with the keys: %+v, %v", got, err)
	}
}

// A try that comes while another still runs joins it.
func TestTriesOfOneAttemptAreOnePOST(t *testing.T) {
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
			t.Errorf("%+v, %v", got, err)
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
		t.Errorf("%d POSTs", calls.Load())
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	out := outgoing("")
	get := func(at time.Time, name string) string { return Headers(out, at).Get(name) }
	if got := get(eventAt.Add(time.Minute), "X-Webhook-Timestamp"); got != "1773489600" {
		t.Errorf("within a minute: %s, want the event's time", got)
	}
	if got := get(eventAt.Add(time.Hour), "X-Webhook-Timestamp"); got != "1773493200" {
		t.Errorf("an hour later: %s, want the attempt's time", got)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Comanda-Webhooks/1.0", "X-Webhook-Id": "evt_1",
		"Webhook-Id": "evt_1", "Webhook-Timestamp": "1773489600",
		"X-Webhook-Signature": app.Sign(out.Secret, 1773489600, out.Body),
		"Webhook-Signature":   app.SignStandard(out.Secret, "evt_1", 1773489600, out.Body),
	} {
		if got := get(eventAt, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// While a secret is being replaced, Standard Webhooks has both, the spec's the new one.
	out.PreviousSecret, out.Secret = out.Secret, app.NewSecret(strings.Repeat("n", 32))
	if got, want := get(eventAt, "X-Webhook-Signature"), app.Sign(out.Secret, 1773489600, out.Body); got != want {
		t.Errorf("X-Webhook-Signature: %q, want %q", got, want)
	}
	both := app.SignStandard(out.Secret, "evt_1", 1773489600, out.Body) + " " + app.SignStandard(out.PreviousSecret, "evt_1", 1773489600, out.Body)
	if got := get(eventAt, "Webhook-Signature"); got != both {
		t.Errorf("Webhook-Signature: %q, want %q", got, both)
	}
}
