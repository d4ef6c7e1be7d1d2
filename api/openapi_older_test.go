package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// olderSchema has the keywords on which a generated client depends.
type olderSchema struct {
	Ref        string `json:"$ref"`
	Type       any    // a name or a list of names
	Enum       []any
	Extensible []any `json:"x-extensible-enum"`
	Properties map[string]*olderSchema
	Required   []string
	Items      *olderSchema
	MinLength  int
	MaxLength  *int
	Minimum    *float64
	Maximum    *float64
}

type olderContent struct {
	Content map[string]struct{ Schema *olderSchema }
}

type olderDocument struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			In, Name string
			Required bool
			Schema   *olderSchema
		}
		RequestBody olderContent
		Responses   map[string]olderContent
	}
	Components struct{ Schemas map[string]*olderSchema }
}

func (d *olderDocument) schema(s *olderSchema) *olderSchema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil {
		s = &olderSchema{}
	}
	return s
}

// types returns the types of a schema, nil if it does not restrict them.
func (s *olderSchema) types() (names []any) {
	switch t := s.Type.(type) {
	case string:
		return []any{t}
	case []any:
		return t
	}
	return nil
}

// values returns the values of an enumeration, nil if the schema is none.
func (s *olderSchema) values() []any { return slices.Concat(s.Enum, s.Extensible) }

// comparison compares an older document with the current one.
type comparison struct {
	older, current olderDocument
	seen           map[string]bool
	differences    []string
}

func (c *comparison) differ(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(c.differences, text) {
		c.differences = append(c.differences, text)
	}
}

// schemas compares a schema of requests, which must accept what it accepted, or of responses, which must contain what
// they contained.
func (c *comparison) schemas(where string, older, current *olderSchema, request bool) {
	if older != nil && current != nil && older.Ref != "" && current.Ref != "" {
		pair := fmt.Sprint(older.Ref, current.Ref, request)
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
	}
	a, b := c.older.schema(older), c.current.schema(current)
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

func (c *comparison) request(where string, older, current *olderSchema) {
	if !within(older.types(), current.types()) {
		c.differ("%s: the type was %v and is %v", where, older.types(), current.types())
	}
	if !within(older.values(), current.values()) {
		c.differ("%s: not all values of %v are in %v", where, older.values(), current.values())
	}
	for _, name := range current.Required {
		if !slices.Contains(older.Required, name) {
			c.differ("%s: %s is required now", where, name)
		}
	}
	if current.MinLength > older.MinLength || narrower(older.MaxLength, current.MaxLength) ||
		narrower(older.Maximum, current.Maximum) || narrower(negative(older.Minimum), negative(current.Minimum)) {
		c.differ("%s: the limits are narrower", where)
	}
}

func (c *comparison) response(where string, older, current *olderSchema) {
	if !within(current.types(), older.types()) {
		c.differ("%s: the type was %v and is %v", where, older.types(), current.types())
	}
	for _, name := range older.Required {
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
	for _, path := range slices.Sorted(maps.Keys(c.older.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(c.older.Paths[path])) {
			c.operation(path, method)
		}
	}
}

func (c *comparison) operation(path, method string) {
	where := method + " " + path
	older := c.older.Paths[path][method]
	current, ok := c.current.Paths[path][method]
	if !ok {
		c.differ("%s is gone", where)
		return
	}
	parameters := map[string]*olderSchema{}
	for _, p := range current.Parameters {
		parameters[p.In+" "+p.Name] = p.Schema
	}
	for _, p := range older.Parameters {
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
	for kind, content := range older.RequestBody.Content {
		if now, ok := current.RequestBody.Content[kind]; ok {
			c.schemas(where, content.Schema, now.Schema, true)
		} else {
			c.differ("%s: no body of %s", where, kind)
		}
	}
	for status, response := range older.Responses {
		for kind, content := range response.Content {
			if now, ok := current.Responses[status].Content[kind]; ok {
				c.schemas(where+" "+status, content.Schema, now.Schema, false)
			} else {
				c.differ("%s: no response %s of %s", where, status, kind)
			}
		}
	}
}

// A client that was generated from an older document works with this service, which accepts its requests and returns
// the members that it expects. testdata/older_openapi.json is the document of 2026-11-22 without its texts.
func TestOpenAPIServesOlderClients(t *testing.T) {
	t.Parallel()
	c := comparison{seen: map[string]bool{}}
	text, err := os.ReadFile("testdata/older_openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c.older); err != nil {
		t.Fatal(err)
	}
	if text, err = openAPIAsJSON(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c.current); err != nil {
		t.Fatal(err)
	}
	c.operations()
	slices.Sort(c.differences)
	accepted := []string{
		"get /webhooks/{id}/replays is gone",                             // GET /replays?webhookId lists them
		"post /customer-auth/register.password: the limits are narrower", // the rule is documented since then
		"post /platform/websites: owner is required now",                 // a website begins with a store and an owner
		"post /platform/websites: store is required now",
	}
	if diff := cmp.Diff(accepted, c.differences); diff != "" {
		t.Errorf("differences that break older clients (-accepted +got):\n%s", diff)
	}
	if len(c.older.Paths) < 60 {
		t.Errorf("paths of the older document: got %d, want at least 60", len(c.older.Paths))
	}
}
