package e2e

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/workflows"
)

// burst starts a worker for restaurants of one order each, whose receivers answer as told. The
// first attempts share one workflow.
func burst(
	t *testing.T, settings map[string]string, answers ...func(int, http.ResponseWriter, *http.Request),
) ([]*restaurant, []*hook, *harness.Process) {
	t.Helper()
	var restaurants []*restaurant
	var hooks []*hook
	for _, answer := range answers {
		r, h := newRestaurant(t), newHook(t, answer)
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

// completed waits for the end of a workflow and returns its history.
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

// found waits until a query finds exactly the workflows with these ids.
func found(t *testing.T, query string, want ...string) {
	t.Helper()
	eventually(t, query, func() error {
		list, err := the.temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
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

// First attempts that share a workflow: six events, found by each of its events, webhooks and
// stores. A delivery links to that workflow.
func TestBurst(t *testing.T) {
	restaurants, hooks, _ := burst(t, nil, nil, nil, nil)
	var id string
	for _, r := range restaurants {
		d := r.delivery("delivered", withStatus(app.DeliveryDelivered))
		if id == "" {
			id = d.WorkflowID
		}
		if d.WorkflowID != id {
			t.Errorf("%s and %s are two workflows", d.WorkflowID, id)
		}
		found(t, `ComandaEventIds = "`+string(d.EventID)+`"`, id)
		found(t, `ComandaSubscriptionIds = "`+string(d.SubscriptionID)+`"`, id)
		found(t, `ComandaStoreIds = "`+string(r.store)+`"`, id)
	}
	events := completed(t, id)
	var types []string
	for _, e := range events {
		types = append(types, e.EventType.String())
	}
	want := []string{
		"WorkflowExecutionStarted", "WorkflowTaskScheduled", "WorkflowTaskStarted", "WorkflowTaskCompleted",
		"MarkerRecorded", "WorkflowExecutionCompleted",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if !events[0].GetWorkflowExecutionStartedEventAttributes().EagerExecutionAccepted {
		t.Error("the start was not eager")
	}
	for _, h := range hooks {
		if n := len(h.all(t)); n != 1 {
			t.Errorf("%d POSTs", n)
		}
	}
	replay(t, "burst_delivered", events)
}

// A delivery that the burst does not deliver continues as its own workflow, at its place in the
// schedule.
func TestFailureInABurst(t *testing.T) {
	restaurants, _, _ := burst(t, nil, nil, failFirst)
	ok := restaurants[0].delivery("delivered", withStatus(app.DeliveryDelivered))
	failed := restaurants[1].delivery("delivered", withStatus(app.DeliveryDelivered))
	own := app.DeliveryWorkflowID(failed.EventID, failed.SubscriptionID)
	if failed.WorkflowID != own || failed.Attempts != 2 {
		t.Errorf("%+v", failed)
	}
	var states workflows.BurstState
	value, err := the.temporal.QueryWorkflow(t.Context(), ok.WorkflowID, "", workflows.QueryState)
	must(t, err)
	must(t, value.Get(&states))
	for _, state := range states {
		if want := state.DeliveryID == failed.ID; (state.WorkflowID == own) != want || (state.State == "continues") != want {
			t.Errorf("%+v", state)
		}
	}
	found(t, `ComandaEventIds = "`+string(failed.EventID)+`" AND ExecutionStatus = "Completed"`, ok.WorkflowID)
	replay(t, "burst_failed_one", completed(t, ok.WorkflowID))
	replay(t, "delivery_continued_from_burst", completed(t, own))
}

// A receiver that takes long does not hold the others. Its attempt goes on and is recorded; the
// workflow of its delivery finds the record.
func TestSlowReceiverInABurst(t *testing.T) {
	release := make(chan struct{})
	restaurants, hooks, _ := burst(t, map[string]string{"COMANDA_DELIVERY_TIMEOUT": "4s"}, nil,
		func(int, http.ResponseWriter, *http.Request) { <-release })
	ok := restaurants[0].delivery("delivered", withStatus(app.DeliveryDelivered))
	completed(t, ok.WorkflowID)
	close(release)
	slow := restaurants[1].delivery("delivered", withStatus(app.DeliveryDelivered))
	replay(t, "delivery_left_its_burst", completed(t, app.DeliveryWorkflowID(slow.EventID, slow.SubscriptionID)))
	if n := len(hooks[1].all(t)); n != 1 {
		t.Errorf("%d POSTs", n)
	}
}

// A worker that is stopped waits for an attempt that has left its burst.
func TestStopWaitsForAttemptsThatLeftTheirBurst(t *testing.T) {
	release := make(chan struct{})
	restaurants, hooks, process := burst(t, nil, nil, func(int, http.ResponseWriter, *http.Request) { <-release })
	completed(t, restaurants[0].delivery("delivered", withStatus(app.DeliveryDelivered)).WorkflowID)
	stopping, stopped := context.WithTimeout(t.Context(), 30*time.Second)
	defer stopped()
	ended := make(chan error, 1)
	go func() { ended <- process.Stop(stopping) }()
	select {
	case err := <-ended:
		t.Errorf("it does not wait: %v", err)
	case <-time.After(time.Second):
	}
	close(release)
	must(t, <-ended)
	restaurants[1].delivery("delivered", withStatus(app.DeliveryDelivered))
	if n := len(hooks[1].all(t)); n != 1 {
		t.Errorf("%d POSTs", n)
	}
}

// A worker that is killed in the middle of a burst repeats only the attempts in flight.
func TestKillDuringABurst(t *testing.T) {
	release := make(chan struct{})
	restaurants, hooks, process := burst(t, nil, nil, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-release
		}
	})
	restaurants[0].delivery("delivered", withStatus(app.DeliveryDelivered))
	process.Kill()
	close(release)
	worker(t, map[string]string{"COMANDA_BURST": "always"})
	d := restaurants[1].delivery("delivered", withStatus(app.DeliveryDelivered))
	if posts := [2]int{len(hooks[0].all(t)), len(hooks[1].all(t))}; posts != [2]int{1, 2} || d.Attempts != 1 {
		t.Errorf("%v POSTs, %+v", posts, d)
	}
}

// A namespace that has fewer than three free lists of keywords works without bursts.
func TestNamespaceWithoutRoomForBursts(t *testing.T) {
	const name = "no-room"
	_, err := the.temporal.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	must(t, err)
	eventually(t, "the namespace takes a search attribute", func() error {
		_, err := the.temporal.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
			Namespace:        name,
			SearchAttributes: map[string]enums.IndexedValueType{"Colours": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST},
		})
		return err
	})
	restaurants, _, process := burst(t, map[string]string{"TEMPORAL_NAMESPACE": name}, nil, nil)
	for _, r := range restaurants {
		d := r.delivery("delivered", withStatus(app.DeliveryDelivered))
		if want := app.DeliveryWorkflowID(d.EventID, d.SubscriptionID); d.WorkflowID != want {
			t.Errorf("%s instead of %s", d.WorkflowID, want)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, process.Admin+"/metrics", nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	must(t, err)
	if !strings.Contains(string(metrics), "\ncomanda_bursts_enabled 0\n") {
		t.Error("the metric does not show that bursts are off")
	}
}

// An update makes the server dispatch the first workflow task before the end of the start delay.
// The attempt waits for its time nevertheless.
func TestUpdateDuringTheStartDelay(t *testing.T) {
	restaurants, hooks, _ := burst(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "5s,1s"}, nil, failFirst)
	d := restaurants[1].delivery("retrying", withStatus(app.DeliveryRetrying))
	own := app.DeliveryWorkflowID(d.EventID, d.SubscriptionID)
	updating, updated := context.WithTimeout(t.Context(), 3*time.Second)
	defer updated()
	handle, err := the.temporal.UpdateWorkflow(updating, client.UpdateWorkflowOptions{
		WorkflowID: own, UpdateName: "nudge", WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	must(t, err)
	if err := handle.Get(updating, nil); err == nil {
		t.Error("the workflow knows the update")
	}
	hooks[1].await(t)
	if early := d.NextRetryAt.Sub(hooks[1].all(t)[1].at); early > 10*time.Millisecond {
		t.Errorf("the retry is %s early", early)
	}
	events := completed(t, own)
	first := events[1].EventTime.AsTime()
	if !first.Before(d.NextRetryAt.Time) || events[4].EventType != enums.EVENT_TYPE_TIMER_STARTED {
		t.Errorf("the first workflow task was not early: at %s of %s, then %s", first, d.NextRetryAt, events[4].EventType)
	}
	replay(t, "delivery_dispatched_early", events)
}
