package api

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/comanda-dev/comanda/app"
)

// part is a schema or parameter in the document with its place.
type part struct {
	at     string
	object map[string]any
}

// openAPIDocument is the document with a list of its schemas.
type openAPIDocument struct {
	tree       map[string]any
	components map[string]any
	schemas    map[string]any
}

func readDocument(t *testing.T) openAPIDocument {
	t.Helper()
	tree, err := document()
	if err != nil {
		t.Fatal(err)
	}
	components := tree["components"].(map[string]any)
	return openAPIDocument{tree, components, components["schemas"].(map[string]any)}
}

// operations returns the operations with their ids.
func (d openAPIDocument) operations() (found []part) {
	for _, path := range slices.Sorted(maps.Keys(d.tree["paths"].(map[string]any))) {
		for method, operation := range d.tree["paths"].(map[string]any)[path].(map[string]any) {
			found = append(found, part{strings.ToUpper(method) + " " + path, operation.(map[string]any)})
		}
	}
	return found
}

// resolve returns the schema to which a reference leads.
func (d openAPIDocument) resolve(schema map[string]any) map[string]any {
	if reference, ok := schema["$ref"].(string); ok {
		return d.schemas[strings.TrimPrefix(reference, "#/components/schemas/")].(map[string]any)
	}
	return schema
}

// members returns all members of the schemas, at any depth.
func (d openAPIDocument) members() (found []part) {
	var walk func(at string, schema any)
	walk = func(at string, schema any) {
		object, ok := schema.(map[string]any)
		if !ok {
			return
		}
		properties, _ := object["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			found = append(found, part{at + "." + name, properties[name].(map[string]any)})
			walk(at+"."+name, properties[name])
		}
		walk(at+"[]", object["items"])
		walk(at+"{}", object["additionalProperties"])
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			parts, _ := object[keyword].([]any)
			for _, one := range parts {
				walk(at, one)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		walk(name, d.schemas[name])
	}
	return found
}

// The generator numbers a schema if two Go types have the same name.
func TestOpenAPISchemaNames(t *testing.T) {
	t.Parallel()
	d, seen := readDocument(t), map[string]string{}
	for name := range d.schemas {
		if other := seen[strings.ToLower(name)]; other != "" {
			t.Errorf("schemas %s and %s differ in case only; give one of them a $schema in openapi/texts", name, other)
		}
		seen[strings.ToLower(name)] = name
		if regexp.MustCompile(`\d$`).MatchString(name) {
			t.Errorf("schema %s: two Go types have this name; give one of them a $schema in openapi/texts", name)
		}
	}
}

func TestOpenAPIEnumsAreNamed(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for _, member := range d.members() {
		if member.object["enum"] != nil {
			t.Errorf("%s: got an inline enum, want a named schema; give the member a named Go type in enums", member.at)
		}
	}
	for _, o := range d.operations() {
		parameters, _ := o.object["parameters"].([]any)
		for _, parameter := range parameters {
			parameter := parameter.(map[string]any)
			if parameter["schema"].(map[string]any)["enum"] != nil {
				t.Errorf("%s: the parameter %s has an inline enum; give it a named Go type in enums", o.at, parameter["name"])
			}
		}
	}
	for _, name := range []string{"EventType", "OrderStatus", "Role", "Plan", "Scope"} {
		schema, ok := d.schemas[name].(map[string]any)
		if !ok || schema["enum"] == nil || schema["description"] == nil {
			t.Errorf("schema %s: got %v, want an enum with a description", name, schema)
		}
	}
	errorCode, _ := d.schemas["ErrorCode"].(map[string]any)
	if known, _ := errorCode["x-extensible-enum"].([]any); len(known) != len(statuses) || errorCode["enum"] != nil {
		t.Errorf("schema ErrorCode: got %v, want x-extensible-enum with %d codes, without enum", errorCode, len(statuses))
	}
}

func TestOpenAPIMembersAreDescribed(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for _, member := range d.members() {
		checkSentence(t, member.at, cmp.Or(member.object["description"], d.resolve(member.object)["description"]))
	}
	for _, o := range d.operations() {
		parameters, _ := o.object["parameters"].([]any)
		for _, parameter := range parameters {
			parameter := parameter.(map[string]any)
			checkSentence(t, fmt.Sprintf("%s, parameter %s", o.at, parameter["name"]), parameter["description"])
		}
	}
}

// checkSentence checks a text. It begins with a capital letter or the name of a member, and ends with a full stop.
func checkSentence(t *testing.T, at string, description any) {
	t.Helper()
	text, _ := description.(string)
	if lowerCase := regexp.MustCompile(`^[a-z]+ `); lowerCase.MatchString(text) || !strings.HasSuffix(text, ".") {
		t.Errorf("%s: got the text %q, want a sentence; see openapi/texts", at, text)
	}
}

// A text in an example must come from somewhere: an enum, a format, the type of an id or the texts of its Go type.
func TestOpenAPITextsHaveExamples(t *testing.T) {
	t.Parallel()
	for _, member := range readDocument(t).members() {
		schema, _, _ := strings.Cut(member.at, ".")
		kinds := []any{member.object["type"]}
		if several, ok := member.object["type"].([]any); ok {
			kinds = several
		}
		known := false
		for _, keyword := range []string{"examples", "enum", "const", "format"} {
			known = known || member.object[keyword] != nil
		}
		if slices.Contains(kinds, any("string")) && !known && !strings.HasSuffix(schema, "Request") {
			t.Errorf("%s: got no example; add one in openapi/texts", member.at)
		}
	}
}

// A generator would send a credential, or none, to operations without a list.
func TestOpenAPISecurity(t *testing.T) {
	t.Parallel()
	for _, o := range readDocument(t).operations() {
		method, path, _ := strings.Cut(o.at, " ")
		security, ok := o.object["security"].([]any)
		if free := routeOf(method, path).Permission == public; !ok || free != (len(security) == 0) {
			t.Errorf("%s: got security %v, want an empty list: %t", o.at, o.object["security"], free)
		}
	}
}

func TestOpenAPITags(t *testing.T) {
	t.Parallel()
	d, used := readDocument(t), map[any]bool{"Events": true}
	declared := []any{}
	for _, tag := range d.tree["tags"].([]any) {
		tag := tag.(map[string]any)
		declared = append(declared, tag["name"])
		if tag["description"] == nil {
			t.Errorf("tag %v: got no description", tag["name"])
		}
	}
	for _, o := range d.operations() {
		tags := o.object["tags"].([]any)
		if len(tags) != 1 || !slices.Contains(declared, tags[0]) {
			t.Errorf("%s: got the tags %v, want one of %v; add the first segment of the path to openapi/texts/document.yaml",
				o.at, tags, declared)
		}
		used[tags[0]] = true
	}
	for _, tag := range declared {
		if !used[tag] {
			t.Errorf("tag %v: got no operation with it", tag)
		}
	}
}

// mediaOf returns the contents of the responses of an operation by status and media type.
func (d openAPIDocument) mediaOf(o part) map[string]map[string]any {
	found := map[string]map[string]any{}
	for status, response := range o.object["responses"].(map[string]any) {
		response := response.(map[string]any)
		if reference, ok := response["$ref"].(string); ok {
			name := strings.TrimPrefix(reference, "#/components/responses/")
			response = d.components["responses"].(map[string]any)[name].(map[string]any)
		}
		content, _ := response["content"].(map[string]any)
		for mediaType, media := range content {
			found[status+" "+mediaType] = media.(map[string]any)
		}
		if content == nil && status != "204" {
			found[status] = map[string]any{}
		}
	}
	return found
}

// exampleIn returns the example of a response.
func (d openAPIDocument) exampleIn(media map[string]any) any {
	if example, ok := media["example"]; ok {
		return example
	}
	examples, _ := media["examples"].(map[string]any)
	for _, example := range examples {
		reference, _ := example.(map[string]any)["$ref"].(string)
		name := strings.TrimPrefix(reference, "#/components/examples/")
		return d.components["examples"].(map[string]any)[name].(map[string]any)["value"]
	}
	return nil
}

func TestOpenAPIResponsesHaveExamples(t *testing.T) {
	t.Parallel()
	d, checked := readDocument(t), map[string]bool{}
	for _, o := range d.operations() {
		for response, media := range d.mediaOf(o) {
			example := d.exampleIn(media)
			if example == nil || example == "" {
				t.Errorf("%s, response %s: got no example; add one to the operation in openapi/texts", o.at, response)
				continue
			}
			schema, _ := media["schema"].(map[string]any)
			reference, _ := schema["$ref"].(string)
			if !strings.HasSuffix(response, " application/json") || checked[reference] {
				continue
			}
			if checked[reference] = true; reference == "" {
				t.Errorf("%s, response %s: got an inline schema, want a named envelope", o.at, response)
				continue
			}
			if err := schemaAt(t, strings.TrimPrefix(reference, "#")).Validate(example); err != nil {
				t.Errorf("%s, response %s: the example does not match its schema; correct it in openapi/texts: %v", o.at,
					response, err)
			}
		}
	}
}

func TestOpenAPIWebhooks(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	webhooks := d.tree["webhooks"].(map[string]any)
	for _, event := range append(slices.Clone(app.EventTypes[:]), app.EventTestPing) {
		item, ok := webhooks[string(event)].(map[string]any)
		if !ok {
			t.Errorf("event %s: got no webhook; add a row to eventRows", event)
			continue
		}
		post := item["post"].(map[string]any)
		media := post["requestBody"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)
		reference := media["schema"].(map[string]any)["$ref"].(string)
		schema := schemaAt(t, strings.TrimPrefix(reference, "#"))
		if err := schema.Validate(media["example"]); err != nil {
			t.Errorf("event %s: the example does not match %s: %v", event, reference, err)
		}
		headers := 5
		if event == app.EventTestPing { // it has neither a position nor a resource
			headers = 3
		}
		if got := len(post["parameters"].([]any)); got != headers {
			t.Errorf("event %s: got %d headers, want %d", event, got, headers)
		}
	}
	if len(webhooks) != len(app.EventTypes)+1 {
		t.Errorf("webhooks: got %d, want one for each event type and test.ping", len(webhooks))
	}
}

func TestOpenAPIInfo(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	license, _ := d.tree["info"].(map[string]any)["license"].(map[string]any)
	if license["identifier"] != "Apache-2.0" {
		t.Errorf("license: got %v, want Apache-2.0", license)
	}
	variable := false
	for _, server := range d.tree["servers"].([]any) {
		variables, _ := server.(map[string]any)["variables"].(map[string]any)
		variable = variable || variables["host"] != nil
	}
	if !variable {
		t.Errorf("servers: got %v, want one with the variable host", d.tree["servers"])
	}
	for _, o := range d.operations() {
		if summary := fmt.Sprint(o.object["summary"]); utf8.RuneCountInString(summary) > 60 {
			t.Errorf("%s: the summary has %d characters, want at most 60: %s", o.at, utf8.RuneCountInString(summary), summary)
		}
	}
}
