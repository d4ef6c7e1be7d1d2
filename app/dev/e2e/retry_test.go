package e2e

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// TestRetryNow checks that a retry makes the next attempt of the schedule and responds with it, and that the delivery
// then continues with the delay after that attempt.
func TestRetryNow(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,2h,3s"})
	r, h := newRestaurant(t), newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(map[bool]int{true: 503, false: 204}[n < 4])
	})
	s := r.subscribe(h)
	r.order()
	d := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	made, err := r.RetryDelivery(t.Context(), d.ID)
	must(t, err)
	if made.AttemptNumber != 2 || made.StatusCode != 503 || made.Status != comanda.AttemptStatusRetrying ||
		made.NextRetryAt.IsZero() {
		t.Fatalf("retry: got %+v, want the second attempt with a next one", made)
	}
	if got := made.NextRetryAt.Sub(made.DeliveredAt); got < 2*time.Hour || got > 2*time.Hour+time.Minute {
		t.Errorf("delay after the second attempt: got %s, want 2h", got)
	}
	_, err = r.RetryDelivery(t.Context(), d.ID)
	must(t, err)
	d = r.delivery("delivered by the timer", withStatus(comanda.DeliveryStatusDelivered))
	if got := h.requestsOf(d.EventID); got != 4 || d.Attempts != 4 {
		t.Errorf("got %d requests and %d attempts, want 4", got, d.Attempts)
	}
	for i, a := range r.attempts(s.ID) {
		want := comanda.AttemptStatusFailed
		if i == 3 {
			want = comanda.AttemptStatusDelivered
		}
		if a.Status != want {
			t.Errorf("attempt %d: got status %s, want %s", a.AttemptNumber, a.Status, want)
		}
	}
	_, err = r.RetryDelivery(t.Context(), d.ID)
	wantCode(t, "retry of a delivered delivery", err, comanda.ErrorCodeConflict)
	replay(t, "delivery_retried_now", completed(t, d.WorkflowID))
}

// TestConcurrentRetries sends twenty concurrent retries of a delivery that has left its burst. They make one attempt.
func TestConcurrentRetries(t *testing.T) {
	t.Parallel()
	restaurants, hooks, _ := burst(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,1h"}, nil, failFirst)
	r, h := restaurants[1], hooks[1]
	d := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	const requests = 20
	refusals, made := make([]error, requests), make([]*comanda.Attempt, requests)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() { made[i], refusals[i] = r.RetryDelivery(t.Context(), d.ID) })
	}
	all.Wait()
	shared := 0
	for i, err := range refusals {
		refused, _ := errors.AsType[*comanda.Error](err)
		switch {
		case err == nil && made[i].AttemptNumber == 2 && made[i].Status == comanda.AttemptStatusDelivered:
			shared++
		case refused == nil || refused.StatusCode != http.StatusConflict:
			t.Errorf("retry: got %+v, %v, want the second attempt, or 409", made[i], err)
		}
	}
	if got := h.requestsOf(d.EventID); shared == 0 || got != 2 {
		t.Errorf("got %d requests and %d shared responses, want 2 and at least 1", got, shared)
	}
	d = r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	replay(t, "delivery_continued_retried_now", completed(t, d.WorkflowID))
}

// TestRetryWithoutAWorkflow checks that the reconciler starts a lost workflow again after a retry, long before the next
// attempt is due.
func TestRetryWithoutAWorkflow(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,1h", "COMANDA_RECONCILE_AFTER": "2s"})
	r, h := newRestaurant(t), newHook(t, failFirst)
	r.subscribe(h)
	r.order()
	d := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	must(t, worldOf(t).temporal.TerminateWorkflow(t.Context(), d.WorkflowID, "", "test"))
	_, err := r.RetryDelivery(t.Context(), d.ID)
	wantCode(t, "retry without a workflow", err, comanda.ErrorCodeUnavailable)
	eventually(t, "the retry is made", func() error {
		_, err := r.RetryDelivery(t.Context(), d.ID)
		return err
	})
	r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if got := h.requestsOf(d.EventID); got != 2 {
		t.Errorf("got %d requests, want 2", got)
	}
}
