package api

import (
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// eventRow is the entry of an event type in the catalogue.
type eventRow struct {
	name   app.EventType
	at     time.Time // of the example
	data   any       // of the example, in the Go type that the service emits
	always []string  // optional members of the data's type that this event type always has
}

// exampleDay is the evening on which all examples happen.
var exampleDay = time.Date(2026, 3, 14, 18, 0, 0, 250e6, time.UTC)

const (
	exampleStore    = app.StoreID("sto_019c530262d27c40a1b2c3d4e5f60718")
	exampleProduct  = app.ProductID("prd_019c530285fa7d55b2c3d4e5f6071829")
	exampleCustomer = app.CustomerID("cus_019ced78263a7e66a3d4e5f60718293a")
)

// eventRows is the catalogue of events with examples of their data, in the order of [app.EventTypes].
func eventRows() []eventRow {
	after := func(minutes int) time.Time { return exampleDay.Add(time.Duration(minutes) * time.Minute) }
	order := exampleOrder()
	placed := moveExample(order, app.OrderReceived, 1, after(0), 0)
	amended := moveExample(order, app.OrderConfirmed, 4, after(3), order.TotalMinor)
	amended.PreviousStatus = new(app.OrderReceived)
	amended.Items = slices.Clone(order.Items)
	amended.Items[1].Note = "With two spoons."
	confirmed := moveExample(order, app.OrderConfirmed, 3, after(2), order.TotalMinor)
	confirmed.PreviousStatus = new(app.OrderReceived)
	completed := moveExample(order, app.OrderCompleted, 6, after(48), order.TotalMinor)
	completed.PreviousStatus = new(app.OrderOutForDelivery)
	cancelled := moveExample(order, app.OrderCancelled, 4, after(5), order.TotalMinor)
	cancelled.PreviousStatus, cancelled.CancellationReason = new(app.OrderConfirmed), "The kitchen had to close."

	customer := exampleCustomerRow()
	known := customer
	known.Phone, known.LoyaltyPoints, known.TotalOrders = "+4915187654321", 26, 1
	known.Version, known.UpdatedAt = 2, app.At(after(80))

	product := exampleProductRow()
	changed := product
	changed.PriceMinor, changed.IsAvailable, changed.Orderable = 990, false, false
	changed.Version, changed.UpdatedAt = 2, app.At(after(90))

	reserved := exampleReservation(after(60))
	sure := reserved
	sure.Status, sure.Version, sure.UpdatedAt = app.ReservationConfirmed, 2, app.At(after(65))
	sure.ConfirmedBy, sure.ConfirmedAt = &app.ReservationActor{Realm: app.RealmTenant,
		ID: "usr_019c53019b9a7b31a0b1c2d3e4f50617"}, &sure.UpdatedAt
	off := sure
	off.Status, off.Version, off.UpdatedAt = app.ReservationCancelled, 3, app.At(after(70))
	off.CancellationReason = new("A guest is ill.")

	const transaction, provider = "pi_3MtwBwLkdIwHu7ix28a3tqPa", "STRIPE"
	const payment = app.PaymentID("pay_019ced823c7a7e66a3d4e5f607182930")
	paid := app.PaidOrder{ID: order.ID, Number: order.Number}
	return []eventRow{
		{app.EventOrderCreated, after(0), placed, nil},
		{app.EventOrderUpdated, after(3), app.OrderUpdated{
			Order: amended, ChangedFields: []string{"items"},
			ItemChanges: app.ItemChanges(placed.Items, amended.Items),
		}, nil},
		{app.EventOrderStatusUpdated, after(2), app.OrderStatusUpdated{Order: confirmed, NewStatus: confirmed.Status},
			nil},
		{app.EventOrderCompleted, after(48), completed, nil},
		{app.EventOrderCancelled, after(5), cancelled, []string{"cancellationReason"}},
		{app.EventPaymentSucceeded, after(1), app.PaymentSucceededData{
			OrderNumber: order.Number, AmountMinor: order.TotalMinor, Currency: order.Currency,
			Provider: provider, TransactionID: transaction, PaymentMethod: "card", CardLast4: "4242",
			PaymentID: payment, Order: paid,
		}, nil},
		{app.EventPaymentFailed, after(1), app.PaymentFailedData{
			OrderNumber: order.Number, ErrorCode: "card_declined", Provider: provider, TransactionID: transaction,
			PaymentID: payment, Order: paid,
		}, nil},
		{app.EventPaymentRefunded, after(75), app.PaymentRefundedData{
			OrderNumber: order.Number, AmountMinor: order.Items[1].TotalMinor, Currency: order.Currency,
			Reason: "The dessert was missing.",
			Type:   app.RefundPartial, TotalRefundedMinor: order.Items[1].TotalMinor, Provider: provider,
			TransactionID: transaction, PaymentID: payment, RefundID: "ref_019cedc61a3b7f01b2c3d4e5f6071829",
			Order: paid,
		}, nil},
		{app.EventCustomerCreated, after(-10), customer, nil},
		{app.EventCustomerUpdated, after(80), app.CustomerUpdated{Customer: known, UpdatedFields: []string{"phone"}},
			nil},
		{app.EventProductCreated, product.CreatedAt.Time, product, nil},
		{app.EventProductUpdated, after(90), app.ProductUpdated{
			Product: changed, ChangedFields: []string{"priceMinor", "isAvailable", "orderable"},
		}, nil},
		{app.EventReservationCreated, after(60), reserved, nil},
		{app.EventReservationConfirmed, after(65), sure, []string{"confirmedBy", "confirmedAt"}},
		{app.EventReservationCancelled, after(70), off, []string{"cancellationReason"}},
		{app.EventTestPing, after(95), app.TestPing{SubscriptionID: "whk_019c5828e1fa7f88b5e6f70819203142",
			Message: "This is a test."}, nil},
	}
}

func exampleCustomerRow() app.Customer {
	registered := app.At(exampleDay.Add(-10 * time.Minute))
	return app.Customer{
		ID: exampleCustomer, Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678",
		StoreID: exampleStore, Kind: app.CustomerRegistered, Metadata: map[string]string{}, Version: 1,
		CreatedAt: registered, UpdatedAt: registered,
	}
}

// exampleOrder is a delivery order of two pizzas and a dessert. The prices include 7 % tax.
func exampleOrder() app.Order {
	extras := exampleExtras()
	return app.Order{
		ID: "ord_019ced814dfa7d91a4e5f60718293a4b", Number: "1042", StoreID: exampleStore,
		StoreViewID:     "view_019c530263367a22b3c4d5e6f7081920",
		FulfillmentType: app.FulfillmentDelivery, Source: app.SourceWeb,
		Customer: app.OrderCustomer{
			ID: new(exampleCustomer), Name: "Ada Lovelace", Email: "ada@example.com", Phone: "+4915112345678",
		},
		Items: []app.OrderItem{
			{ID: "itm_019ced814dfa7b1aa2b3c4d5e6f70819", QuotedItem: app.QuotedItem{
				ProductID: new(exampleProduct), ProductName: "Pizza Margherita", SKU: "PZ-01", Quantity: 2,
				UnitPriceMinor: 1100, TotalMinor: 2200, TaxRatePPM: 70_000,
				Options: []app.OrderOption{{
					GroupID: extras.ID, GroupName: extras.Name, OptionID: extras.Options[0].ID,
					Name: extras.Options[0].Name, Quantity: 1, PriceMinor: extras.Options[0].PriceMinor,
				}},
				Note: "Cut into slices.",
			}},
			{ID: "itm_019ced814dfa7c2bb3c4d5e6f7081920", QuotedItem: app.QuotedItem{
				ProductID:   new(app.ProductID("prd_019c5302fb2a7ee6a1b2c3d4e5f60718")),
				ProductName: "Tiramisù", Quantity: 1,
				UnitPriceMinor: 650, TotalMinor: 650, TaxRatePPM: 70_000, Options: []app.OrderOption{},
			}},
		},
		SubtotalMinor: 2850, DeliveryFeeMinor: 250, TaxMinor: 173, DiscountMinor: 200, TotalMinor: 2900,
		Taxes:       []app.Tax{{RatePPM: 70_000, BaseMinor: 2477, TaxMinor: 173}},
		TaxIncluded: true, Currency: "EUR",
		Note: "No onions, please.",
		DeliveryAddress: &app.DeliveryAddress{
			Line1: "Torstraße 1", City: "Berlin", PostalCode: "10119", Country: "DE",
		},
		ExternalID: "POS-1042", Metadata: map[string]string{"terminal": "2"},
		BusinessDate: "2026-03-14", CreatedAt: app.At(exampleDay),
		PromisedAt: app.At(exampleDay.Add(45 * time.Minute)),
	}
}

// moveExample returns the order in a status, paid or not.
func moveExample(o app.Order, status app.OrderStatus, version int64, at time.Time, paid int64) app.Order {
	o.Status, o.Version, o.UpdatedAt = status, version, app.At(at)
	return o.Balanced(app.Balance{PaidMinor: paid})
}

func exampleProductRow() app.Product {
	opened := app.At(exampleDay.Add(-30 * 24 * time.Hour))
	return app.Product{
		ID: exampleProduct, StoreID: exampleStore, SKU: "PZ-01", Name: "Pizza Margherita",
		Description: "Tomate, Mozzarella, Basilikum", Category: "pizza",
		ImageURL: "https://cdn.example.com/margherita.jpg", PriceMinor: 950, Currency: "EUR",
		Prices: map[app.Currency]int64{"USD": 1100},
		Translations: map[string]app.ProductText{
			"en": {Name: "Pizza Margherita", Description: "Tomato, mozzarella, basil"},
		},
		TaxRatePPM: new(int64(70_000)), IsAvailable: true, StockQuantity: new(int64(40)), Orderable: true,
		OptionGroups: []app.OptionGroup{exampleExtras()}, Position: 10,
		ExternalID: "POS-17", Metadata: map[string]string{"station": "oven"}, Version: 1,
		CreatedAt: opened, UpdatedAt: opened,
	}
}

// exampleExtras is an option group with the extras of a pizza.
func exampleExtras() app.OptionGroup {
	return app.OptionGroup{
		ID: "opg_019c530285fa7c1ca1b2c3d4e5f60718", Name: "Extras", Translations: map[string]app.OptionText{},
		MaxSelections: 3, Options: []app.Option{{
			ID: "opt_019c530285fa7d2eb2c3d4e5f6071829", Name: "Oliven",
			Translations: map[string]app.OptionText{"en": {Name: "Olives"}}, PriceMinor: 150,
			Prices: map[app.Currency]int64{"USD": 175}, IsAvailable: true, MaxQuantity: 2,
		}},
	}
}

// exampleReservation is a table for four, a week after it was reserved.
func exampleReservation(made time.Time) app.Reservation {
	start := exampleDay.Truncate(time.Hour).Add(7*24*time.Hour + 30*time.Minute)
	return app.Reservation{
		ID: "res_019cedb83c7a7c13a2b3c4d5e6f70819", StoreID: exampleStore, Status: app.ReservationPending,
		Customer: app.ReservationCustomer{
			ID: new(exampleCustomer), Name: "Ada Lovelace", Email: "ada@example.com", Phone: "+4915112345678",
		},
		PartySize: 4, StartAt: app.At(start), EndAt: app.At(start.Add(2 * time.Hour)), Minutes: 120,
		Timezone: "Europe/Berlin", TableLabel: "Terrace 4",
		Notes: "A high chair, please.", Metadata: map[string]string{},
		Version: 1, CreatedAt: app.At(made), UpdatedAt: app.At(made),
	}
}
