package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the part of the OpenAPI document that the client needs.
type document struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }

	input map[string]bool   // schemas of request bodies, directly or indirectly
	use   map[string]string // the first use of a schema, for its comment
}

type operation struct {
	ID          string `yaml:"operationId"`
	Summary     string
	Description string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	} `yaml:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

type parameter struct {
	In, Name, Description string
	Schema                *schema
}

// schema has the keywords of JSON Schema that determine a Go type. Other keywords are rules that the service checks.
type schema struct {
	Ref         string `yaml:"$ref"`
	Type        types
	Format      string
	Description string
	Maximum     float64
	Enum        []string
	Extensible  []string `yaml:"x-extensible-enum"`
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	Additional  yaml.Node `yaml:"additionalProperties"` // false or a schema
	AnyOf       []*schema `yaml:"anyOf"`
}

// types is one type or a list of types.
type types []string

func (t *types) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = types{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

func read(path string) (*document, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the document of this repository
	if err != nil {
		return nil, err
	}
	d := &document{input: map[string]bool{}, use: map[string]string{}}
	if err := yaml.Unmarshal(text, d); err != nil {
		return nil, err
	}
	for _, op := range d.operations() {
		if s := op.body(); s != nil {
			d.visit(s, d.input, "is the body of [Client."+op.name()+"]")
		}
	}
	seen := maps.Clone(d.input)
	for _, op := range d.operations() {
		if result := op.result(); result != nil {
			for _, part := range d.Components.Schemas[result.name()].Properties {
				d.visit(part, seen, "is part of the result of [Client."+op.name()+"]")
			}
		}
	}
	return d, nil
}

// visit records a schema and the schemas that it refers to, with their first uses.
func (d *document) visit(s *schema, seen map[string]bool, use string) {
	if s == nil {
		return
	}
	if name := s.name(); name != "" {
		if seen[name] {
			return
		}
		seen[name] = true
		if _, ok := d.use[name]; !ok {
			d.use[name] = use
		}
		use = "is part of [" + name + "]"
		s = d.Components.Schemas[name]
	}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		d.visit(s.Properties[member], seen, use)
	}
	for _, part := range append(s.AnyOf, s.Items, s.additional()) {
		d.visit(part, seen, use)
	}
}

// named is an operation with its method and path.
type named struct {
	*operation
	method, path string
}

// operations returns the operations in the order of paths and methods.
func (d *document) operations() []named {
	var all []named
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			all = append(all, named{d.Paths[path][method], strings.ToUpper(method), path})
		}
	}
	return all
}

func (op *operation) name() string { return exported(op.ID) }

// body returns the schema of the JSON body, or nil.
func (op *operation) body() *schema { return op.RequestBody.Content["application/json"].Schema }

// result returns the schema of the response of a success, or nil if it has no JSON.
func (op *operation) result() *schema {
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if s := op.Responses[status].Content["application/json"].Schema; s != nil && status < "300" {
			return s
		}
	}
	return nil
}

// streams reports whether the response is a stream of server-sent events.
func (op *operation) streams() bool {
	_, ok := op.Responses["200"].Content["text/event-stream"]
	return ok
}

func (op *operation) accepts(header string) bool {
	return slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "header" && p.Name == header })
}

// name returns the name of the schema that this one refers to, or "".
func (s *schema) name() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// additional returns the schema of the values of a map, or nil.
func (s *schema) additional() *schema {
	if s.Additional.Kind != yaml.MappingNode {
		return nil
	}
	var values schema
	if err := s.Additional.Decode(&values); err != nil {
		panic(err) // read has decoded it as a node
	}
	return &values
}

// goType returns the Go type of the values of a schema, and whether null is one of the values.
func (s *schema) goType() (name string, nullable bool) {
	if name := s.name(); name != "" {
		return name, false
	}
	for i, part := range s.AnyOf {
		if slices.Equal(part.Type, types{"null"}) && len(s.AnyOf) == 2 {
			name, _ := s.AnyOf[1-i].goType()
			return name, true
		}
	}
	kinds := slices.DeleteFunc(slices.Clone(s.Type), func(kind string) bool { return kind == "null" })
	nullable = len(kinds) < len(s.Type)
	if len(kinds) != 1 {
		return "any", nullable
	}
	switch kinds[0] {
	case "string":
		if s.Format == "date-time" {
			return "time.Time", nullable
		}
		return "string", nullable
	case "integer":
		if s.Format == "int64" || s.Maximum > 1<<31-1 {
			return "int64", nullable
		}
		return "int", nullable
	case "number":
		return "float64", nullable
	case "boolean":
		return "bool", nullable
	case "array":
		return "[]" + s.Items.element(), nullable
	}
	if len(s.Properties) > 0 {
		panic(fmt.Sprintf("a schema with members has no name: %s", s.Description))
	}
	if values := s.additional(); values != nil {
		return "map[string]" + values.element(), nullable
	}
	return "json.RawMessage", nullable
}

// element returns the Go type of the elements of an array or a map.
func (s *schema) element() string {
	name, nullable := s.goType()
	if nullable {
		return "*" + name
	}
	return name
}
