package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonschema6 "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"

	"github.com/comanda-dev/comanda/app"
)

// The catalogue is generated from the types of the events, their texts and the examples.
func TestOpenAPIEventTypesAreUpToDate(t *testing.T) {
	t.Parallel()
	var all []eventTypeEntry
	for i, row := range eventRows() {
		schema, err := schemaOf(row)
		must(err)
		example, err := exampleOf(row, i)
		must(err)
		subscribable := slices.Contains(app.EventTypes[:], row.name)
		all = append(all, eventTypeEntry{
			row.name, clientTexts().Event(string(row.name)), subscribable, schema, example,
		})
	}
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	must(encoder.Encode(all))
	if *update {
		must(os.WriteFile("eventtypes.json", made.Bytes(), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(string(eventCatalogue), "\n"), strings.Split(made.String(), "\n")); diff != "" {
		t.Errorf("eventtypes.json is out of date; run go test ./api -run TestOpenAPI -update (-file +generated):\n%s",
			diff)
	}
}

// schemaOf returns the schema of an event's body: the schema of the envelope, with the data of the event type.
func schemaOf(row eventRow) ([]byte, error) {
	reflector := generator().Reflector()
	oc, err := reflector.NewOperationContext("POST", "/")
	if err != nil {
		return nil, err
	}
	of := func(v any) jsonschema.Schema {
		schema, err := reflector.Reflect(v, openapi.WithOperationCtx(oc, true, openapi.InBody), jsonschema.InlineRefs)
		must(err)
		return schema
	}
	envelope, data, name := of(app.Envelope{}), of(row.data), any(row.name)
	data.Required = append(data.Required, row.always...)
	kind := jsonschema.String.ToSchemaOrBool()
	kind.TypeObject.Const = &name
	envelope.Properties["type"], envelope.Properties["data"] = kind, data.ToSchemaOrBool()
	envelope.WithSchema("https://json-schema.org/draft/2020-12/schema").WithTitle(string(row.name)).
		WithDescription(clientTexts().Event(string(row.name)))
	return envelope.MarshalJSON()
}

// exampleOf encodes the body of an example like the service, but with a constant id.
func exampleOf(row eventRow, place int) ([]byte, error) {
	event, err := app.NewEvent(row.name, exampleStore, row.at, row.data)
	id := fmt.Sprintf("evt_%012x7d1fa2b3c4d5e6f7%04x", row.at.UnixMilli(), place)
	return bytes.Replace(event.Body, []byte(event.ID), []byte(id), 1), err
}

// strictly holds a schema for each event type that rejects members that are not in the catalogue. The published schemas
// accept them, as receivers must.
var strictly = sync.OnceValue(func() map[app.EventType]*jsonschema6.Schema {
	all, err := allEventTypes()
	must(err)
	schemas := map[app.EventType]*jsonschema6.Schema{}
	for _, e := range all {
		schemas[e.Name] = compiled(closed(tree(e.Schema)))
	}
	return schemas
})

func tree(text []byte) any {
	v, err := jsonschema6.UnmarshalJSON(bytes.NewReader(text))
	must(err)
	return v
}

// compiled compiles a schema and checks it against its draft. The compiled schema also checks formats.
func compiled(schema any) *jsonschema6.Schema {
	compiler := jsonschema6.NewCompiler()
	compiler.AssertFormat()
	must(compiler.AddResource("event.json", schema))
	return compiler.MustCompile("event.json")
}

// closed returns a copy of a schema whose objects reject unknown members.
func closed(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		copied := map[string]any{}
		for name, member := range schema {
			copied[name] = closed(member)
		}
		if _, named := copied["properties"]; named {
			copied["additionalProperties"] = false
		}
		return copied
	case []any:
		copied := slices.Clone(schema)
		for i, element := range schema {
			copied[i] = closed(element)
		}
		return copied
	}
	return schema
}

// strictlyAsDocumented returns an error if an event's body has members that the catalogue lacks.
func strictlyAsDocumented(body any) error {
	var kind string
	if envelope, ok := body.(map[string]any); ok {
		kind, _ = envelope["type"].(string)
	}
	schema := strictly()[app.EventType(kind)]
	if schema == nil {
		return fmt.Errorf("type %q is not in the catalogue", kind)
	}
	return schema.Validate(body)
}

// checkEvents checks all events of a test against the catalogue.
func (w *world) checkEvents() {
	var bodies []string
	if err := w.db.System().NewRaw("SELECT body FROM outbox WHERE body IS NOT NULL").Scan(context.Background(),
		&bodies); err != nil {
		w.Errorf("read the outbox: %v", err)
	}
	for _, body := range bodies {
		if err := strictlyAsDocumented(tree([]byte(body))); err != nil {
			w.Errorf("an event differs from its schema: %v\n%s", err, body)
		}
	}
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []eventTypeEntry
	a := w.do("GET", "/webhooks/event-types", w.tokens["ADMIN"], nil).ok(200, &all)
	if a.body.Meta["total"] != float64(len(app.EventTypes)+1) {
		t.Errorf("meta: got %v, want total %d", a.body.Meta, len(app.EventTypes)+1)
	}
	var names []app.EventType
	ids := map[any]bool{}
	for _, e := range all {
		names = append(names, e.Name)
		if e.Subscribable != (e.Name != app.EventTestPing) || e.Description == "" {
			t.Errorf("got %+v, want a description, and subscribable except for test.ping", e)
		}
		schema, example := tree(e.Schema).(map[string]any), tree(e.Example).(map[string]any)
		if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: got the draft %v, want 2020-12", e.Name, schema["$schema"])
		}
		if err := compiled(schema).Validate(example); err != nil {
			t.Errorf("%s: the example does not match the schema: %v", e.Name, err)
		}
		if err := strictlyAsDocumented(example); err != nil || example["type"] != string(e.Name) {
			t.Errorf("%s: the example has the type %v or does not match the strict schema: %v", e.Name, example["type"],
				err)
		}
		ids[example["id"]] = true
	}
	if diff := cmp.Diff(append(app.EventTypes[:len(app.EventTypes):len(app.EventTypes)], app.EventTestPing),
		names); diff != "" || len(ids) != len(all) {
		t.Errorf("got %d different ids, want %d; types (-want +got): %s", len(ids), len(all), diff)
	}
	w.do("GET", "/webhooks/event-types?limit=1", w.tokens["ADMIN"], nil).refused(app.CodeValidationFailed, "limit")
}

// A body that lacks a member or has a member of another type does not match its schema. An additional member matches
// the published schema, but not the strict schema of our tests.
func TestTheCatalogueIsExact(t *testing.T) {
	t.Parallel()
	all, err := allEventTypes()
	must(err)
	for _, e := range all {
		refuses := func(what string, change func(envelope, data map[string]any)) {
			t.Helper()
			body := tree(e.Example).(map[string]any)
			change(body, body["data"].(map[string]any))
			if strictlyAsDocumented(body) == nil {
				t.Errorf("%s: the strict schema accepts an event that may %s", e.Name, what)
			}
		}
		example := tree(e.Example).(map[string]any)
		for member := range example {
			refuses("lack "+member, func(envelope, _ map[string]any) { delete(envelope, member) })
			refuses("have an array as "+member, func(envelope, _ map[string]any) { envelope[member] = []any{} })
		}
		schema := tree(e.Schema).(map[string]any)["properties"].(map[string]any)["data"].(map[string]any)
		for _, member := range schema["required"].([]any) {
			refuses(fmt.Sprint("lack data.", member), func(_, data map[string]any) { delete(data, member.(string)) })
		}
		for member := range schema["properties"].(map[string]any) {
			refuses("have a boolean in an object as data."+member,
				func(_, data map[string]any) { data[member] = map[string]any{"x": true} })
		}
		refuses("have a member more", func(envelope, _ map[string]any) { envelope["more"] = 1 })
		refuses("have a member more in data", func(_, data map[string]any) { data["more"] = 1 })
		example["more"], example["data"].(map[string]any)["more"] = 1, 1
		if err := compiled(tree(e.Schema)).Validate(example); err != nil {
			t.Errorf("%s: the published schema refuses additional members: %v", e.Name, err)
		}
	}
	for _, other := range []any{nil, []any{}, map[string]any{}, map[string]any{"type": "order.eaten"}} {
		if strictlyAsDocumented(other) == nil {
			t.Errorf("%v: got no error, want one", other)
		}
	}
}

// TestTheExamplesAddUp checks the sums of the example orders (docs/behaviour.md#money), and that the other examples are
// consistent with the order.
func TestTheExamplesAddUp(t *testing.T) {
	t.Parallel()
	var total, paid, refunded int64
	orders := 0
	for _, row := range eventRows() {
		order, ok := row.data.(app.Order)
		switch data := row.data.(type) {
		case app.OrderStatusUpdated:
			order, ok = data.Order, true
			if order.PreviousStatus == nil || *order.PreviousStatus == data.NewStatus ||
				order.Status != data.NewStatus {
				t.Errorf("%s: got the order with %s after %v, want newStatus %s after another status", row.name,
					order.Status, order.PreviousStatus, data.NewStatus)
			}
		case app.PaymentSucceededData:
			paid = data.AmountMinor
		case app.PaymentRefundedData:
			refunded = data.TotalRefundedMinor
		}
		if !ok {
			continue
		}
		orders++
		total = order.TotalMinor
		var subtotal int64
		for _, item := range order.Items {
			if item.TotalMinor != item.Quantity*item.UnitPriceMinor {
				t.Errorf("%s: got the item %+v, want totalMinor %d", row.name, item, item.Quantity*item.UnitPriceMinor)
			}
			subtotal += item.TotalMinor
		}
		const ppm = 70_000
		gross := subtotal - order.DiscountMinor
		tax := (2*gross*ppm + 1_000_000 + ppm) / (2 * (1_000_000 + ppm))
		if order.SubtotalMinor != subtotal || order.TaxMinor != tax || total != gross+order.DeliveryFeeMinor {
			t.Errorf("%s: got %+v, want subtotal %d and tax %d", row.name, order, subtotal, tax)
		}
		if order.UpdatedAt != app.At(row.at) {
			t.Errorf("%s: got updatedAt %s, want the time of the event %s", row.name, order.UpdatedAt, row.at)
		}
	}
	if orders != 4 || paid != total || refunded <= 0 || refunded >= paid {
		t.Errorf("got %d orders of %d, %d paid and %d refunded, want 4 orders, paid, with a partial refund", orders,
			total, paid, refunded)
	}
}

// Each operation emits the event types that the test lists, and together they emit all types. checkEvents checks
// the bodies at the end of each world.
func TestEveryTypeIsEmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	ids := map[string]string{"webhook": string(own.webhook.ID)}
	guest := object{"name": "Ada <Lovelace> & Söhne", "email": "guest@example.com", "phone": "+4915112345678"}
	order := altered(w.orderBody("own"), object{
		"customer": guest, "fulfillmentType": "DELIVERY", "note": "☕",
		"deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"},
	})
	payment := object{
		"provider": "STRIPE", "transactionId": "pi_1", "status": "SUCCEEDED", "amountMinor": 950, "currency": "EUR",
		"paymentMethod": "card", "cardLast4": "4242",
	}
	failed := altered(payment,
		object{"transactionId": "pi_2", "status": "FAILED", "errorCode": "card_declined", "cardLast4": nil})
	table := object{"customer": object{"name": "Ada"}, "partySize": 1, "startAt": "2026-03-20T19:30:00+01:00"}
	type types = []app.EventType
	emitted := map[app.EventType]bool{}
	for _, s := range []struct {
		route string
		of    string // the name of the object whose id replaces {id}
		makes string // the name under which the id in the response is stored
		body  any
		tells types
	}{
		{"POST /customer-auth/register", "", "", registration(own.id), types{app.EventCustomerCreated}},
		{"POST /orders", "", "order", order, types{app.EventCustomerCreated, app.EventOrderCreated}},
		{"POST /orders", "", "other order", order, types{app.EventOrderCreated}},
		{"POST /orders/{id}/payments", "order", "", failed, types{app.EventPaymentFailed}},
		{"POST /orders/{id}/payments", "order", "payment", payment, types{app.EventPaymentSucceeded}},
		{"PATCH /orders/{id}", "order", "", object{"note": "Ring"}, types{app.EventOrderUpdated}},
		{"PATCH /orders/{id}/status", "order", "", object{"status": "CONFIRMED"}, types{app.EventOrderStatusUpdated}},
		{
			"PATCH /orders/{id}/status", "order", "", object{"status": "COMPLETED"},
			types{app.EventOrderCompleted, app.EventOrderStatusUpdated},
		},
		{"PATCH /orders/{id}/status", "other order", "", object{"status": "CANCELLED", "cancellationReason": "Closed."},
			types{app.EventOrderCancelled, app.EventOrderStatusUpdated}},
		{
			"POST /payments/{id}/refunds", "payment", "",
			object{"amountMinor": 100, "reason": "cold", "providerRefundId": "re_1"}, types{app.EventPaymentRefunded},
		},
		{
			"POST /payments/{id}/refunds", "payment", "",
			object{"amountMinor": 850, "reason": "cold", "providerRefundId": "re_2"}, types{app.EventPaymentRefunded},
		},
		{"PATCH /customers/{id}", "customer", "", object{"firstName": "Augusta"}, types{app.EventCustomerUpdated}},
		{
			"POST /products", "", "product",
			object{"name": "Tea", "category": "drinks", "priceMinor": 200, "currency": "EUR"},
			types{app.EventProductCreated},
		},
		{"PATCH /products/{id}", "product", "", object{"priceMinor": 210}, types{app.EventProductUpdated}},
		{"POST /products/{id}/stock", "product", "product", object{"set": 0}, types{app.EventProductUpdated}},
		{"DELETE /products/{id}", "product", "", nil, types{app.EventProductUpdated}},
		{"POST /reservations", "", "reservation", table, types{app.EventReservationCreated}},
		{"POST /reservations", "", "other reservation", table, types{app.EventReservationCreated}},
		{
			"PATCH /reservations/{id}/status", "reservation", "", object{"status": "CONFIRMED"},
			types{app.EventReservationConfirmed},
		},
		{
			"PATCH /reservations/{id}/status", "reservation", "",
			object{"status": "CANCELLED", "cancellationReason": "Ill."}, types{app.EventReservationCancelled},
		},
		{
			"PATCH /reservations/{id}/status", "other reservation", "", object{"status": "CANCELLED"},
			types{app.EventReservationCancelled},
		},
		{"POST /webhooks/{id}/test", "webhook", "", nil, types{app.EventTestPing}},
	} {
		method, pattern, _ := strings.Cut(s.route, " ")
		before := w.outbox()
		var made struct {
			ID       string
			Customer struct{ ID string }
		}
		a := w.do(method, strings.Replace(pattern, "{id}", ids[s.of], 1), w.tokens["OWNER"], s.body)
		if a.Code >= 300 {
			t.Fatalf("%s: got %d %s, want success", a.what, a.Code, a.Body)
		}
		if a.Code != 204 {
			a.ok(a.Code, &made)
		}
		if ids[s.makes] = made.ID; strings.HasPrefix(s.route, "POST /customer-auth") {
			ids["customer"] = made.Customer.ID
		}
		var kinds types
		for id, kind := range w.outbox() {
			if _, old := before[id]; !old {
				kinds = append(kinds, kind)
				emitted[kind] = true
			}
		}
		slices.Sort(kinds)
		if diff := cmp.Diff(s.tells, kinds); diff != "" {
			t.Errorf("%s: events (-want +got): %s", a.what, diff)
		}
	}
	want := append(slices.Clone(app.EventTypes[:]), app.EventTestPing)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(emitted))); diff != "" {
		t.Errorf("emitted types (-want +got): %s", diff)
	}
}

// outbox returns the types of all events by their ids.
func (w *world) outbox() map[string]app.EventType {
	w.Helper()
	var rows []struct {
		ID   string
		Type app.EventType
	}
	w.must(w.db.System().NewRaw("SELECT id, type FROM outbox").Scan(w.Context(), &rows))
	all := map[string]app.EventType{}
	for _, row := range rows {
		all[row.ID] = row.Type
	}
	return all
}
