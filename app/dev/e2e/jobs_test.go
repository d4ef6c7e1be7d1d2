package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// TestRetention lets the retention erase the body of an event, and replays its history, see replay.
func TestRetention(t *testing.T) {
	t.Parallel()
	// End the workflow that workers of earlier tests started: its next run is an hour away.
	err := worldOf(t).temporal.TerminateWorkflow(t.Context(), "retention", "", "the test starts with a new workflow")
	if _, none := errors.AsType[*serviceerror.NotFound](err); err != nil && !none {
		t.Fatal(err)
	}
	worker(t, map[string]string{"COMANDA_DEAD_LETTER_RETENTION": "2s"})
	r := newRestaurant(t)
	r.subscribe(newHook(t, nil))
	r.order()
	d := r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	eventually(t, "the body is erased", func() error {
		return atLeast(1, count(t, "SELECT count(*) FROM outbox WHERE id = $1 AND body IS NULL", d.EventID))
	})
	_, err = r.ReplayDelivery(t.Context(), d.ID)
	wantCode(t, "replay of an erased body", err, comanda.ErrorCodePayloadErased)
	var events []*history.HistoryEvent
	eventually(t, "the retention runs again", func() error {
		events = historyNamed(t, "retention")
		erasures := slices.DeleteFunc(slices.Clone(events), func(e *history.HistoryEvent) bool {
			return e.EventType != enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
		})
		return atLeast(2, len(erasures))
	})
	replay(t, "retention_running", events)
}

// TestJobs runs watchdogs and a change of ordering, and replays their histories, see replay.
func TestJobs(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{
		"COMANDA_RETRY_SCHEDULE": "1s", "COMANDA_WATCHDOG_DAY": "2s", "COMANDA_WATCHDOG_DAYS": "2",
	})
	t.Run("watchdog_deactivated", func(t *testing.T) {
		r := newRestaurant(t)
		s := r.subscribe(newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}))
		var shown *comanda.Webhook
		eventually(t, "the webhook is deactivated", func() (err error) {
			r.order() // a day without an attempt would not count
			if shown, err = r.GetWebhook(t.Context(), s.ID); err == nil && shown.IsActive {
				err = fmt.Errorf("still active: %+v", shown)
			}
			return err
		})
		if shown.FailingDays != 2 || shown.FailureCount < 2 {
			t.Errorf("deactivated webhook: got %+v, want 2 failing days and at least 2 failures", shown)
		}
		replay(t, "watchdog_deactivated", ended(t, workflows.JobWorkflowID(app.JobWatchdog, s.ID)))
	})
	t.Run("watchdog_recovered", func(t *testing.T) {
		r := newRestaurant(t)
		s := r.subscribe(newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
		r.order()
		replay(t, "watchdog_recovered", ended(t, workflows.JobWorkflowID(app.JobWatchdog, s.ID)))
		shown, err := r.GetWebhook(t.Context(), s.ID)
		must(t, err)
		if !shown.IsActive || shown.FailureCount != 0 {
			t.Errorf("recovered webhook: got %+v, want it active without failures", shown)
		}
	})
	t.Run("reordering_done", func(t *testing.T) {
		r, h := newRestaurant(t), newHook(t, nil)
		s := r.subscribe(h)
		ordering := comanda.WebhookOrderingResource
		r.changeWebhook(s, comanda.ChangeWebhookRequest{Ordering: &ordering})
		replay(t, "reordering_done", ended(t, workflows.JobWorkflowID(app.JobReordering, s.ID)))
		r.order()
		h.await(t)
	})
}

// TestReplayJob runs a bulk replay, and replays its history, see replay. On a slow machine, its webhook fails
// for longer than the short days of TestJobs.
func TestReplayJob(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s"})
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 6 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := r.subscribe(h)
	began := time.Now().Add(-time.Minute)
	for range 3 {
		r.order()
	}
	with := func(status comanda.DeliveryStatus) []comanda.Delivery {
		return r.deliveries(comanda.ListDeliveriesParams{Status: status})
	}
	eventually(t, "three dead letters", func() error {
		return atLeast(3, len(with(comanda.DeliveryStatusDeadLetter)))
	})
	ordered, err := r.ReplayWebhook(t.Context(), s.ID, comanda.ReplayWebhookRequest{From: began})
	must(t, err)
	eventually(t, "all are delivered", func() error {
		return atLeast(3, len(with(comanda.DeliveryStatusDelivered)))
	})
	replay(t, "replay_completed", ended(t, workflows.JobWorkflowID(app.JobReplay, ordered.ID)))
	shown, err := r.GetWebhookReplay(t.Context(), s.ID, ordered.ID)
	must(t, err)
	if shown.Status != comanda.ReplayStatusCompleted || shown.Matched != 3 || shown.Replayed != 3 ||
		shown.InProgress != 0 {
		t.Errorf("bulk replay: got %+v, want it completed with 3 replayed", shown)
	}
}

// ended waits until a workflow has ended and returns its history.
func ended(t *testing.T, id string) (events []*history.HistoryEvent) {
	t.Helper()
	eventually(t, id+" ends", func() error {
		events = historyNamed(t, id)
		if len(events) == 0 || events[len(events)-1].EventType != enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
			return errNotYet
		}
		return nil
	})
	return events
}
