package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/comanda-dev/comanda/api/openapi"
	"github.com/comanda-dev/comanda/app"
)

// schemaNames are the names of schemas that differ from those of their Go types. The data of events and exports is of
// types that responses extend.
var schemaNames = map[string]string{
	"errorBody": "Error", "Subscription": "Webhook", "Code": "ErrorCode",
	"Customer": "CustomerData", "Order": "OrderData", "Reservation": "ReservationData",
	"apiKeyOut": "IssuedAPIKey", "invitationOut": "IssuedInvitation",
}

// tags group the operations by the first segment of their path, in the order in which a reader needs them.
var tags = []openapi.Topic{
	{Name: "Authentication", Segments: []string{"auth"},
		Description: "Log in as a user, and manage one's own sessions, password and one-time passwords."},
	{Name: "Orders", Segments: []string{"orders"}, Description: "Quote, place and follow orders."},
	{Name: "Payments", Segments: []string{"payments"}, Description: "Record payments and refunds of orders."},
	{Name: "Products", Segments: []string{"products"}, Description: "The menu: products, options, prices and stock."},
	{Name: "Reservations", Segments: []string{"reservations"}, Description: "Reserve tables."},
	{Name: "Customers", Segments: []string{"customers"}, Description: "Profiles, addresses and loyalty points."},
	{Name: "Customer authentication", Segments: []string{"customer-auth"},
		Description: "Register and log in as a customer of a store."},
	{Name: "Webhooks", Segments: []string{"webhooks"}, Description: "Register URLs that receive events."},
	{Name: "Events", Segments: []string{"events"}, Description: "The requests that the service sends to webhooks."},
	{Name: "Deliveries", Segments: []string{"deliveries", "dead-letters", "replays"},
		Description: "Follow and replay the deliveries of events."},
	{Name: "API keys", Segments: []string{"api-keys"}, Description: "Credentials of other services."},
	{Name: "Stores", Segments: []string{"store", "stores", "settings"},
		Description: "Stores with their views, opening hours and settings."},
	{Name: "Websites", Segments: []string{"website", "billing"}, Description: "The website of a store, and its plan."},
	{Name: "Users", Segments: []string{"users", "invitations"}, Description: "Members of a store and invitations."},
	{Name: "Analytics", Segments: []string{"analytics"}, Description: "Sales and customers of a period."},
	{Name: "Audit trail", Segments: []string{"audit"}, Description: "Security-relevant actions in a store."},
	{Name: "Platform", Segments: []string{"platform"}, Description: "For platform administrators."},
}

// servers are the addresses of the API.
var servers = []openapi.Server{
	{URL: "/", Description: "The server of this document."},
	{URL: "https://{host}", Description: "Any installation.", Variable: "host", Default: "localhost:8443",
		Meaning: "The host and port of the installation."},
}

// errorCodes are all error codes.
func errorCodes() (all []string) {
	for code := range statuses {
		all = append(all, string(code))
	}
	slices.Sort(all)
	return all
}

// failures are the examples of the error responses, by status: each has the first code with this status.
func failures() map[int]any {
	examples := map[int]any{}
	for _, code := range errorCodes() {
		status := statuses[app.Code(code)]
		if examples[status] != nil {
			continue
		}
		body := errorBody{
			StatusCode: status, Code: app.Code(code), Message: meanings[app.Code(code)],
			RequestID: exampleID[app.RequestID](),
		}
		if code == string(app.CodeValidationFailed) {
			body.Details = []app.Detail{{Path: "items[0].quantity", Message: "must be at least 1"}}
		}
		examples[status] = failure{Error: body}
	}
	return examples
}

// samples are the examples of resources whose members depend on each other.
func samples() []any {
	order := moveExample(exampleOrder(), app.OrderReceived, 1, exampleDay, 0)
	reservation := exampleReservation(exampleDay)
	disabled := false
	customer := exampleCustomerRow()
	return []any{
		order, orderOut{order, order.Status.Transitions(order.FulfillmentType, true)},
		reservation, reservationOut{reservation, reservation.Status.Transitions()},
		customer, customerOut{customer, &disabled},
		exampleProductRow(),
	}
}

// webhookHeaders are the headers of a request to a webhook.
var webhookHeaders = []openapi.Header{
	{Name: "X-Webhook-Id", Description: "Id of the event.", Example: "evt_019ced814dfa7d1fa2b3c4d5e6f70000"},
	{Name: "X-Webhook-Timestamp", Description: "Unix time in seconds.", Example: "1773511200"},
	{Name: "X-Webhook-Signature", Description: "Hex HMAC-SHA256 of `{timestamp}.{body}`.",
		Example: "b57878b03445e982ec8e93a4a483e09b19cb8b945209ec3e51f7018bee7ed843"},
}

// webhookEvents describes the requests to webhooks.
func webhookEvents() (events []openapi.Event) {
	for i, row := range eventRows() {
		example, err := exampleOf(row, i)
		must(err)
		events = append(events, openapi.Event{
			Type: string(row.name), Description: row.description, Envelope: app.Envelope{}, Data: row.data,
			Always: row.always, Example: json.RawMessage(example), Headers: webhookHeaders, Tag: "Events",
		})
	}
	return events
}

// exampleID returns an id that stays the same.
func exampleID[T app.ID]() T {
	prefix, _, _ := strings.Cut(string(app.NewID[T](exampleDay)), "_")
	return T(prefix + "_019ced814dfa7d91a4e5f60718293a4b")
}

func idOf[T app.ID](noun string) (reflect.Type, openapi.Member) {
	return reflect.TypeFor[T](), openapi.Member{Text: "Id of the " + noun + ".", Example: string(exampleID[T]())}
}

// memberTypes describes the members of a type.
var memberTypes = func() map[reflect.Type]openapi.Member {
	types := map[reflect.Type]openapi.Member{reflect.TypeFor[app.Currency](): {Text: "ISO 4217 code.", Example: "EUR"}}
	add := func(t reflect.Type, member openapi.Member) { types[t] = member }
	add(idOf[app.WebsiteID]("website"))
	add(idOf[app.StoreID]("store"))
	add(idOf[app.StoreViewID]("store view"))
	add(idOf[app.UserID]("user"))
	add(idOf[app.SessionID]("session"))
	add(idOf[app.InvitationID]("invitation"))
	add(idOf[app.APIKeyID]("API key"))
	add(idOf[app.CustomerID]("customer"))
	add(idOf[app.ProductID]("product"))
	add(idOf[app.OptionGroupID]("option group"))
	add(idOf[app.OptionID]("option"))
	add(idOf[app.OrderID]("order"))
	add(idOf[app.EventID]("event"))
	add(idOf[app.SubscriptionID]("webhook"))
	add(idOf[app.DeliveryID]("delivery"))
	add(idOf[app.AttemptID]("attempt"))
	add(idOf[app.RequestID]("request"))
	add(idOf[app.AuditID]("audit entry"))
	add(idOf[app.ReservationID]("reservation"))
	add(idOf[app.ReplayID]("bulk replay"))
	add(idOf[app.PaymentID]("payment"))
	add(idOf[app.RefundID]("refund"))
	add(idOf[app.AddressID]("address"))
	add(idOf[app.LoyaltyEntryID]("loyalty entry"))
	return types
}()
