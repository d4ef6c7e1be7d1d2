package api

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// Each order counts once for its channel and fulfillment type, with its amendments; its refunds count on their own day,
// and a cancelled order in cancelledOrders only.
func TestChannelSales(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // with an order of two pizzas at noon of the 14th
	key := w.pricing()
	pickup := object{"fulfillmentType": "PICKUP", "deliveryAddress": nil, "deliveryFeeMinor": nil}
	order := func(change object) (placed orderOut) {
		t.Helper()
		w.do("POST", "/orders", key, altered(w.channelBody(), change)).ok(201, &placed)
		return placed
	}
	first := order(nil)
	orders := []object{
		{"discountMinor": 98}, {"channel": nil}, {"deliveryFeeMinor": 7, "storeViewId": w.viewIn("USD")},
	}
	for _, change := range orders {
		all := maps.Clone(pickup)
		maps.Copy(all, change)
		order(all)
	}
	cancelled := order(object{"channel": "Wolt"})
	w.amend(first, key, object{"deliveryFeeMinor": 400, "items": []any{
		kept(first.Items[0], object{"quantity": 1, "unitPriceMinor": 1000}), kept(first.Items[1], nil),
	}}).ok(200, &first)
	w.do("PATCH", "/orders/"+string(cancelled.ID)+"/status", key, statusBody("CANCELLED")).ok(200, nil)
	var payment app.Payment
	w.do("POST", "/orders/"+string(first.ID)+"/payments", key,
		altered(paymentBody(), object{"amountMinor": 1430, "tipMinor": 100})).ok(201, &payment)
	w.now = w.now.AddDate(0, 0, 1)
	w.do("POST", "/payments/"+string(payment.ID)+"/refunds", key, altered(refundBody(300), object{"tipMinor": 50})).
		ok(201, nil)

	uber, wolt := new("Uber Eats"), new("Wolt")
	row := func(channel *string, fulfillment app.FulfillmentType, sales app.Sales) app.ChannelSales {
		return app.ChannelSales{Channel: channel, FulfillmentType: fulfillment, Sales: sales}
	}
	bothDays := []app.ChannelSales{
		row(nil, app.FulfillmentPickup, app.Sales{
			Currency: "EUR", Orders: 2, GrossMinor: 4398, NetMinor: 4398, TaxMinor: 124 + 166,
			AverageOrderMinor: 2199, ItemsSold: 8,
		}),
		row(uber, app.FulfillmentDelivery, app.Sales{
			Currency: "EUR", Orders: 1, GrossMinor: 1030, NetMinor: 1030, TaxMinor: first.TaxMinor,
			DeliveryFeeMinor: 400, RefundedMinor: 250, AverageOrderMinor: 1030, ItemsSold: 4,
		}),
		row(uber, app.FulfillmentPickup, app.Sales{
			Currency: "EUR", Orders: 1, GrossMinor: 2498, DiscountMinor: 98, NetMinor: 2400, TaxMinor: 160,
			AverageOrderMinor: 2400, ItemsSold: 6,
		}),
		row(uber, app.FulfillmentPickup, app.Sales{
			Currency: "USD", Orders: 1, GrossMinor: 2498, NetMinor: 2498, TaxMinor: 167, DeliveryFeeMinor: 7,
			AverageOrderMinor: 2498, ItemsSold: 6,
		}),
		row(wolt, app.FulfillmentDelivery, app.Sales{Currency: "EUR", CancelledOrders: 1}),
	}
	get := func(query string) (rows []app.ChannelSales) {
		t.Helper()
		w.do("GET", "/analytics/channels?"+query, w.key("own", app.ScopeReadAnalytics), nil).ok(200, &rows)
		return rows
	}
	if diff := cmp.Diff(bothDays, get("from=2026-03-14&to=2026-03-15")); diff != "" {
		t.Errorf("both days (-want +got):\n%s", diff)
	}
	refundOnly := []app.ChannelSales{
		row(uber, app.FulfillmentDelivery, app.Sales{Currency: "EUR", RefundedMinor: 250}),
	}
	if diff := cmp.Diff(refundOnly, get("from=2026-03-15&to=2026-03-15")); diff != "" {
		t.Errorf("day of the refund (-want +got):\n%s", diff)
	}
	if rows := get("from=2026-03-13&to=2026-03-13"); len(rows) != 0 {
		t.Errorf("day without sales: got %+v, want none", rows)
	}

	// The channels add up to the summary, and the cash-up names the channel.
	var summary []app.Sales
	w.do("GET", "/analytics/summary?from=2026-03-14&to=2026-03-15", w.token("OWNER", w.stores["own"].id), nil).
		ok(200, &summary)
	sums := map[app.Currency]app.Sales{}
	for _, row := range bothDays {
		sum := sums[row.Currency]
		sums[row.Currency] = app.Sales{
			Orders: sum.Orders + row.Orders, CancelledOrders: sum.CancelledOrders + row.CancelledOrders,
			NetMinor: sum.NetMinor + row.NetMinor, TaxMinor: sum.TaxMinor + row.TaxMinor,
			RefundedMinor: sum.RefundedMinor + row.RefundedMinor, ItemsSold: sum.ItemsSold + row.ItemsSold,
		}
	}
	for _, row := range summary {
		want := sums[row.Currency]
		if row.Orders != want.Orders || row.CancelledOrders != want.CancelledOrders ||
			row.NetMinor != want.NetMinor || row.TaxMinor != want.TaxMinor || row.RefundedMinor != want.RefundedMinor ||
			row.ItemsSold != want.ItemsSold {
			t.Errorf("summary: got %+v, want the sum of the channels %+v", row, want)
		}
	}
	var cash []app.PaymentSum
	w.do("GET", "/payments/summary?from=2026-03-14&to=2026-03-15", key, nil).ok(200, &cash)
	if len(cash) != 2 || cash[0].Channel == nil || *cash[0].Channel != "Uber Eats" || cash[1].Channel == nil ||
		*cash[1].Channel != "Uber Eats" || cash[0].PaymentsMinor != 1330 || cash[1].RefundsMinor != 250 {
		t.Errorf("cash-up: got %+v, want 1330 paid and 250 refunded for Uber Eats", cash)
	}
}

// Channels are free texts: a period with too many rows is refused.
func TestChannelSalesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO sales SELECT store_id, business_date, quarter, 'Channel ' || n, fulfillment_type, currency,
			orders, guest_orders, cancelled_orders, gross_minor, discount_minor, tax_minor, delivery_fee_minor,
			items_sold
		FROM sales, generate_series(1, $2) n WHERE store_id = $1`, w.stores["own"].id, app.MaxChannelSales-1)
	const path = "/analytics/channels?from=2026-03-14&to=2026-03-14"
	var rows []app.ChannelSales
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &rows)
	if len(rows) != app.MaxChannelSales {
		t.Errorf("got %d rows, want %d", len(rows), app.MaxChannelSales)
	}
	w.exec(`INSERT INTO sales SELECT store_id, business_date, quarter, 'Last', fulfillment_type, currency, orders,
			guest_orders, cancelled_orders, gross_minor, discount_minor, tax_minor, delivery_fee_minor, items_sold
		FROM sales WHERE store_id = $1 AND channel = ''`, w.stores["own"].id)
	w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeLimitReached)
	w.exec("UPDATE sales SET gross_minor = $2 WHERE store_id = $1 AND channel = ''", w.stores["own"].id,
		app.MaxAmountMinor+1)
	w.exec("DELETE FROM sales WHERE store_id = $1 AND channel = 'Last'", w.stores["own"].id)
	w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeAmountTooLarge)
}
