package api

import (
	"strconv"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// A refund counts on its own day, not on the day of its order. The sales of both days stay.
func TestRefundsCountOnTheirOwnDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	order := w.stores["own"].order // of the 14th
	w.now = noon.AddDate(0, 0, 2)
	token := w.token("OWNER", w.stores["own"].id)
	var payment struct{ ID string }
	w.do("POST", "/orders/"+string(order.ID)+"/payments", token, object{
		"provider": "STRIPE", "transactionId": "t1", "status": "SUCCEEDED", "amountMinor": 1900, "currency": "EUR",
		"paymentMethod": "card",
	}).ok(201, &payment)
	for _, id := range []string{"r1", "r2"} {
		w.do("POST", "/payments/"+payment.ID+"/refunds", token,
			object{"amountMinor": 300, "reason": "cold", "providerRefundId": id}).ok(201, nil)
	}
	for query, want := range map[string]string{
		"granularity=day":  "2026-03-14 1900 0 2026-03-16 0 600 ",
		"granularity=hour": "2026-03-14T13:00:00+01:00 1900 0 2026-03-16T13:00:00+01:00 0 600 ",
		"granularity=week": "2026-03-09 1900 0 2026-03-16 0 600 ",
	} {
		w.run(query, func(t *testing.T) {
			var buckets []app.SalesBucket
			w.do("GET", "/analytics/sales?from=2026-03-10&to=2026-03-20&"+query, token, nil).ok(200, &buckets)
			got := ""
			for _, b := range buckets {
				if b.NetMinor != 0 || b.RefundedMinor != 0 {
					got += b.Bucket + " " + strconv.FormatInt(b.NetMinor, 10) + " " + strconv.FormatInt(b.RefundedMinor,
						10) + " "
				}
			}
			if got != want {
				t.Errorf("buckets: got %s, want %s", got, want)
			}
		})
	}
	var sums []app.Sales
	w.do("GET", "/analytics/summary?from=2026-03-16&to=2026-03-16", token, nil).ok(200, &sums)
	if sums[0].RefundedMinor != 600 || sums[0].Orders != 0 || sums[0].NetMinor != 0 {
		t.Errorf("sums of the day of the refunds: got %+v, want 600 refunded, no orders and no sales", sums)
	}
}
