package e2e

import (
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// byKey returns a restaurant whose requests have an API key.
func (r *restaurant) byKey() *restaurant {
	r.t.Helper()
	key, err := r.CreateAPIKey(r.t.Context(), comanda.CreateAPIKeyRequest{
		Name: "shop", Scopes: []comanda.Scope{comanda.ScopeWriteOrders},
	})
	must(r.t, err)
	shop := *r
	shop.Client = newClient(r.t, worldOf(r.t).api, key.Key)
	return &shop
}

// awaitAcceptance waits until the workflow of an order is in a state.
func awaitAcceptance(t *testing.T, order string, want app.AcceptanceState) {
	t.Helper()
	eventually(t, "the acceptance is "+string(want), func() error {
		var tick app.AcceptanceTick
		value, err := worldOf(t).temporal.QueryWorkflow(t.Context(), workflows.JobWorkflowID(app.JobAcceptance, order),
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

// TestAcceptance lets orders of an API key wait for acceptance, and replays the histories, see replay.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"COMANDA_RECONCILE_AFTER": "1s"}
	first := worker(t, settings)
	r := newRestaurant(t)
	shop := r.byKey()
	_, err := r.UpdateSettings(t.Context(), comanda.ChangeSettingsRequest{Acceptance: &comanda.AcceptanceRequest{
		RemindAfterMinutes: new(5), CancelAfterMinutes: new(10),
	}})
	must(t, err)
	handled, cancelled := shop.order(), shop.order()
	awaitAcceptance(t, handled.ID, app.AcceptanceWaiting)
	awaitAcceptance(t, cancelled.ID, app.AcceptanceWaiting)
	for _, attribute := range []string{"ComandaIds", "ComandaStoreId"} {
		eventually(t, "the workflows are found by their store", func() error {
			found, err := worldOf(t).temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
				Query: `WorkflowType = "acceptance" AND ` + attribute + ` = "` + string(r.store) + `"`,
			})
			if err == nil && found.Count != 2 {
				err = errNotYet
			}
			return err
		})
	}

	// The workflow ends when the order leaves RECEIVED.
	r.changeStatus(handled, comanda.OrderStatusConfirmed)
	replay(t, "acceptance_handled", ended(t, workflows.JobWorkflowID(app.JobAcceptance, handled.ID)))

	// No worker runs at the deadline. The next one cancels the order.
	first.Kill()
	_, err = worldOf(t).db.System().DB.ExecContext(t.Context(), `UPDATE acceptances
		SET since = since - interval '10 minutes', next_at = next_at - interval '10 minutes' WHERE order_id = $1`,
		cancelled.ID)
	must(t, err)
	worker(t, settings)
	replay(t, "acceptance_cancelled", ended(t, workflows.JobWorkflowID(app.JobAcceptance, cancelled.ID)))
	shown, err := r.GetOrder(t.Context(), cancelled.ID)
	must(t, err)
	if shown.Status != comanda.OrderStatusCancelled || shown.CancellationReason != app.ReasonNotAccepted ||
		shown.Version != 2 {
		t.Errorf("order after its deadline: got %+v, want it cancelled by the service", shown)
	}
	_, err = r.UpdateOrderStatus(t.Context(), cancelled.ID, comanda.ChangeOrderStatusRequest{
		Status: comanda.OrderStatusConfirmed,
	})
	wantCode(t, "change of a cancelled order", err, comanda.ErrorCodeInvalidTransition)
}
