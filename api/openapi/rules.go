package openapi

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/comanda-dev/comanda/app"
)

// Rule is one part of a validate tag.
type Rule struct{ Name, Param string }

// Limits are rules by the name under which validate tags refer to them. They can contain further names.
type Limits map[string]string

// resolve replaces the names in a validate tag by their rules.
func (l Limits) resolve(tag string) string {
	parts := strings.Split(tag, ",")
	for i, part := range parts {
		if rules, named := l[part]; named {
			parts[i] = l.resolve(rules)
		}
	}
	return strings.Join(parts, ",")
}

// Rules returns the parts of a validate tag: the rules for the value, for the names of its members, and for
// each of its elements.
func (l Limits) Rules(tag string) (own, keys, each []Rule) {
	if tag == "" {
		return nil, nil, nil
	}
	list := &own
	for part := range strings.SplitSeq(l.resolve(tag), ",") {
		name, param, _ := strings.Cut(part, "=")
		switch name {
		case "keys":
			list = &keys
		case "dive", "each", "endkeys":
			list = &each
		default:
			*list = append(*list, Rule{name, param})
		}
	}
	return own, keys, each
}

// constrain adds the rules for a value of type t to its schema.
func (s Schemas) constrain(schema *jsonschema.Schema, t reflect.Type, rules []Rule) {
	kind := kindOf(t)
	for _, rule := range rules {
		number, _ := strconv.ParseInt(rule.Param, 10, 64) // 0 for rules without a number
		switch kind {
		case reflect.String:
			s.constrainString(schema, rule.Name, number)
		case reflect.Int:
			switch rule.Name {
			case "min":
				schema.WithMinimum(float64(number))
			case "max":
				schema.WithMaximum(float64(number))
			}
		case reflect.Slice:
			switch rule.Name {
			case "min":
				schema.WithMinItems(number)
			case "max":
				schema.WithMaxItems(number)
			case "unique":
				schema.WithUniqueItems(true)
			}
		case reflect.Map:
			if rule.Name == "max" {
				schema.WithMaxProperties(number)
			}
		}
	}
}

func (s Schemas) constrainString(schema *jsonschema.Schema, rule string, number int64) {
	switch rule {
	case "required":
		if len(schema.Enum) == 0 {
			schema.WithMinLength(1)
		}
	case "min":
		schema.WithMinLength(number)
	case "max", "bytes":
		schema.WithMaxLength(number)
	}
	tag := s.Tags[rule]
	if tag.Pattern != "" {
		schema.WithPattern(tag.Pattern)
	}
	if tag.Format != "" {
		schema.WithFormat(tag.Format)
	}
	if tag.Enum != "" {
		*schema = jsonschema.Schema{Description: schema.Description}
		schema.WithRef(schemasAt + tag.Enum)
	}
}

// kindOf returns how values of a type are encoded: String, Int, Slice or Map, or another kind that no rule
// is for.
func kindOf(t reflect.Type) reflect.Kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[app.Secret]():
		return reflect.String
	case t == reflect.TypeFor[app.Time]():
		return reflect.Invalid
	case t.Kind() == reflect.Int64:
		return reflect.Int
	}
	return t.Kind()
}
