package e2e

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

var record = flag.Bool("record", false, "write the histories to workflows/testdata")

// TestHistoryOfACancellation cancels the workflow of a delivery that waits for its next attempt, see replay.
func TestHistoryOfACancellation(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h"})
	recordCourse(t, "cancelled", failing(1), func(r *restaurant) {
		d := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
		must(t, worldOf(t).temporal.CancelWorkflow(t.Context(), workflowOf(d), ""))
		d = r.delivery("cancelled", withStatus(comanda.DeliveryStatusCancelled))
		if d.Reason != app.ReasonCancelled {
			t.Errorf("reason of the cancellation: got %q, want %q", d.Reason, app.ReasonCancelled)
		}
	})
}

// TestHistories lets a delivery succeed at its last attempt, and dead letters expire, see replay.
func TestHistories(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s", "COMANDA_DEAD_LETTER_RETENTION": "3s"})
	t.Run("retried", func(t *testing.T) { recordCourse(t, "retried", failing(2), nil) })
	t.Run("expired", func(t *testing.T) { recordCourse(t, "expired", failing(3), nil) })
	t.Run("deactivated", func(t *testing.T) {
		db := worldOf(t).db.System().DB
		deactivate := func(_ int, w http.ResponseWriter, _ *http.Request) { // during the first attempt
			if _, err := db.ExecContext(t.Context(), "UPDATE subscriptions SET is_active = false"); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		recordCourse(t, "deactivated", deactivate, func(r *restaurant) {
			d := r.delivery("dead letter", withStatus(comanda.DeliveryStatusDeadLetter))
			if d.Reason != app.ReasonInactive || d.Attempts != 1 {
				t.Errorf("dead letter: got reason %q after %d attempts, want %q after 1", d.Reason, d.Attempts,
					app.ReasonInactive)
			}
		})
	})
}

// TestHistoryOfATurn records a delivery whose workflow was started although it is held back, as by a relay that was
// suspended after its claim. The workflow waits until its turn comes, see replay.
func TestHistoryOfATurn(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_DELIVERY_TIMEOUT": holding})
	release := make(chan struct{})
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			awaited(t, release, true)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	s := r.subscribe(h, comanda.SubscribableEventTypeOrderCreated, comanda.SubscribableEventTypeOrderStatusUpdated)
	ordering := comanda.WebhookOrderingResource
	r.changeWebhook(s, comanda.ChangeWebhookRequest{Ordering: &ordering})
	ended(t, workflows.JobWorkflowID(app.JobReordering, s.ID))
	order := r.order()
	h.await(t)
	_, err := r.UpdateOrderStatus(t.Context(), order.ID, comanda.ChangeOrderStatusRequest{Status: "CONFIRMED"})
	must(t, err)
	var waits comanda.Delivery
	eventually(t, "the second delivery is held back", func() error {
		for _, d := range r.deliveries(comanda.ListDeliveriesParams{Status: comanda.DeliveryStatusQueued}) {
			waits = d
			return nil
		}
		return errNotYet
	})
	// The next claim is not the first one.
	_, err = worldOf(t).db.System().DB.ExecContext(t.Context(),
		"UPDATE deliveries SET generation = 1 WHERE id = $1", waits.ID)
	must(t, err)
	policy := workflows.Policy{
		Schedule: app.RetrySchedule{time.Hour}, Retention: time.Hour, AttemptLimit: 2 * time.Minute,
	}
	starter := workflows.NewClient(worldOf(t).temporal, policy, workflows.JobPolicy{})
	must(t, starter.StartDelivery(t.Context(), app.Claim{
		ID: app.DeliveryID(waits.ID), Generation: 1, StoreID: r.store, Queue: string(r.store),
		EventID: app.EventID(waits.EventID), EventType: app.EventType(waits.EventType),
		SubscriptionID: app.SubscriptionID(waits.WebhookID), Quick: true,
	}))
	awaitState(t, workflowOf(waits), "queued")
	close(release)
	replay(t, "delivery_waited_for_its_turn", ended(t, workflowOf(waits)))
}

// failing returns the behaviour of a receiver that rejects the first requests.
func failing(times int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= times {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// recordCourse places an order whose receiver calls respond, calls then, and replays the history of the delivery when
// its workflow has ended.
func recordCourse(
	t *testing.T, name string, respond func(int, http.ResponseWriter, *http.Request), then func(*restaurant),
) {
	t.Helper()
	r, h := newRestaurant(t), newHook(t, respond)
	r.subscribe(h)
	r.order()
	h.await(t)
	if then != nil {
		then(r)
	}
	d := r.delivery("there", func(comanda.Delivery) bool { return true })
	var events []*history.HistoryEvent
	eventually(t, "the workflow ends", func() error {
		events = historyOf(t, d)
		switch events[len(events)-1].EventType {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
			return nil
		}
		return errNotYet
	})
	replay(t, "delivery_"+name, events)
}

// Parts of a history that name the machine on which it was recorded: the identity of the worker and its sticky queue.
var (
	workerIdentity = regexp.MustCompile(`"(identity|workerInstanceKey|firstExecutionIdentity)":( *)"[^"]*"`)
	stickyQueue    = regexp.MustCompile(`"name":( *)"[^":]*:[0-9a-f-]{36}"`)
)

// replay replays the history of a real server with the current code, see also keep. Workflows stay open for thirty
// days, so the histories of earlier releases in workflows/testdata must replay too: after a release, a change of
// commands adds files under new names, such as delivery_retried_v2.
func replay(t *testing.T, name string, events []*history.HistoryEvent) {
	t.Helper()
	replayer := sdkworker.NewWorkflowReplayer()
	workflows.Register(replayer)
	if err := replayer.ReplayWorkflowHistory(nil, &history.History{Events: events}); err != nil {
		t.Error(err)
	}
	keep(t, name, events)
}

// keep fails the test if workflows/testdata has no history with this name. With -record, it adds the history.
func keep(t *testing.T, name string, events []*history.HistoryEvent) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "workflows", "testdata", name+".json")
	if _, err := os.Stat(path); err == nil {
		return
	}
	if !*record {
		t.Errorf("there is no recorded history %s: run task histories", name)
		return
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(&history.History{Events: events})
	must(t, err)
	text = workerIdentity.ReplaceAll(text, []byte(`"$1":$2"recorder"`))
	text = stickyQueue.ReplaceAll(text, []byte(`"name":$1"recorder:sticky"`))
	must(t, os.WriteFile(path, append(text, '\n'), 0o644))
}
