package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// retryPath returns the path of the retry of a delivery.
func retryPath(d app.Delivery) string { return "/deliveries/" + string(d.ID) + "/retry" }

// TestRetryNow checks that a retry makes the next attempt of the schedule and responds with it, and that the delivery
// then continues with the delay after that attempt.
func TestRetryNow(t *testing.T) {
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,2h,3s"})
	r, h := newRestaurant(t), newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(map[bool]int{true: 503, false: 204}[n < 4])
	})
	s := r.subscribe(h)
	r.order()
	d := r.delivery("retrying", withStatus(app.DeliveryRetrying))
	var made app.Attempt
	r.want(200, "POST", retryPath(d), nil, &made)
	if made.AttemptNumber != 2 || made.StatusCode != 503 || made.Status != app.AttemptRetrying || made.NextRetryAt == nil {
		t.Fatalf("retry: got %+v, want the second attempt with a next one", made)
	}
	if got := made.NextRetryAt.Sub(made.DeliveredAt.Time); got < 2*time.Hour || got > 2*time.Hour+time.Minute {
		t.Errorf("delay after the second attempt: got %s, want 2h", got)
	}
	r.want(200, "POST", retryPath(d), nil, nil)
	d = r.delivery("delivered by the timer", withStatus(app.DeliveryDelivered))
	if got := h.requestsOf(string(d.EventID)); got != 4 || d.Attempts != 4 {
		t.Errorf("got %d requests and %d attempts, want 4", got, d.Attempts)
	}
	for i, a := range r.attempts(s) {
		if want := map[bool]app.AttemptStatus{true: app.AttemptFailed, false: app.AttemptDelivered}[i < 3]; a.Status != want {
			t.Errorf("attempt %d: got status %s, want %s", a.AttemptNumber, a.Status, want)
		}
	}
	r.want(409, "POST", retryPath(d), nil, nil)
	replay(t, "delivery_v1_retried_now", completed(t, d.WorkflowID))
}

// TestConcurrentRetries sends twenty retries at once, in bursts and without. They make one attempt.
func TestConcurrentRetries(t *testing.T) {
	for mode, history := range map[string]string{"off": "", "always": "delivery_continued_retried_now"} {
		t.Run("burst "+mode, func(t *testing.T) {
			restaurants, hooks, _ := burst(t, map[string]string{
				"COMANDA_BURST": mode, "COMANDA_RETRY_SCHEDULE": "1h,1h",
			}, nil, failFirst)
			r, h := restaurants[1], hooks[1]
			d := r.delivery("retrying", withStatus(app.DeliveryRetrying))
			const requests = 20
			statuses, made := make([]int, requests), make([]app.Attempt, requests)
			var all sync.WaitGroup
			for i := range requests {
				all.Go(func() {
					var data json.RawMessage
					statuses[i], data = r.call("POST", retryPath(d), nil)
					if statuses[i] == http.StatusOK {
						_ = json.Unmarshal(data, &made[i]) // an empty attempt fails the test below
					}
				})
			}
			all.Wait()
			shared := 0
			for i, status := range statuses {
				switch {
				case status == http.StatusOK && made[i].AttemptNumber == 2 && made[i].Status == app.AttemptDelivered:
					shared++
				case status != http.StatusConflict:
					t.Errorf("retry: got %d with %+v, want 200 with the second attempt, or 409", status, made[i])
				}
			}
			if got := h.requestsOf(string(d.EventID)); shared == 0 || got != 2 {
				t.Errorf("got %d requests and %d shared responses, want 2 and at least 1", got, shared)
			}
			d = r.delivery("delivered", withStatus(app.DeliveryDelivered))
			if history != "" {
				replay(t, history, completed(t, d.WorkflowID))
			}
		})
	}
}

// TestRetryWithoutAWorkflow checks that the reconciler starts a lost workflow again after a retry, long before the next
// attempt is due.
func TestRetryWithoutAWorkflow(t *testing.T) {
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,1h", "COMANDA_RECONCILE_AFTER": "2s"})
	r, h := newRestaurant(t), newHook(t, failFirst)
	r.subscribe(h)
	r.order()
	d := r.delivery("retrying", withStatus(app.DeliveryRetrying))
	must(t, the.temporal.TerminateWorkflow(t.Context(), d.WorkflowID, "", "test"))
	r.want(503, "POST", retryPath(d), nil, nil)
	eventually(t, "the retry is made", func() error {
		status, data := r.call("POST", retryPath(d), nil)
		if status != http.StatusOK {
			return fmt.Errorf("status %d: %s", status, data)
		}
		return nil
	})
	r.delivery("delivered", withStatus(app.DeliveryDelivered))
	if got := h.requestsOf(string(d.EventID)); got != 2 {
		t.Errorf("got %d requests, want 2", got)
	}
}

// TestRetryWithoutAWorker checks that a retry without a result ends with 503.
func TestRetryWithoutAWorker(t *testing.T) {
	process := worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h"})
	r, h := newRestaurant(t), newHook(t, failFirst)
	r.subscribe(h)
	r.order()
	d := r.delivery("retrying", withStatus(app.DeliveryRetrying))
	process.Kill()
	began := time.Now()
	r.want(503, "POST", retryPath(d), nil, nil)
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the response took %s, want about 15 s", took)
	}
	if n := h.requestsOf(string(d.EventID)); n != 1 {
		t.Errorf("requests without a worker: got %d, want 1", n)
	}
}
