package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// releasedSchema has the keywords on which a generated client depends.
type releasedSchema struct {
	Ref        string                     `json:"$ref,omitzero"`
	Type       any                        `json:"type,omitzero"` // a name or a list of names
	Enum       []any                      `json:"enum,omitzero"`
	Extensible []any                      `json:"x-extensible-enum,omitzero"`
	Properties map[string]*releasedSchema `json:"properties,omitzero"`
	Required   []string                   `json:"required,omitzero"`
	Items      *releasedSchema            `json:"items,omitzero"`
	MinLength  int                        `json:"minLength,omitzero"`
	MaxLength  *int                       `json:"maxLength,omitzero"`
	Minimum    *float64                   `json:"minimum,omitzero"`
	Maximum    *float64                   `json:"maximum,omitzero"`
}

type releasedMedia struct {
	Schema *releasedSchema `json:"schema,omitzero"`
}

type releasedContent struct {
	Content map[string]releasedMedia `json:"content,omitzero"`
}

type releasedParameter struct {
	In       string          `json:"in"`
	Name     string          `json:"name"`
	Required bool            `json:"required,omitzero"`
	Schema   *releasedSchema `json:"schema"`
}

type releasedOperation struct {
	Parameters  []releasedParameter        `json:"parameters,omitzero"`
	RequestBody releasedContent            `json:"requestBody,omitzero"`
	Responses   map[string]releasedContent `json:"responses"`
}

type releasedDocument struct {
	Info struct {
		Version string `json:"version"`
	} `json:"info"`
	Paths      map[string]map[string]releasedOperation `json:"paths"`
	Components struct {
		Schemas map[string]*releasedSchema `json:"schemas"`
	} `json:"components"`
}

func (d *releasedDocument) schema(s *releasedSchema) *releasedSchema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil {
		s = &releasedSchema{}
	}
	return s
}

// types returns the types of a schema, nil if it does not restrict them.
func (s *releasedSchema) types() (names []any) {
	switch t := s.Type.(type) {
	case string:
		return []any{t}
	case []any:
		return t
	}
	return nil
}

// values returns the values of an enumeration, nil if the schema is none.
func (s *releasedSchema) values() []any { return slices.Concat(s.Enum, s.Extensible) }

// comparison compares the document of a release with the current one.
type comparison struct {
	released, current releasedDocument
	seen              map[string]bool
	differences       []string
}

func (c *comparison) differ(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(c.differences, text) {
		c.differences = append(c.differences, text)
	}
}

// schemas compares a schema of requests, which must accept what it accepted, or of responses, which must contain what
// they contained.
func (c *comparison) schemas(where string, released, current *releasedSchema, request bool) {
	if released != nil && current != nil && released.Ref != "" && current.Ref != "" {
		pair := fmt.Sprint(released.Ref, current.Ref, request)
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
	}
	a, b := c.released.schema(released), c.current.schema(current)
	if request {
		c.request(where, a, b)
	} else {
		c.response(where, a, b)
	}
	if len(b.Properties) > 0 {
		for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
			if b.Properties[name] == nil {
				c.differ("%s: %s is gone", where, name)
				continue
			}
			c.schemas(where+"."+name, a.Properties[name], b.Properties[name], request)
		}
	}
	if a.Items != nil && b.Items != nil {
		c.schemas(where+"[]", a.Items, b.Items, request)
	}
}

func (c *comparison) request(where string, released, current *releasedSchema) {
	if !within(released.types(), current.types()) {
		c.differ("%s: the type was %v and is %v", where, released.types(), current.types())
	}
	if !within(released.values(), current.values()) {
		c.differ("%s: not all values of %v are in %v", where, released.values(), current.values())
	}
	for _, name := range current.Required {
		if !slices.Contains(released.Required, name) {
			c.differ("%s: %s is required now", where, name)
		}
	}
	if current.MinLength > released.MinLength || narrower(released.MaxLength, current.MaxLength) ||
		narrower(released.Maximum, current.Maximum) || narrower(negative(released.Minimum), negative(current.Minimum)) {
		c.differ("%s: the limits are narrower", where)
	}
}

func (c *comparison) response(where string, released, current *releasedSchema) {
	if !within(current.types(), released.types()) {
		c.differ("%s: the type was %v and is %v", where, released.types(), current.types())
	}
	for _, name := range released.Required {
		if !slices.Contains(current.Required, name) {
			c.differ("%s: %s is not always present", where, name)
		}
	}
}

// within reports whether all values are in a set; nil is the set of all values.
func within(values, set []any) bool {
	for _, value := range values {
		if set != nil && !slices.Contains(set, value) {
			return false
		}
	}
	return true
}

// narrower reports whether a maximum is smaller than before.
func narrower[T int | float64](before, now *T) bool {
	return now != nil && (before == nil || *now < *before)
}

// negative returns the limit with the other sign: a minimum is the maximum of the negative number.
func negative(limit *float64) *float64 {
	if limit == nil {
		return nil
	}
	return new(-*limit)
}

func (c *comparison) operations() {
	for _, path := range slices.Sorted(maps.Keys(c.released.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(c.released.Paths[path])) {
			c.operation(path, method)
		}
	}
}

func (c *comparison) operation(path, method string) {
	where := method + " " + path
	released := c.released.Paths[path][method]
	current, ok := c.current.Paths[path][method]
	if !ok {
		c.differ("%s is gone", where)
		return
	}
	parameters := map[string]*releasedSchema{}
	for _, p := range current.Parameters {
		parameters[p.In+" "+p.Name] = p.Schema
	}
	for _, p := range released.Parameters {
		name := p.In + " " + p.Name
		if schema, ok := parameters[name]; ok {
			c.schemas(where+", "+name, p.Schema, schema, true)
		} else {
			c.differ("%s: %s is gone", where, name)
		}
		delete(parameters, name)
	}
	for _, p := range current.Parameters {
		if _, added := parameters[p.In+" "+p.Name]; added && p.Required {
			c.differ("%s: %s %s is required now", where, p.In, p.Name)
		}
	}
	for kind, content := range released.RequestBody.Content {
		if now, ok := current.RequestBody.Content[kind]; ok {
			c.schemas(where, content.Schema, now.Schema, true)
		} else {
			c.differ("%s: no body of %s", where, kind)
		}
	}
	for status, response := range released.Responses {
		for kind, content := range response.Content {
			if now, ok := current.Responses[status].Content[kind]; ok {
				c.schemas(where+" "+status, content.Schema, now.Schema, false)
			} else {
				c.differ("%s: no response %s of %s", where, status, kind)
			}
		}
	}
}

// compare returns the differences between two documents that break clients of the first one.
func compare(released, current releasedDocument) []string {
	c := comparison{released: released, current: current, seen: map[string]bool{}}
	c.operations()
	return slices.Sorted(slices.Values(c.differences))
}

// releasedOpenAPI is the document of the last release, as far as compare reads it.
const releasedOpenAPI = "testdata/released_openapi.json"

var release = flag.Bool("release", false, "write the document of a release to "+releasedOpenAPI)

// releasedVersion matches the newest dated version of the changelog.
var releasedVersion = regexp.MustCompile(`(?m)^## \[(\S+)\] – \d{4}-\d\d-\d\d$`)

// A client that was generated from the document of the last release works with this service, which accepts its requests
// and returns the members that it expects. Before the first release, there is no such document.
func TestOpenAPIServesReleasedClients(t *testing.T) {
	t.Parallel()
	text, err := openAPIAsJSON()
	persistencetest.Must(t, err)
	var released, current releasedDocument
	persistencetest.Must(t, json.Unmarshal(text, &current))
	if *release {
		text, err := json.MarshalIndent(current, "", " ")
		persistencetest.Must(t, err)
		persistencetest.Must(t, os.WriteFile(releasedOpenAPI, append(text, '\n'), 0o644))
	}
	changelog, err := os.ReadFile("../CHANGELOG.md")
	persistencetest.Must(t, err)
	last := releasedVersion.FindSubmatch(changelog)
	if last == nil {
		return
	}
	text, err = os.ReadFile(releasedOpenAPI)
	persistencetest.Must(t, err)
	persistencetest.Must(t, json.Unmarshal(text, &released))
	if !strings.HasPrefix(string(last[1])+".", released.Info.Version+".") {
		t.Errorf("%s: got version %s, want %s; run task released", releasedOpenAPI, released.Info.Version, last[1])
	}
	for _, difference := range compare(released, current) {
		t.Errorf("breaks clients of version %s: %s", released.Info.Version, difference)
	}
}

// TestBreakingChanges changes a document by replacing a part of it.
func TestBreakingChanges(t *testing.T) {
	t.Parallel()
	const document = `{"paths": {"/orders/{id}": {"patch": {
		"parameters": [{"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 100}}],
		"requestBody": {"content": {"application/json": {"schema": {
			"type": "object", "required": ["status"], "properties": {
				"status": {"type": "string", "enum": ["READY", "COMPLETED"]},
				"note": {"type": ["string", "null"], "maxLength": 80},
				"tags": {"type": "array", "items": {"type": "string", "minLength": 1}}
		}}}}},
		"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}}
	}}}, "components": {"schemas": {"Order": {
		"type": "object", "required": ["id"], "properties": {
			"id": {"type": "string"}, "parent": {"$ref": "#/components/schemas/Order"}
	}}}}}`
	for name, c := range map[string]struct{ old, new, want string }{
		"nothing":        {"patch", "patch", ""},
		"new operation":  {`{"patch": {`, `{"get": {}, "patch": {`, ""},
		"operation gone": {`{"patch": {`, `{"get": {`, "patch /orders/{id} is gone"},
		"new parameter":  {`"parameters": [`, `"parameters": [{"in": "query", "name": "x"}, `, ""},
		"new required parameter": {
			`"parameters": [`, `"parameters": [{"in": "query", "name": "x", "required": true}, `,
			"patch /orders/{id}: query x is required now",
		},
		"parameter gone": {`"name": "limit"`, `"name": "most"`, "patch /orders/{id}: query limit is gone"},
		"higher maximum": {`"maximum": 100`, `"maximum": 200`, ""},
		"lower maximum":  {`"maximum": 100`, `"maximum": 50`, "patch /orders/{id}, query limit: the limits are narrower"},
		"new minimum": {`"maximum": 100`, `"maximum": 100, "minimum": 5`,
			"patch /orders/{id}, query limit: the limits are narrower"},
		"lower maxLength": {`"maxLength": 80`, `"maxLength": 79`, "patch /orders/{id}.note: the limits are narrower"},
		"longer items": {
			`"minLength": 1`, `"minLength": 2`, "patch /orders/{id}.tags[]: the limits are narrower",
		},
		"another body": {
			`"requestBody": {"content": {"application/json"`, `"requestBody": {"content": {"text/csv"`,
			"patch /orders/{id}: no body of application/json",
		},
		"new member of requests":  {`"note":`, `"reason": {"type": "string"}, "note":`, ""},
		"member of requests gone": {`"note":`, `"remark":`, "patch /orders/{id}: note is gone"},
		"required member": {
			`"required": ["status"]`, `"required": ["status", "note"]`, "patch /orders/{id}: note is required now",
		},
		"optional member": {`"required": ["status"]`, `"required": []`, ""},
		"new value":       {`["READY",`, `["READY", "CANCELLED",`, ""},
		"value gone": {
			`["READY",`, `[`, "patch /orders/{id}.status: not all values of [READY COMPLETED] are in [COMPLETED]",
		},
		"wider type of requests": {`"type": "string", "enum"`, `"type": ["string", "null"], "enum"`, ""},
		"narrower type of requests": {
			`["string", "null"]`, `"string"`, "patch /orders/{id}.note: the type was [string null] and is [string]",
		},
		"new member of responses":  {`"id": {"type": "string"}`, `"id": {"type": "string"}, "no": {"type": "integer"}`, ""},
		"member of responses gone": {`"parent":`, `"child":`, "patch /orders/{id} 200: parent is gone"},
		"member of responses that can be absent": {
			`"required": ["id"]`, `"required": []`, "patch /orders/{id} 200: id is not always present",
		},
		"wider type of responses": {
			`"id": {"type": "string"}`, `"id": {"type": ["string", "null"]}`,
			"patch /orders/{id} 200.id: the type was [string] and is [string null]",
		},
		"response gone": {`{"200":`, `{"201":`, "patch /orders/{id}: no response 200 of application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(document, c.old, c.new, 1)
			var released, current releasedDocument
			persistencetest.Must(t, json.Unmarshal([]byte(document), &released))
			persistencetest.Must(t, json.Unmarshal([]byte(changed), &current))
			if got := strings.Join(compare(released, current), "\n"); got != c.want || !strings.Contains(document, c.old) {
				t.Errorf("replaced %s by %s: got %q, want %q", c.old, c.new, got, c.want)
			}
		})
	}
}
