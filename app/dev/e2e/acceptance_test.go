package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// byKey returns a restaurant whose requests have an API key.
func (r *restaurant) byKey() *restaurant {
	r.t.Helper()
	var key struct{ Key string }
	r.want(201, "POST", "/api-keys", map[string]any{"name": "shop", "scopes": []string{"write:orders"}}, &key)
	shop := *r
	shop.token = key.Key
	return &shop
}

// awaitAcceptance waits until the workflow of an order is in a state.
func awaitAcceptance(t *testing.T, order app.OrderID, want app.AcceptanceState) {
	t.Helper()
	eventually(t, "the acceptance is "+string(want), func() error {
		var tick app.AcceptanceTick
		value, err := the.temporal.QueryWorkflow(t.Context(), workflows.JobWorkflowID(app.JobAcceptance, string(order)),
			"", workflows.QueryState)
		if err == nil {
			err = value.Get(&tick)
		}
		if err == nil && tick.State != want {
			err = errNotYet
		}
		return err
	})
}

// TestAcceptance lets orders of an API key wait for acceptance, and replays the histories, see TestHistories.
func TestAcceptance(t *testing.T) {
	settings := map[string]string{"COMANDA_RECONCILE_AFTER": "1s"}
	first := worker(t, settings)
	r := newRestaurant(t)
	shop := r.byKey()
	r.want(200, "PATCH", "/settings", map[string]any{
		"acceptance": map[string]any{"remindAfterMinutes": 5, "cancelAfterMinutes": 10},
	}, nil)
	answered, cancelled := shop.order(), shop.order()
	awaitAcceptance(t, answered.ID, app.AcceptanceWaiting)
	awaitAcceptance(t, cancelled.ID, app.AcceptanceWaiting)
	eventually(t, "the workflows are found by their store", func() error {
		found, err := the.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: `WorkflowType = "acceptance" AND ComandaStoreId = "` + string(r.store) + `"`,
		})
		if err == nil && found.Count != 2 {
			err = errNotYet
		}
		return err
	})

	// The workflow ends when the order leaves RECEIVED.
	r.want(200, "PATCH", "/orders/"+string(answered.ID)+"/status", map[string]any{"status": "CONFIRMED"}, nil)
	replay(t, "acceptance_answered", ended(t, workflows.JobWorkflowID(app.JobAcceptance, string(answered.ID))))

	// No worker runs at the deadline. The next one cancels the order.
	first.Kill()
	_, err := the.db.System().DB.ExecContext(t.Context(), `UPDATE acceptances
		SET since = since - interval '10 minutes', next_at = next_at - interval '10 minutes' WHERE order_id = $1`,
		cancelled.ID)
	must(t, err)
	worker(t, settings)
	replay(t, "acceptance_cancelled", ended(t, workflows.JobWorkflowID(app.JobAcceptance, string(cancelled.ID))))
	var shown app.Order
	r.want(200, "GET", "/orders/"+string(cancelled.ID), nil, &shown)
	if shown.Status != app.OrderCancelled || shown.CancellationReason != app.ReasonNotAccepted || shown.Version != 2 {
		t.Errorf("order after its deadline: got %+v, want it cancelled by the service", shown)
	}
	r.want(409, "PATCH", "/orders/"+string(cancelled.ID)+"/status", map[string]any{"status": "CONFIRMED"}, nil)
}

// TestClosedStore refuses orders of an API key while ordering is paused.
func TestClosedStore(t *testing.T) {
	r := newRestaurant(t)
	shop := r.byKey()
	until := app.At(time.Now().Add(time.Hour))
	r.want(200, "POST", "/store/pause", map[string]any{"until": until}, nil)
	var refusal struct {
		Code    app.Code
		Details []app.Detail
	}
	status, answer := shop.call("POST", "/orders", shop.newOrder())
	must(t, json.Unmarshal(answer, &refusal))
	if status != 422 || refusal.Code != app.CodeStoreClosed || len(refusal.Details) != 1 ||
		refusal.Details[0] != (app.Detail{Path: "nextOpenAt", Message: until.String()}) {
		t.Errorf("order during a pause: got %d %s, want 422 STORE_CLOSED with nextOpenAt %s", status, answer, until)
	}
	r.order()
	r.want(200, "POST", "/store/resume", nil, nil)
	shop.order()
}
