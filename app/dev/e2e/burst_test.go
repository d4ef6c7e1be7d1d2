package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/workflows"
)

// burst starts a worker for restaurants with one order each, whose receivers respond as the test specifies. Their first
// attempts share one workflow.
func burst(
	t *testing.T, settings map[string]string, responders ...func(int, http.ResponseWriter, *http.Request),
) ([]*restaurant, []*hook, *harness.Process) {
	t.Helper()
	var restaurants []*restaurant
	var hooks []*hook
	for _, respond := range responders {
		r, h := newRestaurant(t), newHook(t, respond)
		r.subscribe(h)
		r.order()
		restaurants, hooks = append(restaurants, r), append(hooks, h)
	}
	all := map[string]string{"COMANDA_BURST": "always", "COMANDA_RETRY_SCHEDULE": "1s,1s"}
	for k, v := range settings {
		all[k] = v
	}
	process := worker(t, all)
	for _, h := range hooks {
		h.await(t)
	}
	return restaurants, hooks, process
}

func failFirst(n int, w http.ResponseWriter, _ *http.Request) {
	if n == 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// completed waits until a workflow completes and returns its history.
func completed(t *testing.T, id string) (events []*history.HistoryEvent) {
	t.Helper()
	eventually(t, id+" completes", func() error {
		events = historyNamed(t, id)
		if len(events) == 0 || events[len(events)-1].EventType != enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
			return errNotYet
		}
		return nil
	})
	return events
}

// found waits until a query returns exactly the workflows with these ids.
func found(t *testing.T, query string, want ...string) {
	t.Helper()
	eventually(t, query, func() error {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
		list, err := worldOf(t).temporal.ListWorkflow(t.Context(), request)
		if err != nil {
			return err
		}
		var got []string
		for _, execution := range list.Executions {
			got = append(got, execution.Execution.WorkflowId)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return errNotYet
		}
		return nil
	})
}

// TestBurst checks first attempts that share a workflow. Its history has six events, each of its events, webhooks and
// stores finds it, and its deliveries link to it.
func TestBurst(t *testing.T) {
	t.Parallel()
	restaurants, hooks, _ := burst(t, nil, nil, nil, nil)
	var id string
	for _, r := range restaurants {
		d := r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
		if id == "" {
			id = d.WorkflowID
		}
		if d.WorkflowID != id {
			t.Errorf("got workflow %s, want %s for all deliveries", d.WorkflowID, id)
		}
		for _, of := range []string{d.EventID, d.WebhookID, string(r.store)} {
			found(t, `ComandaIds = "`+of+`"`, id)
		}
	}
	events := completed(t, id)
	checkFastCourse(t, events)
	for _, h := range hooks {
		if n := len(h.all(t)); n != 1 {
			t.Errorf("POSTs: got %d, want 1", n)
		}
	}
	replay(t, "burst_delivered", events)
}

// TestFailureInABurst checks that a delivery whose first attempt fails continues as a separate workflow, at its place
// in the schedule.
func TestFailureInABurst(t *testing.T) {
	t.Parallel()
	restaurants, _, _ := burst(t, nil, nil, failFirst)
	ok := restaurants[0].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	failed := restaurants[1].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	own := workflowOf(failed)
	if failed.WorkflowID != own || failed.Attempts != 2 {
		t.Errorf("failed delivery: got %+v, want 2 attempts in the workflow %s", failed, own)
	}
	var states workflows.BurstState
	value, err := worldOf(t).temporal.QueryWorkflow(t.Context(), ok.WorkflowID, "", workflows.QueryState)
	must(t, err)
	must(t, value.Get(&states))
	for _, state := range states {
		want := string(state.DeliveryID) == failed.ID
		if (state.WorkflowID == own) != want || (state.State == "continues") != want {
			t.Errorf("state in the burst: got %+v, want it to continue as a separate workflow: %t", state, want)
		}
	}
	found(t, `ComandaIds = "`+failed.EventID+`"`, ok.WorkflowID, own)
	found(t, `ComandaIds = "`+failed.EventID+`" AND ComandaDeliveryState = "delivered"`, own)
	found(t, `ComandaIds = "`+failed.WebhookID+`" AND ComandaEventType = "order.created"`, own)
	replay(t, "burst_failed_one", completed(t, ok.WorkflowID))
	replay(t, "delivery_continued_from_burst", completed(t, own))
}

// TestSlowReceiverInABurst checks that a slow receiver does not delay the others. Its attempt continues and is
// recorded, and the workflow of its delivery finds the record.
func TestSlowReceiverInABurst(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	restaurants, hooks, _ := burst(t, map[string]string{"COMANDA_DELIVERY_TIMEOUT": "8s"}, nil,
		func(int, http.ResponseWriter, *http.Request) { <-release })
	ok := restaurants[0].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	completed(t, ok.WorkflowID)
	close(release)
	slow := restaurants[1].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	replay(t, "delivery_left_its_burst", completed(t, workflowOf(slow)))
	if n := len(hooks[1].all(t)); n != 1 {
		t.Errorf("POSTs: got %d, want 1", n)
	}
}

// TestStopWaitsForAttemptsThatLeftTheirBurst checks that a worker that stops waits for an attempt that has left its
// burst.
func TestStopWaitsForAttemptsThatLeftTheirBurst(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	restaurants, hooks, process := burst(t, map[string]string{"COMANDA_DELIVERY_TIMEOUT": holding}, nil,
		func(int, http.ResponseWriter, *http.Request) { <-release })
	completed(t, restaurants[0].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered)).WorkflowID)
	stopping, stopped := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stopped()
	ended := make(chan error, 1)
	go func() { ended <- process.Stop(stopping) }()
	select {
	case err := <-ended:
		t.Errorf("stop of the worker: got error %v within a second, want it to wait", err)
	case <-time.After(time.Second):
	}
	close(release)
	must(t, <-ended)
	restaurants[1].delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if n := len(hooks[1].all(t)); n != 1 {
		t.Errorf("POSTs: got %d, want 1", n)
	}
}

// firstTimer returns the event that starts the first timer of a history and the beginning of its workflow task. Other
// attempts of that task can have timed out before.
func firstTimer(t *testing.T, events []*history.HistoryEvent) (task, timer *history.HistoryEvent) {
	t.Helper()
	for _, event := range events {
		switch event.EventType {
		case enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			task = event
		case enums.EVENT_TYPE_TIMER_STARTED:
			return task, event
		}
	}
	t.Fatalf("history: got no timer, want one: %s", events)
	return nil, nil
}

// TestUpdateBeforeTheNextAttempt checks that a delivery that a burst has attempted still waits for its next attempt
// after an update.
func TestUpdateBeforeTheNextAttempt(t *testing.T) {
	t.Parallel()
	restaurants, hooks, _ := burst(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h,1s"}, nil, failFirst)
	d := restaurants[1].delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	own := workflowOf(d)
	handle, err := worldOf(t).temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: own, UpdateName: "nudge", WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	must(t, err)
	if err := handle.Get(t.Context(), nil); err == nil {
		t.Error("unknown update: got no error, want one")
	}
	if n := len(hooks[1].all(t)); n != 1 {
		t.Errorf("requests before the next attempt is due: got %d, want 1", n)
	}
	_, err = restaurants[1].RetryDelivery(t.Context(), d.ID)
	must(t, err)
	events := completed(t, own)
	task, timer := firstTimer(t, events)
	due := task.EventTime.AsTime().Add(timer.GetTimerStartedEventAttributes().StartToFireTimeout.AsDuration())
	if off := due.Sub(d.NextRetryAt).Abs(); off > 10*time.Millisecond { // rounding
		t.Errorf("next attempt: got %s, want %s", due, d.NextRetryAt)
	}
	replay(t, "delivery_dispatched_early", events)
}
