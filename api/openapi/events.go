package openapi

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"
)

// Event is an event that the service sends to webhooks.
type Event struct {
	Type     string
	Envelope any      // an empty body, in which the members type and data are those of all events
	Data     any      // an example of the member data, of the type that the service sends
	Always   []string // members that this event has and other events with this type of data can lack
	Example  any      // of the body
	Tag      string
	Unplaced bool // it has no position
}

// Name returns the type as an identifier: orderCreated.
func (e Event) Name() string {
	var name strings.Builder
	upper := false
	for _, r := range e.Type {
		switch {
		case r == '.' || r == '_':
			upper = true
		case upper:
			name.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			name.WriteRune(r)
		}
	}
	return name.String()
}

// schemaName returns the name of the schema of the body: OrderCreatedEvent.
func (e Event) schemaName() string {
	name := e.Name()
	return strings.ToUpper(name[:1]) + name[1:] + "Event"
}

// add adds the event to the webhooks of the document of a reflector.
func (e Event) add(reflector *openapi31.Reflector, texts *Texts) error {
	spec := reflector.SpecEns()
	var failed error
	collect := func(name string, schema jsonschema.Schema) {
		simple, err := schema.ToSchemaOrBool().ToSimpleMap()
		if err != nil {
			failed = err
			return
		}
		if _, known := spec.ComponentsEns().Schemas[name]; !known {
			spec.Components.WithSchemasItem(name, simple)
		}
	}
	oc, err := reflector.NewOperationContext("POST", "/")
	if err != nil {
		return err
	}
	of := func(v any, more ...func(*jsonschema.ReflectContext)) (jsonschema.Schema, error) {
		options := append(more, openapi.WithOperationCtx(oc, true, openapi.InBody),
			jsonschema.DefinitionsPrefix(schemasAt), jsonschema.CollectDefinitions(collect))
		return reflector.Reflect(v, options...)
	}
	envelope, err := of(e.Envelope)
	if err != nil {
		return err
	}
	data, err := of(e.Data, jsonschema.RootRef)
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	data.Required = e.Always
	kind := jsonschema.String.ToSchemaOrBool()
	kind.TypeObject.WithConst(e.Type).WithDescription(texts.own(reflect.TypeOf(e.Envelope), "type").Text)
	envelope.Properties["type"], envelope.Properties["data"] = kind, data.ToSchemaOrBool()
	simple, err := envelope.WithDescription(texts.Event(e.Type)).ToSchemaOrBool().ToSimpleMap()
	if err != nil {
		return err
	}
	spec.ComponentsEns().WithSchemasItem(e.schemaName(), simple)
	item, err := e.request(texts)
	if err != nil {
		return err
	}
	spec.WithWebhooksItem(e.Type, openapi31.PathItemOrReference{PathItem: item})
	return nil
}

// request describes the POST of the event.
func (e Event) request(texts *Texts) (*openapi31.PathItem, error) {
	post := openapi31.Operation{Tags: []string{e.Tag}}
	post.WithID("on" + strings.ToUpper(e.Name()[:1]) + e.Name()[1:]).WithSummary("Receive " + e.Type).
		WithDescription(texts.Event(e.Type))
	content := openapi31.MediaType{Schema: map[string]any{"$ref": schemasAt + e.schemaName()}}
	content.WithExample(e.Example)
	body := openapi31.RequestBody{Content: map[string]openapi31.MediaType{"application/json": content}}
	body.WithRequired(true)
	post.WithRequestBody(openapi31.RequestBodyOrReference{RequestBody: &body})
	for _, sent := range texts.WebhookHeaders {
		if sent.Placed && e.Unplaced {
			continue
		}
		header := openapi31.Parameter{Name: sent.Name, In: openapi31.ParameterInHeader}
		header.WithRequired(true).WithDescription(sent.Text).
			WithSchema(map[string]any{"type": "string", "examples": []any{sent.Example}})
		post.Parameters = append(post.Parameters, openapi31.ParameterOrReference{Parameter: &header})
	}
	received := openapi31.Response{Description: texts.Responses.Received}
	post.ResponsesEns().WithMapOfResponseOrReferenceValuesItem("2XX",
		openapi31.ResponseOrReference{Response: &received})
	post.Security = []map[string][]string{{"signature": {}}}
	item := openapi31.PathItem{}
	return item.WithPost(post), nil
}
