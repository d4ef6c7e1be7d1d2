package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	jsonschema6 "github.com/santhosh-tekuri/jsonschema/v6"
)

const examplesAt = "#/components/examples/"

// addExamples adds an example to each response of a document. Responses with the same schema share one.
func (a API) addExamples(document map[string]any) error {
	components := document["components"].(map[string]any)
	e := exampler{schemas: components["schemas"].(map[string]any), samples: map[string]any{}}
	for _, sample := range a.Schemas.Samples {
		value, err := treeOf(sample)
		if err != nil {
			return err
		}
		e.samples[a.Schemas.nameOf(reflect.TypeOf(sample), "")] = value
	}
	examples := map[string]any{}
	components["examples"] = examples
	for _, item := range document["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			for _, response := range operation.(map[string]any)["responses"].(map[string]any) {
				content, _ := response.(map[string]any)["content"].(map[string]any)
				for _, media := range content {
					e.add(media.(map[string]any), examples)
				}
			}
		}
	}
	responses := components["responses"].(map[string]any)
	for status, failure := range a.Failures {
		response, used := responses[strings.ReplaceAll(http.StatusText(status), " ", "")].(map[string]any)
		if !used {
			continue
		}
		value, err := treeOf(failure)
		if err != nil {
			return err
		}
		response["content"].(map[string]any)["application/json"].(map[string]any)["example"] = value
	}
	return nil
}

func treeOf(v any) (any, error) {
	encoded, err := jsonv2.Marshal(v) // as the service encodes its responses
	if err != nil {
		return nil, err
	}
	return jsonschema6.UnmarshalJSON(bytes.NewReader(encoded))
}

// exampler makes examples of schemas.
type exampler struct{ schemas, samples map[string]any }

// add adds the example of a response's schema.
func (e exampler) add(media, examples map[string]any) {
	schema, _ := media["schema"].(map[string]any)
	reference, _ := schema["$ref"].(string)
	name, ok := strings.CutPrefix(reference, schemasAt)
	if !ok {
		if media["example"] == nil {
			media["example"] = e.of(schema)
		}
		return
	}
	if examples[name] == nil {
		examples[name] = map[string]any{"summary": name, "value": e.of(schema)}
	}
	media["examples"] = map[string]any{"response": map[string]any{"$ref": examplesAt + name}}
}

// of returns the example of a schema: its sample, its first example or value, or an example of each of its parts.
func (e exampler) of(schema map[string]any) any {
	if reference, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(reference, schemasAt)
		if sample, ok := e.samples[name]; ok {
			return sample
		}
		return e.of(e.schemas[name].(map[string]any))
	}
	if value, ok := schema["const"]; ok {
		return value
	}
	for _, keyword := range []string{"examples", "enum"} {
		if values, ok := schema[keyword].([]any); ok && len(values) > 0 {
			return values[0]
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		for _, part := range list(schema[keyword]) {
			if part.(map[string]any)["type"] != "null" {
				return e.of(part.(map[string]any))
			}
		}
	}
	return e.ofType(schema)
}

func (e exampler) ofType(schema map[string]any) any {
	kind, _ := schema["type"].(string)
	for _, one := range list(schema["type"]) {
		if kind = one.(string); kind != "null" {
			break
		}
	}
	switch kind {
	case "object":
		object := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			object[name] = e.of(properties[name].(map[string]any))
		}
		return object
	case "array":
		items, _ := schema["items"].(map[string]any)
		return []any{e.of(items)}
	case "integer", "number":
		if least, ok := schema["minimum"]; ok {
			return least
		}
		return json.Number("1")
	case "boolean":
		return true
	}
	return formats[fmt.Sprint(schema["format"])]
}

// formats are examples of strings by their format.
var formats = map[string]string{
	"date-time": "2026-03-14T18:00:00.250Z", "date": "2026-03-14", "uri": "https://example.com/hook",
	"email": "ada@example.com", "password": "whsec_0123456789abcdef0123456789abcdef",
}

func list(v any) []any {
	values, _ := v.([]any)
	return values
}
