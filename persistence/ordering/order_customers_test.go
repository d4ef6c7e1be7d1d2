package ordering_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// An order changes a customer's counters but neither the version nor the profile.
func TestOrdersKeepCustomerVersion(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	payment, _, err := c.pay(aPayment("pi_1", 1900))
	must(t, err)
	c.complete()
	_, _, err = c.refund(payment.ID, "re_1", 1000)
	must(t, err)
	got, err := c.db.Customer(t.Context(), c.store, *c.order.Customer.ID)
	must(t, err)
	want := app.Customer{
		ID: *c.order.Customer.ID, Email: "ada@example.com", FirstName: "Ada", LoyaltyPoints: 9, TotalOrders: 1,
		StoreID: c.store, Kind: app.CustomerGuest, Metadata: map[string]string{}, Version: 1,
		CreatedAt: app.At(noon), UpdatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("customer (-want +got): %s", diff)
	}
	if n := c.events(app.EventCustomerUpdated); n != 0 {
		t.Errorf("customer.updated events: got %d, want 0", n)
	}
}
