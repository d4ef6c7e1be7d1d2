package filter

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Bounds of values whose schema has none. Responses state no limits, but the requests that cause events do.
const (
	defaultCharacters = 1000
	defaultElements   = 100
)

// schema is the part of a JSON Schema that determines a type.
type schema struct {
	Type       names              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Additional *schema            `json:"additionalProperties"`
	Enum       []any              `json:"enum"`
	MaxLength  uint64             `json:"maxLength"`
	MaxItems   uint64             `json:"maxItems"`
}

// names are one or more names of types.
type names []string

func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// shape is the type of a value in all event types that have it.
type shape struct {
	kind     string // of JSON Schema; "map" = an object with any members, "" = differs between event types
	nullable bool
	name     string            // of the CEL type, for objects
	members  map[string]*shape // of objects
	element  *shape            // of lists and maps
	size     uint64            // maximum number of characters or elements
}

// dynamicShape returns the shape of a value of an unknown type.
func dynamicShape() *shape { return &shape{size: defaultCharacters} }

func shapeOf(name string, s *schema) *shape {
	found := &shape{name: name, size: defaultElements}
	for _, kind := range s.Type {
		switch {
		case kind == "null":
			found.nullable = true
		case found.kind != "":
			return dynamicShape()
		default:
			found.kind = kind
		}
	}
	switch found.kind {
	case "string":
		found.size = defaultCharacters
		if s.MaxLength > 0 {
			found.size = s.MaxLength
		}
	case "array":
		if s.MaxItems > 0 {
			found.size = s.MaxItems
		}
		if s.Items == nil {
			return dynamicShape()
		}
		found.element = shapeOf(name, s.Items)
	case "object":
		if s.Properties == nil && s.Additional != nil {
			found.kind, found.element = "map", shapeOf(name, s.Additional)
			break
		}
		found.members = map[string]*shape{}
		for member, of := range s.Properties {
			found.members[member] = shapeOf(name+"."+member, of)
		}
	}
	return found
}

// union returns the shape of a value that has one of two shapes.
func union(a, b *shape) *shape {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.kind != b.kind:
		return dynamicShape()
	}
	both := &shape{
		kind: a.kind, nullable: a.nullable || b.nullable, name: a.name, element: union(a.element, b.element),
		size: max(a.size, b.size),
	}
	if a.members != nil {
		both.members = maps.Clone(a.members)
		for name, member := range b.members {
			both.members[name] = union(both.members[name], member)
		}
	}
	return both
}

// celType returns the type of a value. A nullable list or map is dynamic, because CEL has no type for it.
func (s *shape) celType() *cel.Type {
	var scalar *cel.Type
	switch s.kind {
	case "boolean":
		scalar = cel.BoolType
	case "integer":
		scalar = cel.IntType
	case "string":
		scalar = cel.StringType
	case "object":
		return cel.ObjectType(s.typeName())
	case "array", "map":
		switch {
		case s.nullable:
			return cel.DynType
		case s.kind == "array":
			return cel.ListType(s.element.celType())
		}
		return cel.MapType(cel.StringType, s.element.celType())
	default:
		// Also of numbers: a schema does not tell whether a number of JSON is whole.
		return cel.DynType
	}
	if s.nullable {
		return cel.NullableType(scalar)
	}
	return scalar
}

// typeName returns a name that an expression cannot contain, so that it cannot create the object.
func (s *shape) typeName() string { return "object " + s.name }

// at returns the shape of the value at a path, nil if it is not known. CEL names the elements of lists and maps.
func (s *shape) at(path []string) *shape {
	for _, step := range path {
		switch {
		case s == nil:
			return nil
		case step == "@keys":
			return &shape{kind: "string", size: defaultCharacters}
		case step == "@items" || step == "@values" || s.kind == "map":
			s = s.element
		default:
			s = s.members[step]
		}
	}
	return s
}

// provider makes the objects of a shape known to CEL.
type provider struct {
	types.Provider

	objects map[string]*shape // by typeName
}

func newProvider(root *shape) (*provider, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &provider{registry, map[string]*shape{}}
	p.add(root)
	return p, nil
}

func (p *provider) add(s *shape) {
	if s == nil {
		return
	}
	if s.kind == "object" {
		p.objects[s.typeName()] = s
	}
	for _, member := range s.members {
		p.add(member)
	}
	p.add(s.element)
}

// FindStructType implements [types.Provider].
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements [types.Provider].
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if object, ok := p.objects[name]; ok {
		return slices.Sorted(maps.Keys(object.members)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements [types.Provider].
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	object, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	member, ok := object.members[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: member.celType()}, true
}
