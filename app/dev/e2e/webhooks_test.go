package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// count asks the database for a number.
func count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	must(t, the.db.System().DB.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// TestDeletingAWebhookCancelsWhatIsLeft deletes a webhook while two hundred deliveries to it are queued, hang or wait for
// their retry, and kills the worker in the middle of a batch of cancellations. No attempt begins after the deletion, and
// all deliveries end as cancelled, rows and workflows.
func TestDeletingAWebhookCancelsWhatIsLeft(t *testing.T) {
	const orders = 200
	settings := map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1h", "COMANDA_DELIVERY_TIMEOUT": "5s"}
	first := worker(t, settings)
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n%8 == 0 {
			<-r.Context().Done() // until its sender gives up
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := r.subscribe(h)
	var placing sync.WaitGroup
	for range 4 {
		placing.Go(func() {
			for range orders / 4 {
				if status, refusal := r.call("POST", "/orders", r.newOrder()); status != 201 {
					t.Errorf("placing an order: %d %s", status, refusal)
				}
			}
		})
	}
	placing.Wait()
	const of = "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = $2"
	eventually(t, "second retries are waited for", func() error {
		if n := count(t, "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = 'retrying' AND attempts = 2", s.ID); n < 10 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})

	// An event that is dispatched after the deletion has no delivery.
	r.awaitDispatch()
	r.want(204, "DELETE", "/webhooks/"+string(s.ID), nil, nil)
	eventually(t, "a batch has begun: queued deliveries are cancelled", func() error {
		return atLeast(1, count(t, of+" AND generation = 0", s.ID, app.DeliveryCancelled))
	})
	first.Kill()
	deleted := count(t, "SELECT count(*) FROM attempts WHERE subscription_id = $1", s.ID)
	open := orders - count(t, of, s.ID, app.DeliveryDelivered) - count(t, of, s.ID, app.DeliveryCancelled)
	if open == 0 {
		t.Error("the batch had already ended")
	}
	worker(t, settings)
	eventually(t, "all are cancelled", func() error {
		if n := count(t, of+" AND reason = $3", s.ID, app.DeliveryCancelled, app.ReasonDeleted); n != orders {
			return fmt.Errorf("%d of %d, the others are %s", n, orders, others(t, s.ID))
		}
		return nil
	})
	eventually(t, "all workflows have ended", func() error {
		answer, err := the.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = 'Delivery' AND ExecutionStatus = 'Running' AND ComandaSubscriptionId = '%s'", s.ID),
		})
		if err != nil || answer.Count > 0 {
			return fmt.Errorf("%d run, %v", answer.GetCount(), err)
		}
		return nil
	})
	// What was under way at the deletion may have been recorded since. An attempt that begins
	// after it would carry a later time than the deletion by much more than loading takes.
	if n := count(t, `SELECT count(*) FROM attempts a JOIN subscriptions s ON s.id = a.subscription_id
		WHERE s.id = $1 AND a.attempted_at > s.deleted_at + interval '2 seconds'`, s.ID); n != 0 {
		t.Errorf("%d attempts were begun after the deletion", n)
	}
	if n := count(t, "SELECT count(*) FROM attempts WHERE subscription_id = $1 AND status = 'retrying'", s.ID); n != 0 {
		t.Errorf("%d attempts wait for a retry that does not come", n)
	}
	var list []app.Delivery
	r.want(200, "GET", "/deliveries?status=cancelled&webhookId="+string(s.ID), nil, &list)
	if len(list) != 20 {
		t.Errorf("%d deliveries are shown", len(list))
	}
	replay(t, "teardown_deleted", historyNamed(t, workflows.JobWorkflowID(app.JobTeardown, string(s.ID))))
	t.Logf("%d attempts until the deletion, %d open deliveries, %d requests in all", deleted, open, len(h.all(t)))
}

// others tells of the deliveries to a subscription that have not been cancelled since it is
// deleted.
func others(t *testing.T, subscription app.SubscriptionID) (text string) {
	t.Helper()
	must(t, the.db.System().DB.QueryRowContext(t.Context(), `SELECT coalesce(string_agg(concat_ws(' ', id, status, 'for', nullif(reason, ''), 'after', attempts,
			'started', started_at, 'lease', lease_until, 'next', next_retry_at), '; '), 'none')
		FROM deliveries WHERE subscription_id = $1 AND NOT (status = 'cancelled' AND reason = $2)`, subscription, app.ReasonDeleted).Scan(&text))
	return text
}

// A URL counts from the next attempt on; events that are no longer chosen are delivered all
// the same when they have been matched; switched off and on, what came in between is gone.
func TestAWebhookChangesBetweenAttempts(t *testing.T) {
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "3s"})
	r := newRestaurant(t)
	old := newHook(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s := r.subscribe(old)
	r.order()
	r.delivery("retrying", withStatus(app.DeliveryRetrying))
	next := newHook(t, nil)
	path := "/webhooks/" + string(s.ID)
	r.want(200, "PATCH", path, map[string]any{"url": next.url, "events": []string{"order.cancelled"}}, nil)
	next.await(t)
	d := r.delivery("delivered", withStatus(app.DeliveryDelivered))
	if d.Attempts != 2 || len(old.all(t)) != 1 || len(next.all(t)) != 1 {
		t.Errorf("%d attempts, %d at the old address, %d at the new one", d.Attempts, len(old.all(t)), len(next.all(t)))
	}
	var details []app.AttemptDetail
	for _, a := range r.attempts(s) {
		var detail app.AttemptDetail
		r.want(200, "GET", path+"/deliveries/"+string(a.ID), nil, &detail)
		details = append(details, detail)
	}
	if details[0].Request.URL != old.url || details[1].Request.URL != next.url || *details[1].Request.Body != next.all(t)[0].body {
		t.Errorf("attempts %+v", details)
	}
	r.want(200, "PATCH", path, map[string]any{"events": []string{"order.created"}, "isActive": false}, nil)
	r.order()
	r.awaitDispatch()
	r.want(200, "PATCH", path, map[string]any{"isActive": true}, nil)
	r.order()
	next.await(t)
	if n := len(next.all(t)); n != 2 {
		t.Errorf("%d requests at the new address", n)
	}
}

// A test is signed, recorded and answered, also while the webhook is off; without Temporal it
// is refused, and the API starts and stays ready all the same.
func TestTestPing(t *testing.T) {
	worker(t, nil)
	_, temporal, settings := proxied(t)
	temporal.Cut()
	delete(settings, "DATABASE_URL")
	settings["COMANDA_BASE_URL"] = the.api // whose tokens it takes
	serve, address, err := the.serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	s := r.subscribe(h)
	path := "/webhooks/" + string(s.ID)
	r.want(200, "PATCH", path, map[string]any{"isActive": false}, nil)

	r.api = address
	if status, refusal := r.call("POST", path+"/test", nil); status != 503 || !strings.Contains(string(refusal), "UNAVAILABLE") {
		t.Errorf("without Temporal: %d %s", status, refusal)
	}
	must(t, health(serve))
	temporal.Mend()
	var result app.WebhookTestResult
	eventually(t, "tests are sent again", func() error {
		status, data := r.call("POST", path+"/test", nil)
		if status != 200 {
			return fmt.Errorf("%d %s", status, data)
		}
		return json.Unmarshal(data, &result)
	})
	if result.Delivered || result.StatusCode != 418 || result.Error == "" {
		t.Errorf("refused by the receiver: %+v", result)
	}
	result = app.WebhookTestResult{}
	r.want(200, "POST", path+"/test", nil, &result)
	got := h.all(t)
	last := got[len(got)-1]
	if !result.Delivered || result.StatusCode != 200 || result.Error != "" || string(result.EventID) != last.id || !strings.Contains(last.body, `"type":"test.ping"`) {
		t.Errorf("%+v after %+v", result, last)
	}
	attempts := r.attempts(s)
	if len(attempts) != len(got) || attempts[0].Status != app.AttemptFailed || attempts[len(attempts)-1].Status != app.AttemptDelivered {
		t.Errorf("attempts %+v", attempts)
	}
	var list []app.Delivery
	r.want(200, "GET", "/deliveries", nil, &list)
	r.want(200, "GET", path, nil, &s)
	if len(list) != 0 || s.FailureCount != 0 || s.LastDeliveryAt == nil {
		t.Errorf("deliveries %+v of %+v", list, s)
	}
	events := historyNamed(t, "test/"+string(result.EventID))
	if text := fmt.Sprint(events); strings.Contains(text, hookSecret) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "This is a test") {
		t.Error("the history holds what is private")
	}
	replay(t, "test_delivered", events)
}
