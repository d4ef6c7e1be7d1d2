package api

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// eventRow is what the catalogue says of a type of events.
type eventRow struct {
	name        app.EventType
	description string
	at          time.Time // of the example
	data        any       // of the example, in the very type that the service emits
	always      []string  // what other events may lack of that type's members and this one never does
}

// exampleDay is the evening on which all examples happen.
var exampleDay = time.Date(2026, 3, 14, 18, 0, 0, 250e6, time.UTC)

const (
	exampleStore    = app.StoreID("sto_019c530262d27c40a1b2c3d4e5f60718")
	exampleProduct  = app.ProductID("prd_019c530285fa7d55b2c3d4e5f6071829")
	exampleCustomer = app.CustomerID("cus_019ced78263a7e66a3d4e5f60718293a")
)

// eventRows is the catalogue: the spec's table (Events) with the data of contract §5, in the
// order of [app.EventTypes].
func eventRows() []eventRow {
	after := func(minutes int) time.Time { return exampleDay.Add(time.Duration(minutes) * time.Minute) }
	order := exampleOrder()
	placed := moveExample(order, app.OrderReceived, 1, after(0), 0)
	confirmed := moveExample(order, app.OrderConfirmed, 3, after(2), order.TotalMinor)
	confirmed.PreviousStatus = new(app.OrderReceived)
	completed := moveExample(order, app.OrderCompleted, 6, after(48), order.TotalMinor)
	completed.PreviousStatus = new(app.OrderOutForDelivery)
	cancelled := moveExample(order, app.OrderCancelled, 4, after(5), order.TotalMinor)
	cancelled.PreviousStatus, cancelled.CancellationReason = new(app.OrderConfirmed), "The kitchen had to close."

	customer := app.Customer{
		ID: exampleCustomer, Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678",
		StoreID: exampleStore, Kind: app.CustomerRegistered, Version: 1, CreatedAt: app.At(after(-10)), UpdatedAt: app.At(after(-10)),
	}
	known := customer
	known.Phone, known.LoyaltyPoints, known.TotalOrders = "+4915187654321", 23, 1
	known.Version, known.UpdatedAt = 2, app.At(after(80))

	product := exampleProductRow()
	changed := product
	changed.PriceMinor, changed.IsAvailable, changed.Version, changed.UpdatedAt = 990, false, 2, app.At(after(90))

	reserved := exampleReservation(after(60))
	sure := reserved
	sure.Status, sure.Version, sure.UpdatedAt = app.ReservationConfirmed, 2, app.At(after(65))
	sure.ConfirmedBy, sure.ConfirmedAt = &app.ReservationActor{Realm: app.RealmTenant, ID: "usr_019c53019b9a7b31a0b1c2d3e4f50617"}, &sure.UpdatedAt
	off := sure
	off.Status, off.Version, off.UpdatedAt, off.CancellationReason = app.ReservationCancelled, 3, app.At(after(70)), new("A guest is ill.")

	const transaction, provider = "pi_3MtwBwLkdIwHu7ix28a3tqPa", "STRIPE"
	return []eventRow{
		{app.EventOrderCreated, "A new order was placed, from any source. The data is the whole order.", after(0), placed, nil},
		{app.EventOrderStatusUpdated, "The status of an order changed, to whatever. The data is the order with the status before and the new one.",
			after(2), app.OrderStatusUpdated{Order: confirmed, NewStatus: confirmed.Status}, nil},
		{app.EventOrderCompleted, "An order was completed; order.status_updated tells of it as well. The data is the whole order.", after(48), completed, nil},
		{app.EventOrderCancelled, "An order was cancelled, by staff or by the system; order.status_updated tells of it as well. The data is the order with cancellationReason.",
			after(5), cancelled, []string{"cancellationReason"}},
		{app.EventPaymentSucceeded, "A payment was captured.", after(1), app.PaymentSucceededData{
			OrderNumber: order.Number, AmountMinor: order.TotalMinor, Currency: order.Currency,
			Provider: provider, TransactionID: transaction, PaymentMethod: "card", CardLast4: "4242",
		}, nil},
		{app.EventPaymentFailed, "An attempt to pay failed.", after(1), app.PaymentFailedData{
			OrderNumber: order.Number, ErrorCode: "card_declined", Provider: provider,
		}, nil},
		{app.EventPaymentRefunded, "A payment was refunded, in full or in part.", after(75), app.PaymentRefundedData{
			OrderNumber: order.Number, AmountMinor: order.Items[1].TotalMinor, Currency: order.Currency, Reason: "The dessert was missing.",
			Type: app.RefundPartial, TotalRefundedMinor: order.Items[1].TotalMinor, Provider: provider, TransactionID: transaction,
		}, nil},
		{app.EventCustomerCreated, "A customer registered, or a guest ordered for the first time. The data is the customer's profile.", after(-10), customer, nil},
		{app.EventCustomerUpdated, "A customer's profile changed. The data is the profile with the names of what changed in it.",
			after(80), app.CustomerUpdated{Customer: known, UpdatedFields: []string{"phone"}}, nil},
		{app.EventProductCreated, "A product was added to the menu. The data is the whole product.", product.CreatedAt.Time, product, nil},
		{app.EventProductUpdated, "A product changed, or was taken off the menu for good: deletedAt is among changedFields then. The data is the product with the names of what changed in it.",
			after(90), app.ProductUpdated{Product: changed, ChangedFields: []string{"priceMinor", "isAvailable"}}, nil},
		{app.EventReservationCreated, "A table was reserved. The data is the whole reservation.", after(60), reserved, nil},
		{app.EventReservationConfirmed, "Staff confirmed a reservation. The data is the reservation with who confirmed it.",
			after(65), sure, []string{"confirmedBy", "confirmedAt"}},
		{app.EventReservationCancelled, "A reservation was cancelled. The data is the reservation with cancellationReason, which may be empty.",
			after(70), off, []string{"cancellationReason"}},
		{app.EventTestPing, "Somebody asked for a test of the webhook. It is sent once, to this webhook alone, and cannot be subscribed to.",
			after(95), app.TestPing{SubscriptionID: "whk_019c5828e1fa7f88b5e6f70819203142", Message: "This is a test."}, nil},
	}
}

// exampleOrder is two pizzas and a dessert, brought, at 7 % included in the prices.
func exampleOrder() app.Order {
	return app.Order{
		ID: "ord_019ced814dfa7d91a4e5f60718293a4b", Number: "1042", StoreID: exampleStore, StoreViewID: "view_019c530263367a22b3c4d5e6f7081920",
		FulfillmentType: app.FulfillmentDelivery, Source: app.SourceWeb,
		Customer: app.OrderCustomer{ID: exampleCustomer, Name: "Ada Lovelace", Email: "ada@example.com", Phone: "+4915112345678"},
		Items: []app.OrderItem{
			{ProductID: exampleProduct, ProductName: "Pizza Margherita", Quantity: 2, UnitPriceMinor: 950, TotalMinor: 1900},
			{ProductID: "prd_019c5302fb2a7ee6a1b2c3d4e5f60718", ProductName: "Tiramisù", Quantity: 1, UnitPriceMinor: 650, TotalMinor: 650},
		},
		SubtotalMinor: 2550, DeliveryFeeMinor: 250, TaxMinor: 154, DiscountMinor: 200, TotalMinor: 2600, TaxIncluded: true, Currency: "EUR",
		Note: "No onions, please.", DeliveryAddress: &app.DeliveryAddress{Line1: "Torstraße 1", City: "Berlin", PostalCode: "10119", Country: "DE"},
		BusinessDate: "2026-03-14", CreatedAt: app.At(exampleDay),
	}
}

// moveExample returns the order in a status, paid or not.
func moveExample(o app.Order, status app.OrderStatus, version int64, at time.Time, paid int64) app.Order {
	o.Status, o.Version, o.UpdatedAt = status, version, app.At(at)
	o.PaidMinor, o.PaymentStatus = paid, app.PaymentStatusOf(o.TotalMinor, paid, 0)
	return o
}

func exampleProductRow() app.Product {
	opened := app.At(exampleDay.Add(-30 * 24 * time.Hour))
	return app.Product{
		ID: exampleProduct, StoreID: exampleStore, SKU: "PZ-01", Name: "Pizza Margherita", Description: "Tomate, Mozzarella, Basilikum", Category: "pizza",
		ImageURL: "https://cdn.example.com/margherita.jpg", PriceMinor: 950, Currency: "EUR", Prices: map[app.Currency]int64{"USD": 1100},
		Translations: map[string]app.ProductText{"en": {Name: "Pizza Margherita", Description: "Tomato, mozzarella, basil"}},
		TaxRatePPM:   new(int64(70_000)), IsAvailable: true, StockQuantity: new(int64(40)), Version: 1, CreatedAt: opened, UpdatedAt: opened,
	}
}

// exampleReservation is a table for four, a week after it was reserved.
func exampleReservation(made time.Time) app.Reservation {
	start := exampleDay.Truncate(time.Hour).Add(7*24*time.Hour + 30*time.Minute)
	return app.Reservation{
		ID: "res_019cedb83c7a7c13a2b3c4d5e6f70819", StoreID: exampleStore, Status: app.ReservationPending,
		Customer:  app.ReservationCustomer{ID: new(exampleCustomer), Name: "Ada Lovelace", Email: "ada@example.com", Phone: "+4915112345678"},
		PartySize: 4, StartAt: app.At(start), EndAt: app.At(start.Add(2 * time.Hour)), Timezone: "Europe/Berlin", Notes: "A high chair, please.",
		Version: 1, CreatedAt: app.At(made), UpdatedAt: app.At(made),
	}
}
