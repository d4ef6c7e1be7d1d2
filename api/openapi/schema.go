package openapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/comanda-dev/comanda/app"
)

// Schemas generates the schemas of Go types. It describes them by texts, and constrains them by the validate tags of
// their fields.
type Schemas struct {
	Texts    *Texts
	Enums    map[reflect.Type][]string // the values of string types that are enumerations
	Open     map[reflect.Type]string   // the names in Lists of string types to which values are added
	Patterns map[reflect.Type]string   // of string types
	Tags     map[string]Tag            // the meaning of validate tags for strings, besides bounds
	Limits   Limits                    // the names of rules in validate tags
	Lists    map[string]List           // further enumerations, by the name of their schema
	Samples  []any                     // values that are the examples of their types
	Failure  any                       // an empty body of an error response
}

// Tag is the meaning of a validate tag in a schema. Zero members say nothing.
type Tag struct {
	Pattern string
	Format  string
	Enum    string // the name of a schema
}

// List is an enumeration without a Go type.
type List struct {
	Values []string
	Open   bool // values are added in later releases
}

// Reflector returns a new generator of schemas.
func (s Schemas) Reflector() *openapi31.Reflector {
	reflector := openapi31.NewReflector()
	reflector.DefaultOptions = append(reflector.DefaultOptions,
		jsonschema.InterceptDefName(s.nameOf), jsonschema.InterceptSchema(s.describeType),
		jsonschema.InterceptProp(s.describeField), jsonschema.InterceptNullability(describeNull),
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true })
	text := func() *jsonschema.Schema { return jsonschema.String.ToSchemaOrBool().TypeObject }
	reflector.AddTypeMapping(app.Time{}, *text().WithFormat("date-time"))
	reflector.AddTypeMapping(app.Secret{}, *text().WithFormat("password").WithExtraPropertiesItem("writeOnly", true))
	reflector.AddTypeMapping(jsontext.Value{}, *jsonschema.Object.ToSchemaOrBool().TypeObject)
	reflector.InlineDefinition(jsontext.Value{})
	reflector.InlineDefinition(app.Time{})
	reflector.InlineDefinition(app.Secret{})
	return reflector
}

// nameOf returns the name of the schema of a type: PlaceOrderRequest, Order, OrderResponse, OrderListResponse, Failure.
func (s Schemas) nameOf(t reflect.Type, _ string) string {
	if other := s.Texts.typeText(t.Name()).Schema; other != "" {
		return other
	}
	name, _, generic := strings.Cut(t.Name(), "[")
	if field, ok := fieldOf(t, "Data"); ok && generic {
		data, suffix := field.Type, "Response"
		if data.Kind() == reflect.Slice {
			data, suffix = data.Elem(), "ListResponse"
		}
		return s.nameOf(data, "") + suffix
	}
	if in, ok := strings.CutSuffix(name, "In"); ok {
		name = in + "Request"
	}
	name = strings.TrimSuffix(name, "Out")
	return strings.ToUpper(name[:1]) + name[1:]
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName(name)
}

// describeType adds the values of enumerations and the texts of types. Requests have no members but
// those that they define.
func (s Schemas) describeType(params jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := params.Value.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !params.Processed {
		return false, nil
	}
	for _, value := range s.Enums[t] {
		params.Schema.Enum = append(params.Schema.Enum, value)
	}
	if t.PkgPath() == "" {
		return false, nil
	}
	if text := s.Texts.typeText(t.Name()).Text; text != "" && params.Schema.Description == nil {
		params.Schema.WithDescription(text)
	}
	if t.Kind() != reflect.Struct {
		return false, nil
	}
	oc, ok := openapi.OperationCtx(params.Context)
	if ok && !oc.IsProcessingResponse() && oc.ProcessingIn() == openapi.InBody {
		no := false
		params.Schema.AdditionalProperties = &jsonschema.SchemaOrBool{TypeBoolean: &no}
	}
	return false, nil
}

// describeField adds the text and the example of a member and the constraints of its validate tag.
func (s Schemas) describeField(params jsonschema.InterceptPropParams) error {
	oc, ok := openapi.OperationCtx(params.Context)
	if !params.Processed || !ok { // without an operation, the library only looks for a body
		return nil
	}
	schema, field, response := params.PropertySchema, params.Field, oc.IsProcessingResponse()
	own, keys, each := s.Limits.Rules(field.Tag.Get("validate"))
	inBody, omitted := field.Tag.Get("json") != "", strings.Contains(field.Tag.Get("json"), ",omit")
	required := slices.ContainsFunc(own, func(r Rule) bool { return r.Name == "required" })
	if inBody && (response && !omitted || !response && required) {
		params.ParentSchema.Required = append(params.ParentSchema.Required, params.Name)
	}
	if list := s.Open[field.Type]; list != "" {
		*schema = jsonschema.Schema{Description: schema.Description}
		schema.WithRef(schemasAt + list)
	}
	s.exemplify(schema, params.ParentSchema.ReflectType, field, params.Name)
	if field.Name == "Success" {
		schema.WithConst(params.ParentSchema.ReflectType != reflect.TypeOf(s.Failure))
	}
	if !response && !clearable(field.Type) || inBody && omitted {
		schema.RemoveType(jsonschema.Null) // absent, never null
	}
	if schema.Type != nil && schema.HasType(jsonschema.Null) && len(schema.Enum) > 0 {
		schema.Enum = append(schema.Enum, nil)
	}
	if !response && len(schema.AnyOf) == 2 { // of null and a reference
		reference := jsonschema.Schema{Ref: schema.AnyOf[1].TypeObject.Ref}
		*schema = jsonschema.Schema{Ref: reference.Ref, Description: schema.Description}
		if clearable(field.Type) {
			null := jsonschema.Null.ToSchemaOrBool()
			schema.Ref, schema.AnyOf = nil, []jsonschema.SchemaOrBool{null, reference.ToSchemaOrBool()}
		}
	}
	if nullableEnum := response && inBody && !omitted && field.Type.Kind() == reflect.Pointer &&
		s.Enums[field.Type.Elem()] != nil; nullableEnum && schema.Ref != nil {
		null, reference := jsonschema.Null.ToSchemaOrBool(), jsonschema.Schema{Ref: schema.Ref}
		schema.AnyOf, schema.Ref = []jsonschema.SchemaOrBool{null, reference.ToSchemaOrBool()}, nil
		return nil
	}
	if schema.Ref != nil {
		return nil
	}
	isString := schema.HasType(jsonschema.String)
	if field.Tag.Get("query") != "" && isString && schema.Format == nil && len(schema.Enum) == 0 {
		schema.WithMinLength(1)
	}
	if pattern := s.Patterns[field.Type]; pattern != "" {
		schema.WithPattern(pattern)
	}
	s.constrain(schema, field.Type, own)
	s.constrainElements(schema, field.Type, keys, each)
	return nil
}

// exemplify adds the text and the example of a member. An example that several types share is for members that are
// texts or are not, as itself.
func (s Schemas) exemplify(schema *jsonschema.Schema, parent reflect.Type, field reflect.StructField, name string) {
	own := s.Texts.own(parent, name)
	shared := s.Texts.shared(own, field.Type, name)
	switch text := own.or(shared).Text; {
	case text != "":
		schema.WithDescription(text)
	case schema.Ref == nil && schema.AnyOf == nil:
		s.Texts.miss(parent, field.Name, name)
	}
	_, text := shared.Example.(string)
	switch {
	case schema.Type == nil:
	case own.Example != nil:
		schema.WithExamples(own.Example)
	case shared.Example != nil && schema.Format == nil && text == schema.HasType(jsonschema.String):
		schema.WithExamples(shared.Example)
	}
}

// constrainElements adds the rules for the elements of a list, or for the names and values of a map.
func (s Schemas) constrainElements(schema *jsonschema.Schema, t reflect.Type, keys, each []Rule) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(keys) > 0 {
		names := jsonschema.Schema{}
		s.constrain(&names, t.Key(), keys)
		schema.WithPropertyNames(names.ToSchemaOrBool())
	}
	if t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Pointer && elementsOf(schema).Ref != nil {
		null := jsonschema.Null.ToSchemaOrBool() // removes a member
		either := jsonschema.Schema{AnyOf: []jsonschema.SchemaOrBool{null, *schema.AdditionalProperties}}
		nullable := either.ToSchemaOrBool()
		schema.AdditionalProperties = &nullable
	}
	elements := elementsOf(schema)
	enum := slices.ContainsFunc(each, func(r Rule) bool { return s.Tags[r.Name].Enum != "" })
	if enum || len(each) > 0 && elements.Ref == nil && len(elements.AnyOf) == 0 {
		s.constrain(elements, t.Elem(), each)
	}
}

// clearable reports whether null clears a member of a type.
func clearable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer
}

// elementsOf returns the schema of the elements of a list, or of the members of a map.
func elementsOf(schema *jsonschema.Schema) *jsonschema.Schema {
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.TypeObject
	}
	if schema.Items != nil {
		return schema.Items.SchemaOrBool.TypeObject
	}
	return nil
}

// describeNull keeps lists and maps from being nullable: they are empty instead. The library shares the type of a
// schema between all members of the same Go type, so a nullable member gets its own copy.
func describeNull(params jsonschema.InterceptNullabilityParams) {
	if !params.NullAdded || params.Schema.Type == nil {
		return
	}
	nullable := *params.Schema.Type
	params.Schema.RemoveType(jsonschema.Null)
	if kind := params.Type.Kind(); kind != reflect.Slice && kind != reflect.Map {
		params.Schema.Type = &nullable
	}
}

// denullify removes null from the named enumerations of a document. The library adds it if the first member with the
// type is nullable; the members themselves state whether they are.
func (s Schemas) denullify(document map[string]any) {
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for enum := range s.Enums {
		if schema, used := schemas[s.nameOf(enum, "")].(map[string]any); used {
			schema["type"] = "string"
		}
	}
}
