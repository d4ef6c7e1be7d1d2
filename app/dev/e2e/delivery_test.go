package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/workflows"
)

func TestOrderIsDelivered(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	r, h := newRestaurant(t), newHook(t, nil)
	s := r.subscribe(h)
	order := r.order()
	h.await(t)

	got := h.all(t)[0]
	var envelope struct {
		ID, Type, StoreID, Timestamp string
		Data                         comanda.Order
	}
	must(t, json.Unmarshal([]byte(got.body), &envelope))
	if envelope.ID != got.id || envelope.Type != "order.created" || envelope.StoreID != string(r.store) ||
		envelope.Data.ID != order.ID || envelope.Data.TotalMinor != 1900 {
		t.Errorf("event: got %+v, want order.created of %s with the total 1900", envelope, order.ID)
	}
	delivery := r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	attempts := r.attempts(s.ID)
	if len(attempts) != 1 || attempts[0].Status != comanda.AttemptStatusDelivered ||
		attempts[0].StatusCode != 204 || attempts[0].AttemptNumber != 1 ||
		attempts[0].DeliveryID != delivery.ID || attempts[0].EventID != got.id {
		t.Errorf("attempts: got %+v, want one, delivered with 204", attempts)
	}
	checkFastLane(t, delivery)
}

// checkFastLane checks the history of a first attempt, which contains no data of the order.
func checkFastLane(t *testing.T, d comanda.Delivery) {
	t.Helper()
	events := completed(t, workflowOf(d))
	checkFastCourse(t, events)
	text := fmt.Sprint(events)
	for _, private := range []string{"Ada", "Pizza", hookSecret, "127.0.0.1", "owner@"} {
		if strings.Contains(text, private) {
			t.Errorf("the history contains %q", private)
		}
	}
	replay(t, "delivery_delivered", events)
}

// checkFastCourse checks that a history of first attempts has six events and no round trip through a task queue,
// because the start is eager and the attempts are local activities. On a slow machine, the only workflow task is
// repeated after a timeout, or extended while an attempt runs.
func checkFastCourse(t *testing.T, events []*history.HistoryEvent) {
	t.Helper()
	var types []string
	for _, e := range events {
		if kind := e.EventType.String(); !slices.Contains(types, kind) && kind != "WorkflowTaskTimedOut" {
			types = append(types, kind)
		}
	}
	want := []string{
		"WorkflowExecutionStarted", "WorkflowTaskScheduled", "WorkflowTaskStarted", "WorkflowTaskCompleted",
		"MarkerRecorded", "WorkflowExecutionCompleted",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("event types of the history (-want +got):\n%s", diff)
	}
	markers := 0
	for _, e := range events {
		if e.EventType == enums.EVENT_TYPE_MARKER_RECORDED {
			markers++
		}
	}
	if markers != 1 {
		t.Errorf("markers of the history: got %d, want 1", markers)
	}
	if !events[0].GetWorkflowExecutionStartedEventAttributes().EagerExecutionAccepted {
		t.Error("start: got not eager, want eager")
	}
}

func historyOf(t *testing.T, d comanda.Delivery) []*history.HistoryEvent {
	t.Helper()
	return historyNamed(t, workflowOf(d))
}

// historyNamed returns the current history of a workflow, or nil if there is no workflow yet.
func historyNamed(t *testing.T, id string) []*history.HistoryEvent {
	t.Helper()
	var events []*history.HistoryEvent
	const all = enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	iterator := worldOf(t).temporal.GetWorkflowHistory(t.Context(), id, "", false, all)
	for iterator.HasNext() {
		event, err := iterator.Next()
		if _, none := errors.AsType[*serviceerror.NotFound](err); none {
			return nil
		}
		must(t, err)
		events = append(events, event)
	}
	return events
}

func TestSixAttemptsDeadLetterReplay(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s,1s,1s,2s", "COMANDA_DELIVERY_TIMEOUT": holding})
	var healed atomic.Bool
	seen := make(chan struct{}) // closed when the test has seen the delivery retrying
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 6 {
			<-seen
		}
		if !healed.Load() {
			http.Error(w, "kitchen on fire", http.StatusServiceUnavailable)
		}
	})
	s := r.subscribe(h)
	r.order()

	retrying := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	if retrying.NextRetryAt.IsZero() {
		t.Error("nextRetryAt of a retrying delivery: got none, want one")
	}
	_, err := r.ReplayDelivery(t.Context(), retrying.ID)
	wantCode(t, "replay of a delivery in progress", err, comanda.ErrorCodeDeliveryInProgress)
	eventually(t, "found by search attributes", func() error { return findWorkflow(t, r.store, "retrying") })
	close(seen)

	dead := r.delivery("dead letter", withStatus(comanda.DeliveryStatusDeadLetter))
	got := h.all(t)
	if len(got) != 6 || dead.Attempts != 6 {
		t.Fatalf("got %d requests and %d attempts, want 6 of each", len(got), dead.Attempts)
	}
	for i, want := range []time.Duration{time.Second, time.Second, time.Second, time.Second, 2 * time.Second} {
		if gap := got[i+1].at.Sub(got[i].at); gap < want {
			t.Errorf("attempt %d came %s after the previous attempt, want %s", i+2, gap, want)
		}
		if got[i+1].body != got[0].body || got[i+1].id != got[0].id {
			t.Errorf("attempt %d: got event %s with %s, want %s with %s", i+2, got[i+1].id, got[i+1].body, got[0].id,
				got[0].body)
		}
	}
	want := []comanda.AttemptStatus{"failed", "failed", "failed", "failed", "failed", "dead_letter"}
	if diff := cmp.Diff(want, statuses(r.attempts(s.ID))); diff != "" {
		t.Errorf("statuses of the attempts (-want +got):\n%s", diff)
	}
	eventually(t, "found by search attributes", func() error {
		return findWorkflow(t, r.store, "dead_letter")
	})

	healed.Store(true)
	replayed, err := r.ReplayDelivery(t.Context(), dead.ID)
	must(t, err)
	if replayed.Status != comanda.DeliveryStatusQueued {
		t.Errorf("replay: got %+v, want queued", replayed)
	}
	r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if diff := cmp.Diff(append(want, "delivered"), statuses(r.attempts(s.ID))); diff != "" {
		t.Errorf("statuses of the attempts after the replay (-want +got):\n%s", diff)
	}

	replay(t, "delivery_replayed", completed(t, workflowOf(dead)))

	// A delivered delivery is replayed as a new run of its workflow.
	r.replayDelivery(dead)
	r.delivery("delivered again", func(d comanda.Delivery) bool {
		return d.Status == comanda.DeliveryStatusDelivered && d.Attempts == 8
	})
	if n := len(h.all(t)); n != 8 {
		t.Errorf("requests: got %d, want 8", n)
	}
}

func TestReplayFromTheTemporalUI(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s"})
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 2 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	r.subscribe(h)
	r.order()
	dead := r.delivery("dead letter", withStatus(comanda.DeliveryStatusDeadLetter))
	id := workflowOf(dead)
	awaitState(t, id, string(app.DeliveryDeadLetter))
	must(t, worldOf(t).temporal.SignalWorkflow(t.Context(), id, "", workflows.SignalReplay, nil))
	r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	replay(t, "delivery_replayed_by_operator", ended(t, id))
}

// awaitState waits until the workflow of a delivery is in a state and has completed the workflow task that entered it.
func awaitState(t *testing.T, id, want string) {
	t.Helper()
	eventually(t, "the workflow is in the state "+want, func() error {
		value, err := worldOf(t).temporal.QueryWorkflow(t.Context(), id, "", workflows.QueryState)
		if err != nil {
			return err
		}
		var state workflows.DeliveryState
		if err := value.Get(&state); err != nil || state.State != want {
			return fmt.Errorf("%+v, %v", state, err)
		}
		return nil
	})
}

func statuses(attempts []comanda.Attempt) (all []comanda.AttemptStatus) {
	for _, a := range attempts {
		all = append(all, a.Status)
	}
	return all
}

// findWorkflow returns an error unless the query of an operator finds exactly one delivery.
func findWorkflow(t *testing.T, store app.StoreID, state string) error {
	query := fmt.Sprintf("ComandaIds = %q AND ComandaDeliveryState = %q", store, state)
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
	list, err := worldOf(t).temporal.ListWorkflow(t.Context(), request)
	if err != nil {
		return err
	}
	if len(list.Executions) != 1 {
		return fmt.Errorf("%d workflows for %s", len(list.Executions), query)
	}
	return nil
}

// TestWorkerKilledBetweenAttempts checks that another worker makes the next attempt of a delivery. The database shows
// the end of an attempt before its workflow task completes. The worker is killed afterwards, because the task would
// otherwise time out after 10 s, and a retry waits for its result for 15 s.
func TestWorkerKilledBetweenAttempts(t *testing.T) {
	t.Parallel()
	first := worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h"})
	r, h := newRestaurant(t), newHook(t, failFirst)
	r.subscribe(h)
	r.order()
	retrying := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	awaitState(t, workflowOf(retrying), string(app.DeliveryRetrying))
	first.Kill()
	worker(t, nil)
	_, err := r.RetryDelivery(t.Context(), retrying.ID)
	must(t, err)
	d := r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if n := len(h.all(t)); n != 2 || d.Attempts != 2 {
		t.Errorf("got %d requests and %d attempts, want 2 of each", n, d.Attempts)
	}
}

// TestWorkerKilledDuringARetry kills a worker during the second attempt of a delivery. Another worker repeats it.
// TestChangesBeforeAnAttempt does that with first attempts.
func TestWorkerKilledDuringARetry(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"COMANDA_RETRY_SCHEDULE": "1s"}
	first := worker(t, settings)
	r, h := newRestaurant(t), newHook(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			hang(r) // until the worker is killed
		}
	})
	s := r.subscribe(h)
	r.order()
	for h.await(t) < 2 {
	}
	first.Kill()
	worker(t, settings)
	r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if requests, attempts := len(h.all(t)), len(r.attempts(s.ID)); requests != 3 || attempts != 2 {
		t.Errorf("got %d requests and %d attempts, want 3 and 2", requests, attempts)
	}
}

// TestGracefulStop checks that a worker that stops finishes the attempt in flight, and that it is not repeated.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	first := worker(t, map[string]string{"COMANDA_DELIVERY_TIMEOUT": holding})
	release := make(chan struct{})
	r := newRestaurant(t)
	h := newHook(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	r.subscribe(h)
	r.order()
	h.await(t)
	stopped := make(chan error)
	go func() { stopped <- first.Stop(context.Background()) }()
	worker(t, nil)
	close(release)
	must(t, <-stopped)
	r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if n := len(h.all(t)); n != 1 {
		t.Errorf("requests: got %d, want 1", n)
	}
}

// TestOutages checks that an outage of PostgreSQL or Temporal rejects requests or delays deliveries, but loses nothing
// and requires no restart.
func TestOutages(t *testing.T) {
	t.Parallel()
	postgres, temporal, settings := proxied(t)
	w := worker(t, settings)
	ofAPI := databaseAt(t, postgres.Address)
	ofAPI["COMANDA_BASE_URL"] = worldOf(t).api // the issuer of the tokens
	serve, address, err := worldOf(t).serve(t.Context(), ofAPI)
	must(t, err)
	t.Cleanup(serve.Kill)
	r, h := newRestaurant(t), newHook(t, nil)
	r.moveTo(address)
	r.subscribe(h)

	postgres.Cut()
	_, err = r.PlaceOrder(t.Context(), r.newOrder())
	wantCode(t, "order without PostgreSQL", err, comanda.ErrorCodeUnavailable)
	if err := health(w); err == nil {
		t.Error("health of the worker without PostgreSQL: got no error, want one")
	}
	postgres.Mend()
	eventually(t, "orders can be placed again", func() error {
		_, err := r.PlaceOrder(t.Context(), r.newOrder())
		return err
	})
	h.await(t)

	temporal.Cut()
	r.order()
	eventually(t, "the worker is not ready", func() error {
		if health(w) == nil {
			return errNotYet
		}
		return nil
	})
	temporal.Mend()
	h.await(t)
	if n := len(h.all(t)); n != 2 {
		t.Errorf("requests for 2 orders: got %d, want 2", n)
	}
}

func health(p *harness.Process) error {
	response, err := http.Get(p.Admin + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}
