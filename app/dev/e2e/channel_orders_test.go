package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// TestChannelOrders sends the orders of a channel for a minute of a busy evening at the same time. Two thirds are
// accepted, the others are cancelled at their deadlines, and all of them are in the sums once.
func TestChannelOrders(t *testing.T) {
	t.Parallel()
	const orders, accepted, channel = 60, 40, "Uber Eats"
	worker(t, map[string]string{"COMANDA_RECONCILE_AFTER": "1s"})
	r := newRestaurant(t)
	_, err := r.UpdateSettings(t.Context(), comanda.ChangeSettingsRequest{Acceptance: &comanda.AcceptanceRequest{
		RemindAfterMinutes: new(5), CancelAfterMinutes: new(10),
	}})
	must(t, err)
	_, err = r.ChangeStock(t.Context(), string(r.product), comanda.ChangeStockRequest{Set: comanda.Set(200)})
	must(t, err)
	key, err := r.CreateAPIKey(t.Context(), comanda.CreateAPIKeyRequest{
		Name: channel, Scopes: []comanda.Scope{comanda.ScopeOrdersPrice},
	})
	must(t, err)
	shop := newClient(t, worldOf(t).api, key.Key)
	placed := make([]*comanda.Order, orders)
	each := func(from, to int, do func(i int) error) {
		t.Helper()
		faults := make(chan error, to-from)
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := from + worker; i < to; i += 4 {
					faults <- do(i)
				}
			})
		}
		all.Wait()
		for range to - from {
			must(t, <-faults)
		}
	}
	wanted := func(i int) comanda.PlaceOrderRequest {
		in := r.newOrder() // two pizzas
		in.Channel, in.ExternalID, in.DeliveryFeeMinor = new(channel), new(fmt.Sprint("order-", i)), new(int64(290))
		in.Items[0].UnitPriceMinor = new(int64(1200))
		in.Items = append(in.Items, comanda.OrderItemRequest{
			Name: new("Paper bag"), Quantity: 1, UnitPriceMinor: new(int64(25)),
		})
		return in
	}
	each(0, orders, func(i int) (err error) {
		placed[i], err = shop.PlaceOrder(t.Context(), wanted(i))
		return err
	})
	_, err = shop.PlaceOrder(t.Context(), wanted(7))
	wantCode(t, "an order that is repeated", err, comanda.ErrorCodeConflict)
	for _, order := range placed {
		awaitAcceptance(t, order.ID, app.AcceptanceWaiting)
	}
	each(0, accepted, func(i int) error {
		_, err := r.UpdateOrderStatus(t.Context(), placed[i].ID,
			comanda.ChangeOrderStatusRequest{Status: comanda.OrderStatusConfirmed})
		return err
	})
	_, err = worldOf(t).db.System().DB.ExecContext(t.Context(), `UPDATE acceptances
		SET since = since - interval '10 minutes', next_at = next_at - interval '10 minutes'
		WHERE store_id = $1`, r.store)
	must(t, err)
	for i, order := range placed {
		ended(t, workflows.JobWorkflowID(app.JobAcceptance, order.ID))
		want, reason := comanda.OrderStatusConfirmed, ""
		if i >= accepted {
			want, reason = comanda.OrderStatusCancelled, app.ReasonNotAccepted
		}
		shown, err := r.GetOrder(t.Context(), order.ID)
		must(t, err)
		if shown.Status != want || shown.CancellationReason != reason || shown.Version != 2 {
			t.Errorf("order %d: got %s in version %d, want %s in version 2", i, shown.Status, shown.Version, want)
		}
	}
	eventually(t, "no workflow is open", func() error {
		open, err := worldOf(t).temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: `WorkflowType = "acceptance" AND ExecutionStatus = "Running" AND ComandaStoreId = "` +
				string(r.store) + `"`,
		})
		if err == nil && open.Count != 0 {
			err = errNotYet
		}
		return err
	})
	now := time.Now()
	sales, err := r.ListChannelSales(t.Context(), comanda.ListChannelSalesParams{
		From: now.AddDate(0, 0, -1).Format(time.DateOnly), To: now.AddDate(0, 0, 1).Format(time.DateOnly),
	})
	must(t, err)
	gross := int64(accepted * (2*1200 + 25))
	want := []comanda.ChannelSales{{
		Channel: new(channel), FulfillmentType: comanda.FulfillmentTypePickup, Currency: "EUR", Orders: accepted,
		CancelledOrders: orders - accepted, GrossMinor: gross, NetMinor: gross, DeliveryFeeMinor: accepted * 290,
		AverageOrderMinor: gross / accepted, ItemsSold: 3 * accepted, TaxMinor: accepted * placed[0].TaxMinor,
	}}
	if diff := cmp.Diff(want, sales.Data); diff != "" {
		t.Errorf("sales by channel (-want +got): %s", diff)
	}
	product, err := r.GetProduct(t.Context(), string(r.product), comanda.GetProductParams{})
	must(t, err)
	if left := product.StockQuantity; left != 200-2*accepted {
		t.Errorf("stock: got %v, want %d", left, 200-2*accepted)
	}
}
