package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// retrier is a Retrier that records the requested retries.
type retrier struct {
	asked   []app.DeliveryRetry
	attempt func() // makes the attempt; nil = none
	outcome app.RetryOutcome
	err     error
}

func (r *retrier) RetryDelivery(_ context.Context, retry app.DeliveryRetry) (app.RetryOutcome, error) {
	r.asked = append(r.asked, retry)
	if r.attempt != nil {
		r.attempt()
	}
	return r.outcome, r.err
}

// newRetrying returns a world whose delivery has failed once, and the path of its retry.
func newRetrying(t *testing.T) (*world, string) {
	t.Helper()
	w := newWorld(t)
	w.record(1, app.AttemptRetrying, 503)
	w.now = noon.Add(90 * time.Second)
	w.tokens["OWNER"] = w.token("OWNER", w.stores["own"].id)
	return w, "/deliveries/" + string(w.stores["own"].delivery.ID) + "/retry"
}

func TestRetryDelivery(t *testing.T) {
	t.Parallel()
	w, path := newRetrying(t)
	own := w.stores["own"]
	w.retrier.attempt = func() { w.record(2, app.AttemptRetrying, 500) }
	w.retrier.outcome = app.RetryMade
	var made app.Attempt
	w.do("POST", path, w.tokens["OWNER"], nil).ok(200, &made)
	if made.DeliveryID != own.delivery.ID || made.AttemptNumber != 2 || made.StatusCode != 500 ||
		made.Status != app.AttemptRetrying || made.NextRetryAt == nil {
		t.Errorf("attempt: got %+v, want the second one", made)
	}
	want := []app.DeliveryRetry{{EventID: own.delivery.EventID, SubscriptionID: own.webhook.ID, Number: 2}}
	if diff := cmp.Diff(want, w.retrier.asked); diff != "" {
		t.Error("retries (-want +got):", diff)
	}

	// This request began before the second attempt, so it shares that attempt.
	var shared app.Attempt
	w.do("POST", path, w.tokens["OWNER"], object{}).ok(200, &shared)
	if shared != made && shared.ID != made.ID || len(w.retrier.asked) != 1 {
		t.Errorf("shared attempt: got %s after %d retries, want %s after 1", shared.ID, len(w.retrier.asked), made.ID)
	}
	w.do("POST", path, w.tokens["OWNER"], object{"attempt": 3}).refused(app.CodeValidationFailed, "attempt")
	w.do("POST", "/deliveries/dlv_none/retry", w.tokens["OWNER"], nil).refused(app.CodeNotFound)
}

func TestRetryWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome app.RetryOutcome
		during  string // statement during the Update of the workflow
		err     error
		code    app.Code
		after   string // Retry-After
		checked bool   // the reconciler checks the workflow next
	}{
		"during an attempt": {outcome: app.RetryBusy, code: app.CodeDeliveryInProgress},
		"delivered meanwhile": {
			outcome: app.RetryBusy, during: "UPDATE deliveries SET status = 'delivered'", code: app.CodeConflict,
		},
		"ended meanwhile": {
			outcome: app.RetryEnded, during: "UPDATE deliveries SET status = 'dead_letter'", code: app.CodeConflict,
		},
		"another run": {outcome: app.RetryEnded, code: app.CodeUnavailable, after: "60"},
		"no workflow": {outcome: app.RetryLost, code: app.CodeUnavailable, after: "60", checked: true},
		"no response": {
			err: fmt.Errorf("%w: Temporal", app.Unavailable(5*time.Second)), code: app.CodeUnavailable, after: "5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, path := newRetrying(t)
			w.retrier.outcome, w.retrier.err = c.outcome, c.err
			if c.during != "" {
				w.retrier.attempt = func() { w.exec(c.during) }
			}
			a := w.do("POST", path, w.tokens["OWNER"], nil).refused(c.code)
			if got := a.Header().Get("Retry-After"); got != c.after {
				t.Errorf("Retry-After: got %q, want %q", got, c.after)
			}
			batch, err := w.db.Overdue(t.Context(), w.now, 3*time.Minute, 10)
			w.must(err)
			if got := len(batch.Claims) == 1; got != c.checked {
				t.Errorf("the reconciler checks the delivery: got %t, want %t", got, c.checked)
			}
		})
	}
}

func TestRefusedRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  string
		code    app.Code
		message string
	}{
		"queued":      {"UPDATE deliveries SET status = 'queued'", app.CodeConflict, "queued"},
		"pending":     {"UPDATE deliveries SET status = 'pending'", app.CodeDeliveryInProgress, ""},
		"delivered":   {"UPDATE deliveries SET status = 'delivered'", app.CodeConflict, "/replay"},
		"dead letter": {"UPDATE deliveries SET status = 'dead_letter'", app.CodeConflict, "/replay"},
		"cancelled":   {"UPDATE deliveries SET status = 'cancelled'", app.CodeConflict, "/replay"},
		"erased":      {"UPDATE outbox SET body = NULL", app.CodePayloadErased, ""},
		"erasing":     {"UPDATE outbox SET erasing = now()", app.CodePayloadErased, ""},
		"switched off": {
			"UPDATE subscriptions SET is_active = false", app.CodeConflict, "switched off",
		},
		"deleted": {"UPDATE subscriptions SET deleted_at = now()", app.CodeConflict, "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, path := newRetrying(t)
			w.exec(c.change)
			a := w.do("POST", path, w.tokens["OWNER"], nil).refused(c.code)
			if !strings.Contains(a.Body.String(), c.message) {
				t.Errorf("got %s, want a message with %q", a.Body, c.message)
			}
			if len(w.retrier.asked) != 0 {
				t.Errorf("got %d retries, want none", len(w.retrier.asked))
			}
		})
	}
}
