package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// count returns the result of a query for a number.
func count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// TestDeletedWebhookCancelsDeliveries deletes a webhook while two hundred of its deliveries are queued, in flight or
// retrying, and kills the worker after a batch of cancellations. No attempt of a queued delivery begins, and all
// deliveries and their workflows end as cancelled.
func TestDeletedWebhookCancelsDeliveries(t *testing.T) {
	t.Parallel()
	const orders, queued = 200, 50
	settings := map[string]string{
		"COMANDA_RETRY_SCHEDULE": "1s,1h", "COMANDA_DELIVERY_TIMEOUT": holding,
		"COMANDA_PLAN_WINDOW": planWindow.String(),
	}
	first := worker(t, settings)
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 8 || n == 16 {
			hang(r) // until the worker is killed
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := r.subscribe(h)
	r.emit(orders - queued)
	const of = "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = $2"
	eventually(t, "deliveries wait for their second retry", func() error {
		const waiting = `SELECT count(*) FROM deliveries
			WHERE subscription_id = $1 AND status = 'retrying' AND attempts = 2`
		if n := count(t, waiting, s.ID); n < 10 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})

	// The plan has no starts left for further deliveries. An event that is dispatched after the deletion has none.
	starter, _ := app.PlanStarter.PerWindow()
	r.usePlan(app.PlanStarter, starter)
	r.emit(queued)
	r.awaitDispatch()
	must(t, r.DeleteWebhook(t.Context(), s.ID))
	eventually(t, "a batch has cancelled queued deliveries", func() error {
		return atLeast(1, count(t, of+" AND generation = 0", s.ID, comanda.DeliveryStatusCancelled))
	})
	first.Kill()
	deleted := count(t, "SELECT count(*) FROM attempts WHERE subscription_id = $1", s.ID)
	open := orders - count(t, of, s.ID, comanda.DeliveryStatusDelivered) -
		count(t, of, s.ID, comanda.DeliveryStatusCancelled)
	if open == 0 {
		t.Error("open deliveries after a batch: got 0, want some")
	}
	r.changePlan(app.PlanEnterprise)
	worker(t, settings)
	eventually(t, "all are cancelled", func() error {
		if n := count(t, of+" AND reason = $3", s.ID, comanda.DeliveryStatusCancelled, app.ReasonDeleted); n != orders {
			return fmt.Errorf("%d of %d, the others are %s", n, orders, others(t, s.ID))
		}
		return nil
	})
	eventually(t, "all workflows have ended", func() error {
		response, err := worldOf(t).temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = 'Delivery' AND ExecutionStatus = 'Running' "+
				"AND ComandaIds = '%s'", s.ID),
		})
		if err != nil || response.Count > 0 {
			return fmt.Errorf("%d run, %v", response.GetCount(), err)
		}
		return nil
	})
	if n := h.events(0); n > orders-queued {
		t.Errorf("events at the receiver: got %d, want at most the %d that were not queued", n, orders-queued)
	}
	if n := count(t, "SELECT count(*) FROM attempts WHERE subscription_id = $1 AND status = 'retrying'", s.ID); n != 0 {
		t.Errorf("%d attempts have the status retrying, want 0", n)
	}
	list := r.deliveries(comanda.ListDeliveriesParams{Status: comanda.DeliveryStatusCancelled, WebhookID: s.ID})
	if len(list) != 20 {
		t.Errorf("cancelled deliveries: got %d, want a page of 20", len(list))
	}
	replay(t, "teardown_deleted", historyNamed(t, workflows.JobWorkflowID(app.JobTeardown, s.ID)))
	t.Logf("%d attempts until the deletion, %d open deliveries, %d requests in all", deleted, open, len(h.all(t)))
}

// others describes the deliveries of a deleted subscription that are not cancelled.
func others(t *testing.T, subscription string) (text string) {
	t.Helper()
	must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), `
		SELECT coalesce(string_agg(concat_ws(' ', id, status, 'for', nullif(reason, ''), 'after', attempts,
			'started', started_at, 'lease', lease_until, 'next', next_retry_at), '; '), 'none')
		FROM deliveries WHERE subscription_id = $1 AND NOT (status = 'cancelled' AND reason = $2)`,
		subscription, app.ReasonDeleted).Scan(&text))
	return text
}

// TestWebhookChangesBetweenAttempts checks that a new URL applies from the next attempt, that a change of events does
// not affect existing deliveries, and that events during the inactivity of a webhook are not delivered.
func TestWebhookChangesBetweenAttempts(t *testing.T) {
	t.Parallel()
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1h"})
	r := newRestaurant(t)
	old := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s := r.subscribe(old)
	r.order()
	retrying := r.delivery("retrying", withStatus(comanda.DeliveryStatusRetrying))
	next := newHook(t, nil)
	r.changeWebhook(s, comanda.ChangeWebhookRequest{
		URL: &next.url, Events: []comanda.SubscribableEventType{comanda.SubscribableEventTypeOrderCancelled},
	})
	_, err := r.RetryDelivery(t.Context(), retrying.ID)
	must(t, err)
	next.await(t)
	d := r.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
	if d.Attempts != 2 || len(old.all(t)) != 1 || len(next.all(t)) != 1 {
		t.Errorf("got %d attempts, %d to the old URL and %d to the new URL, want 2, 1 and 1",
			d.Attempts, len(old.all(t)),
			len(next.all(t)))
	}
	var details []*comanda.AttemptDetail
	for _, a := range r.attempts(s.ID) {
		detail, err := r.GetDeliveryAttempt(t.Context(), s.ID, a.ID)
		must(t, err)
		details = append(details, detail)
	}
	if details[0].Request.URL != old.url || details[1].Request.URL != next.url ||
		*details[1].Request.Body != next.all(t)[0].body {
		t.Errorf("attempts: got %+v, want one to the old and one to the new URL", details)
	}
	r.changeWebhook(s, comanda.ChangeWebhookRequest{
		Events: []comanda.SubscribableEventType{comanda.SubscribableEventTypeOrderCreated}, IsActive: new(false),
	})
	r.order()
	r.awaitDispatch()
	r.changeWebhook(s, comanda.ChangeWebhookRequest{IsActive: new(true)})
	r.order()
	next.await(t)
	if n := len(next.all(t)); n != 2 {
		t.Errorf("requests to the new URL: got %d, want 2", n)
	}
}

// forgetRequests makes the rate limits forget all requests.
func forgetRequests(t *testing.T) {
	t.Helper()
	_, err := worldOf(t).db.System().DB.ExecContext(t.Context(), "DELETE FROM rate_limits")
	must(t, err)
}

// TestTestPing checks that a test is signed, recorded and returns its result, also for an inactive webhook. Without
// Temporal, the API rejects it, but starts and stays ready.
func TestTestPing(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	_, temporal, settings := proxied(t)
	temporal.Cut()
	for _, name := range databaseVariables {
		delete(settings, name)
	}
	settings["COMANDA_BASE_URL"] = worldOf(t).api // the issuer of the tokens
	serve, address, err := worldOf(t).serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	s := r.subscribe(h)
	r.changeWebhook(s, comanda.ChangeWebhookRequest{IsActive: new(false)})

	r.moveTo(address)
	_, err = r.TestWebhook(t.Context(), s.ID)
	wantCode(t, "test without Temporal", err, comanda.ErrorCodeUnavailable)
	must(t, health(serve))
	temporal.Mend()
	var result *comanda.WebhookTestResult
	eventually(t, "tests succeed again", func() (err error) {
		forgetRequests(t) // a webhook has six tests a minute
		result, err = r.TestWebhook(t.Context(), s.ID)
		return err
	})
	if result.Delivered || result.StatusCode != 418 || result.Error == "" {
		t.Errorf("test that the receiver rejects: got %+v, want 418 and an error", result)
	}
	result, err = r.TestWebhook(t.Context(), s.ID)
	must(t, err)
	got := h.all(t)
	last := got[len(got)-1]
	if !result.Delivered || result.StatusCode != 200 || result.Error != "" || result.EventID != last.id ||
		!strings.Contains(last.body, `"type":"test.ping"`) {
		t.Errorf("test: got %+v for the request %+v, want it delivered with 200", result, last)
	}
	attempts := r.attempts(s.ID)
	if len(attempts) != len(got) || attempts[0].Status != comanda.AttemptStatusFailed ||
		attempts[len(attempts)-1].Status != comanda.AttemptStatusDelivered {
		t.Errorf("attempts: got %+v, want %d, the first failed, the last delivered", attempts, len(got))
	}
	list := r.deliveries(comanda.ListDeliveriesParams{})
	s, err = r.GetWebhook(t.Context(), s.ID)
	must(t, err)
	if len(list) != 0 || s.FailureCount != 0 || s.LastDeliveryAt == nil {
		t.Errorf("got deliveries %+v of %+v, want none and no failures", list, s)
	}
	events := historyNamed(t, "test/"+result.EventID)
	text := fmt.Sprint(events)
	if strings.Contains(text, hookSecret) || strings.Contains(text, "127.0.0.1") ||
		strings.Contains(text, "This is a test") {
		t.Errorf("history: got private data, want none: %s", text)
	}
	replay(t, "test_delivered", events)
}
