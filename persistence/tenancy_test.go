package persistence_test

import (
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// firstPage is the limit of a page of a list.
var firstPage = app.PageLimit{Rows: 100, Bytes: app.MaxEvent}

// Every method that takes a store is called with the ids of one store, for another store of the same
// website, for a store of another website, and for unknown stores. None of them finds a row.
func TestStoresAreIsolated(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	subscription := r.Subscribe(t, db, 0, app.EventOrderCreated)
	order, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil)
	must(t, err)
	delivery := claim(t, db)[0].ID
	delivered, err := db.Delivery(t.Context(), r.Stores[0], delivery)
	must(t, err)
	event := delivered.EventID
	at, err := db.EventHead(t.Context(), r.Stores[0])
	must(t, err)
	attempt(t, db, delivery, 1, app.AttemptDeadLetter, 0)
	attempts, _, err := db.Attempts(t.Context(), r.Stores[0], subscription.ID, app.AttemptFilter{}, 1, 1)
	must(t, err)
	ping, err := db.CreateTest(t.Context(), noon, r.Stores[0], subscription.ID)
	must(t, err)
	completed := r.PlaceOne(t, db)
	_, err = db.ChangeOrderStatus(t.Context(), noon, r.Stores[0], completed.ID, 0,
		app.OrderStatusChange{To: app.OrderCompleted})
	must(t, err)
	payment, err := db.RecordPayment(t.Context(), noon, r.Stores[0], completed.ID, aPayment("pi_1", 1000), nil)
	must(t, err)
	orderOfMine := r.Order(t, db, 0)
	replay, err := db.CreateBulkReplay(t.Context(), noon, r.Stores[0], app.Actor{}, app.NewBulkReplay{
		SubscriptionID: subscription.ID, DeliveryStatus: app.ReplayedDeadLetters, From: app.At(noon),
		To: app.At(noon.Add(time.Hour)),
	}, nil)
	must(t, err)
	customer, err := db.RegisterCustomer(t.Context(), noon, r.Stores[0], app.Actor{},
		identity.NewCustomer{Email: "ada@example.com", PasswordHash: "-"}, time.Hour)
	must(t, err)
	reservation, err := db.Reserve(t.Context(), noon, r.Stores[0], app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 1, StartAt: app.At(noon),
	}, nil)
	must(t, err)
	ada := customer.Customer.ID
	address, err := db.AddAddress(t.Context(), noon, app.Principal{StoreID: r.Stores[0]}, ada, app.Address{}, nil)
	must(t, err)
	login, err := db.CustomerLoginByEmail(t.Context(), r.Stores[0], "ada@example.com")
	must(t, err)

	_, err = db.CreateProduct(t.Context(), noon, r.Stores[0],
		app.Product{Name: "Pizza", Currency: "EUR", Category: "only here"}, nil)
	must(t, err)

	// deleted marks the subscription as deleted until the returned function is called.
	deleted := func() (restore func()) {
		mark := func(at *time.Time) {
			t.Helper()
			_, err := db.System().DB.ExecContext(t.Context(), "UPDATE subscriptions SET deleted_at = $1 WHERE id = $2", at,
				subscription.ID)
			must(t, err)
		}
		mark(&noon)
		return func() { mark(nil) }
	}
	methods := map[string]func(store app.StoreID) (int, error){
		"Order": func(s app.StoreID) (int, error) { _, err := db.Order(t.Context(), s, order.ID, ""); return 1, err },
		"Subscription": func(s app.StoreID) (int, error) {
			_, err := db.Subscription(t.Context(), s, subscription.ID)
			return 1, err
		},
		"Delivery": func(s app.StoreID) (int, error) { _, err := db.Delivery(t.Context(), s, delivery); return 1, err },
		"Event":    func(s app.StoreID) (int, error) { _, err := db.Event(t.Context(), s, event); return 1, err },
		"Events": func(s app.StoreID) (int, error) {
			all, _, err := db.Events(t.Context(), s, app.EventFilter{}, true, 0, app.PageLimit{Rows: 100, Bytes: app.MaxEvent})
			return count1(all, func(e app.StoredEvent) bool { return e.ID == event }), err
		},
		"EventHead": func(s app.StoreID) (int, error) {
			head, err := db.EventHead(t.Context(), s)
			return count1([]int64{head}, func(position int64) bool { return position == at }), err
		},
		"HasEventsAfter": func(s app.StoreID) (int, error) {
			has, err := db.HasEventsAfter(t.Context(), s, at)
			return count1([]bool{has}, func(has bool) bool { return has }), err
		},
		"Replay": func(s app.StoreID) (int, error) {
			_, err := db.Replay(t.Context(), noon, s, app.Actor{}, delivery)
			return 1, err
		},
		"BulkReplay": func(s app.StoreID) (int, error) {
			_, err := db.BulkReplay(t.Context(), s, "", replay.ID)
			return 1, err
		},
		"BulkReplays": func(s app.StoreID) (int, error) {
			all, err := db.BulkReplays(t.Context(), s, "", "", 100)
			return len(all), err
		},
		"ContinueBulkReplay": func(s app.StoreID) (int, error) {
			_, err := db.ContinueBulkReplay(t.Context(), noon, s, replay.ID, app.ReplayLimits{})
			return 1, err
		},
		"CancelBulkReplay": func(s app.StoreID) (int, error) {
			_, err := db.CancelBulkReplay(t.Context(), noon, s, replay.ID, "test")
			return 1, err
		},
		"CreateBulkReplay": func(s app.StoreID) (int, error) {
			got, err := db.CreateBulkReplay(t.Context(), noon.Add(time.Hour), s, app.Actor{}, app.NewBulkReplay{
				DeliveryStatus: app.ReplayedDeadLetters, From: app.At(noon), To: app.At(noon.Add(time.Hour)),
				DryRun: true,
			}, nil)
			return int(*got.Matched), err
		},
		"TickWatchdog": func(s app.StoreID) (int, error) {
			tick, err := db.TickWatchdog(t.Context(), noon.Add(time.Hour), s, subscription.ID,
				app.WatchdogPolicy{Day: time.Hour, Days: 7})
			return map[bool]int{true: 1}[tick.Ended != app.WatchDeleted], err
		},
		"Attempts": func(s app.StoreID) (int, error) {
			attempts, _, err := db.Attempts(t.Context(), s, subscription.ID, app.AttemptFilter{}, 1, 100)
			return len(attempts), err
		},
		"Stats": func(s app.StoreID) (int, error) {
			stats, err := db.Stats(t.Context(), s, subscription.ID, app.At(noon), app.At(noon.Add(24*time.Hour)),
				app.ByDay)
			return stats.Totals.Failed, err
		},
		"AttemptDetail": func(s app.StoreID) (int, error) {
			_, err := db.AttemptDetail(t.Context(), s, subscription.ID, attempts[0].ID)
			return 1, err
		},
		"OpenDeliveries": func(s app.StoreID) (int, error) {
			defer deleted()()
			open, err := db.OpenDeliveries(t.Context(), s, subscription.ID, "", 100)
			return len(open), err
		},
		"CancelQueued": func(s app.StoreID) (int, error) {
			defer deleted()()
			return db.CancelQueued(t.Context(), noon, s, subscription.ID, 1)
		},
		"CreateTest": func(s app.StoreID) (int, error) {
			_, err := db.CreateTest(t.Context(), noon, s, subscription.ID)
			return 1, err
		},
		"OutgoingTest": func(s app.StoreID) (int, error) {
			_, err := db.OutgoingTest(t.Context(),
				app.WebhookTest{StoreID: s, SubscriptionID: subscription.ID, EventID: ping.EventID})
			return 1, err
		},
		"ChangeSubscription": func(s app.StoreID) (int, error) {
			no := false
			_, err := db.ChangeSubscription(t.Context(), noon, s, app.Actor{}, subscription.ID,
				app.SubscriptionChange{IsActive: &no}, 0)
			return 1, err
		},
		"RotateSecret": func(s app.StoreID) (int, error) {
			_, err := db.RotateSecret(t.Context(), noon, s, app.Actor{}, subscription.ID,
				app.NewSecret("another secret"), 0, 0)
			return 1, err
		},
		"DeleteSubscription": func(s app.StoreID) (int, error) {
			return 1, db.DeleteSubscription(t.Context(), noon, s, app.Actor{}, subscription.ID, 0)
		},
		"Products": func(s app.StoreID) (int, error) {
			products, _, err := db.Products(t.Context(), noon, s, app.ProductFilter{}, persistence.Cursor{}, firstPage)
			return count1(products, func(p app.ListedProduct) bool { return p.ID == r.Menu[0].ID }), err
		},
		"AuditTrail": func(s app.StoreID) (int, error) {
			all, _, err := db.AuditTrail(t.Context(), s, identity.AuditFilter{Action: app.AuditWebhookCreated},
				persistence.Cursor{}, firstPage)
			return len(all), err
		},
		"Orders": func(s app.StoreID) (int, error) {
			all, _, err := db.Orders(t.Context(), s, "", app.OrderFilter{}, persistence.Cursor{}, firstPage)
			return count1(all, func(o app.Order) bool { return o.ID == order.ID }), err
		},
		"QuoteOrder": func(s app.StoreID) (int, error) {
			_, err := db.QuoteOrder(t.Context(), noon, s, orderOfMine)
			return 1, err
		},
		"ChangeOrderStatus": func(s app.StoreID) (int, error) {
			_, err := db.ChangeOrderStatus(t.Context(), noon, s, order.ID, 0,
				app.OrderStatusChange{To: app.OrderConfirmed})
			return 1, err
		},
		"OrderHistory": func(s app.StoreID) (int, error) {
			_, _, err := db.OrderHistory(t.Context(), s, order.ID, "", 0, firstPage)
			return 1, err
		},
		"Product": func(s app.StoreID) (int, error) {
			_, err := db.Product(t.Context(), noon, s, r.Menu[0].ID)
			return 1, err
		},
		"Categories": func(s app.StoreID) (int, error) {
			all, err := db.Categories(t.Context(), s, "", 100)
			return count1(all, func(one app.Category) bool { return one.Name == "only here" }), err
		},
		"ChangeProduct": func(s app.StoreID) (int, error) {
			_, err := db.ChangeProduct(t.Context(), noon, s, app.Actor{}, r.Menu[0].ID, 0,
				func(p *app.Product) error { p.Category += "x"; return nil })
			return 1, err
		},
		"DeleteProduct": func(s app.StoreID) (int, error) {
			return 1, db.DeleteProduct(t.Context(), noon, s, r.Menu[0].ID, 0)
		},
		"ChangePlan": func(s app.StoreID) (int, error) {
			_, err := db.ChangePlan(t.Context(), noon, s, app.Actor{}, app.PlanEnterprise)
			return own(s, r.Stores[0]), err
		},
		"Sold": func(s app.StoreID) (int, error) {
			sold, _, _, err := db.Sold(t.Context(), s,
				app.Period{From: noon.AddDate(0, 0, -9), To: noon.AddDate(0, 0, 9)}, true)
			return min(len(sold), 1), err
		},
		"ProductSales": func(s app.StoreID) (int, error) {
			sold, err := db.ProductSales(t.Context(), s,
				app.Period{From: noon.AddDate(0, 0, -9), To: noon.AddDate(0, 0, 9)}, ordering.ProductsCursor{}, 100)
			return len(sold), err
		},
		"CustomerCounts": func(s app.StoreID) (int, error) {
			counts, err := db.CustomerCounts(t.Context(), s,
				app.Period{From: noon.AddDate(0, 0, -9), To: noon.AddDate(0, 0, 9)})
			return min(int(counts.GuestOrders), 1), err
		},
		"Country": func(s app.StoreID) (int, error) {
			_, err := db.Country(t.Context(), s)
			return own(s, r.Stores[0]), err
		},
		"Settings": func(s app.StoreID) (int, error) {
			_, err := db.Settings(t.Context(), s)
			return own(s, r.Stores[0]), err
		},
		"ChangeSettings": func(s app.StoreID) (int, error) {
			_, err := db.ChangeSettings(t.Context(), noon, s, app.Actor{}, 0,
				func(n *app.Settings) error { n.Seats++; return nil })
			return own(s, r.Stores[0]), err
		},
		"Reservation": func(s app.StoreID) (int, error) {
			_, err := db.Reservation(t.Context(), s, reservation.ID)
			return 1, err
		},
		"Reservations": func(s app.StoreID) (int, error) {
			all, _, err := db.Reservations(t.Context(), s, app.ReservationFilter{}, persistence.Cursor{}, firstPage)
			return count1(all, func(one app.Reservation) bool { return one.ID == reservation.ID }), err
		},
		"EraseCustomer": func(s app.StoreID) (int, error) {
			_, err := db.EraseCustomerBodies(t.Context(), noon, s, customer.Customer.ID, "", 1)
			if err == nil {
				err = db.EraseCustomer(t.Context(), noon, app.Principal{StoreID: s}, app.Actor{}, customer.Customer.ID,
					nil)
			}
			if app.CodeOf(err) == app.CodeConflict { // the reservation
				return 1, nil
			}
			return 1, err
		},
		"ChangeReservation": func(s app.StoreID) (int, error) {
			_, err := db.ChangeReservation(t.Context(), noon, s, app.Actor{}, reservation.ID, 0,
				func(r *app.Reservation) error {
					r.Notes = "x"
					return nil
				})
			return 1, err
		},
		"ChangeReservationStatus": func(s app.StoreID) (int, error) {
			_, err := db.ChangeReservationStatus(t.Context(), noon, s, reservation.ID, 0,
				app.ReservationStatusChange{To: app.ReservationPending})
			return 1, err
		},
		"Reserve": func(s app.StoreID) (int, error) {
			_, err := db.Reserve(t.Context(), noon, s,
				app.NewReservation{CustomerID: customer.Customer.ID, PartySize: 1, StartAt: app.At(noon)}, nil)
			return 1, err
		},
		"Subscriptions": func(s app.StoreID) (int, error) {
			all, err := db.Subscriptions(t.Context(), s)
			return len(all), err
		},
		"Deliveries": func(s app.StoreID) (int, error) {
			all, err := db.Deliveries(t.Context(), s, app.DeliveryFilter{}, "", 100)
			return len(all), err
		},
		"CustomerLoginByEmail": func(s app.StoreID) (int, error) {
			_, err := db.CustomerLoginByEmail(t.Context(), s, "ada@example.com")
			return 1, err
		},
		"StartCustomerSession": func(s app.StoreID) (int, error) {
			_, err := db.StartCustomerSession(t.Context(), noon, s, app.Actor{}, login, "", time.Hour)
			return 1, err
		},
		"AuthenticateCustomer": func(s app.StoreID) (int, error) {
			_, err := db.AuthenticateCustomer(t.Context(), customer.ID, customer.Customer.ID, s)
			return 1, err
		},
		"RecordPayment": func(s app.StoreID) (int, error) {
			_, err := db.RecordPayment(t.Context(), noon, s, completed.ID, aPayment("pi_1", 1000), nil)
			return 1, err
		},
		"Payments": func(s app.StoreID) (int, error) {
			all, _, err := db.Payments(t.Context(), s, completed.ID, "", persistence.Cursor{}, firstPage)
			return len(all), err
		},
		"RefundPayment": func(s app.StoreID) (int, error) {
			_, err := db.RefundPayment(t.Context(), noon, s, payment.ID,
				app.NewRefund{AmountMinor: 1, Reason: "x", ProviderRefundID: "re_1"}, app.Actor{}, nil)
			return 1, err
		},
		"Customer": func(s app.StoreID) (int, error) { _, err := db.Customer(t.Context(), s, ada); return 1, err },
		"Customers": func(s app.StoreID) (int, error) {
			all, _, err := db.Customers(t.Context(), s, "", app.CustomerFilter{Query: "ada"}, persistence.Cursor{}, firstPage)
			return count1(all, func(c app.Customer) bool { return c.ID == ada }), err
		},
		"ChangeCustomer": func(s app.StoreID) (int, error) {
			_, err := db.ChangeCustomer(t.Context(), noon, app.Principal{StoreID: s}, app.Actor{}, ada, 0,
				func(c *app.Customer) error { c.LastName += "x"; return nil })
			return 1, err
		},
		"Addresses": func(s app.StoreID) (int, error) {
			all, err := db.Addresses(t.Context(), s, ada, persistence.Cursor{}, 100)
			return min(len(all), 1), err
		},
		"AddAddress": func(s app.StoreID) (int, error) {
			_, err := db.AddAddress(t.Context(), noon, app.Principal{StoreID: s}, ada, app.Address{}, nil)
			return 1, err
		},
		"ChangeAddress": func(s app.StoreID) (int, error) {
			_, err := db.ChangeAddress(t.Context(), noon, app.Principal{StoreID: s}, ada, address.ID, 0,
				func(a *app.Address) error { a.Notes += "x"; return nil })
			return 1, err
		},
		"DeleteAddress": func(s app.StoreID) (int, error) {
			return 1, db.DeleteAddress(t.Context(), noon, app.Principal{StoreID: s}, ada, address.ID, 0)
		},
		"LoyaltyEntries": func(s app.StoreID) (int, error) {
			all, err := db.LoyaltyEntries(t.Context(), s, *completed.Customer.ID, persistence.Cursor{}, 10)
			return len(all), err
		},
		"PlaceOrder": func(s app.StoreID) (int, error) {
			_, err := db.PlaceOrder(t.Context(), noon, s, orderOfMine, nil)
			return 1, err
		},
	}
	// These methods would change the rows that the following methods need.
	destructive := []string{
		"Replay", "DeleteSubscription", "CancelQueued", "DeleteProduct", "DeleteAddress", "EraseCustomer",
	}
	for name, method := range methods {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(destructive, name) {
				if n, err := method(r.Stores[0]); err != nil || n != 1 {
					t.Errorf("%s in the store of the rows: got %d and error %v, want 1", name, n, err)
				}
			}
			for which, store := range map[string]app.StoreID{"sibling": r.Stores[1], "foreign": foreign.Stores[0],
				"unknown": "sto_unknown", "empty": ""} {
				n, err := method(store)
				if err == nil && n != 0 || err != nil &&
					!slices.Contains([]app.Code{app.CodeNotFound, app.CodeValidationFailed, app.CodeTokenRevoked},
						app.CodeOf(err)) {
					t.Errorf("%s in the %s store: got %d and error %v, want 0", name, which, n, err)
				}
			}
		})
	}
	must(t, db.EndCustomerSession(t.Context(), noon, app.Actor{}, app.Principal{
		StoreID: r.Stores[1], CustomerID: customer.Customer.ID, SessionID: customer.ID,
	}))
	if _, err := db.AuthenticateCustomer(t.Context(), customer.ID, customer.Customer.ID, r.Stores[0]); err != nil {
		t.Errorf("customer's session after EndCustomerSession in another store: got error %v, want none", err)
	}
	if _, err := db.Subscription(t.Context(), r.Stores[0], subscription.ID); err != nil {
		t.Errorf("subscription after DeleteSubscription in another store: got error %v, want none", err)
	}
	if all, err := db.Addresses(t.Context(), r.Stores[0], ada, persistence.Cursor{}, 100); err != nil ||
		count1(all, func(a app.Address) bool { return a.ID == address.ID }) != 1 {
		t.Errorf("addresses after DeleteAddress in another store: got %+v and error %v, want also %s", all, err,
			address.ID)
	}
	if _, err := db.Product(t.Context(), noon, r.Stores[0], r.Menu[0].ID); err != nil {
		t.Errorf("product after DeleteProduct in another store: got error %v, want none", err)
	}
	if d, err := db.Delivery(t.Context(), r.Stores[0], delivery); err != nil || d.Status != app.DeliveryDeadLetter {
		t.Errorf("delivery after Replay in another store: got %+v and error %v, want a dead letter", d, err)
	}
	for name, test := range map[string]struct {
		principal app.Principal
		want      app.Code
	}{
		"the owner of both": {app.Principal{UserID: r.Owner.ID, StoreID: r.Stores[1], WebsiteID: r.Website},
			app.CodeStoreMismatch},
		"a user of another website": {app.Principal{UserID: foreign.Owner.ID, StoreID: foreign.Stores[0],
			WebsiteID: foreign.Website}, app.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if err := db.MismatchOrNotFound(t.Context(), persistence.Orders, string(order.ID),
				test.principal); app.CodeOf(err) != test.want {
				t.Errorf("MismatchOrNotFound for %s: got error %v, want %s", name, err, test.want)
			}
		})
	}
}

// own returns 1 for the store of the rows and 0 for other stores, whose own rows the method returns.
func own(store, mine app.StoreID) int {
	if store == mine {
		return 1
	}
	return 0
}

func count1[T any](all []T, f func(T) bool) (n int) {
	for _, one := range all {
		if f(one) {
			n++
		}
	}
	return n
}
