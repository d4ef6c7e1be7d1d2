package api

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"

	"github.com/comanda-dev/comanda/app"
)

// nameOf names the schema of a type: PlaceOrderRequest, Order, Failure.
func nameOf(t reflect.Type, _ string) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	if in, ok := strings.CutSuffix(name, "In"); ok {
		name = in + "Request"
	}
	name = strings.TrimSuffix(name, "Out")
	switch name {
	case "errorBody":
		return "Error"
	case "Subscription":
		return "Webhook"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// describeType adds the values of enumerations, the comments on types, and that requests
// take no members but those named.
func describeType(params jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := params.Value.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !params.Processed {
		return false, nil
	}
	for _, value := range enums[t] {
		params.Schema.Enum = append(params.Schema.Enum, value)
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "" {
		return false, nil
	}
	if text := comments()[t.Name()]; text != "" && params.Schema.Description == nil && ast.IsExported(t.Name()) {
		params.Schema.WithDescription(text)
	}
	oc, ok := openapi.OperationCtx(params.Context)
	if ok && !oc.IsProcessingResponse() && oc.ProcessingIn() == openapi.InBody {
		no := false
		params.Schema.AdditionalProperties = &jsonschema.SchemaOrBool{TypeBoolean: &no}
	}
	return false, nil
}

// describeField turns validate tags into the constraints of the schema, and comments into
// descriptions.
func describeField(params jsonschema.InterceptPropParams) error {
	if !params.Processed {
		return nil
	}
	oc, ok := openapi.OperationCtx(params.Context)
	if !ok {
		return nil // the library only looks whether there is a body
	}
	schema, field := params.PropertySchema, params.Field
	own, keys, each := rulesOf(field.Tag.Get("validate"))
	inBody := field.Tag.Get("json") != ""
	mandatory := slices.ContainsFunc(own, func(r rule) bool { return r.name == "required" })
	if oc.IsProcessingResponse() {
		mandatory = !strings.Contains(field.Tag.Get("json"), ",omit")
	}
	if inBody && mandatory {
		params.ParentSchema.Required = append(params.ParentSchema.Required, params.Name)
	}
	if schema.Description == nil {
		if text := commentOn(params.ParentSchema.ReflectType, field.Name); text != "" {
			schema.WithDescription(text)
		}
	}
	if field.Name == "Success" {
		schema.WithConst(params.ParentSchema.ReflectType != reflect.TypeFor[failure]())
	}
	if !oc.IsProcessingResponse() && !clearable(field.Type) || inBody && strings.Contains(field.Tag.Get("json"), ",omit") {
		schema.RemoveType(jsonschema.Null) // absent, never null
	}
	if schema.Type != nil && schema.HasType(jsonschema.Null) && len(schema.Enum) > 0 {
		schema.Enum = append(schema.Enum, nil)
	}
	if !oc.IsProcessingResponse() && len(schema.AnyOf) == 2 { // of null and a reference
		*schema = jsonschema.Schema{Ref: schema.AnyOf[1].TypeObject.Ref, Description: schema.Description}
	}
	if schema.Ref != nil {
		return nil
	}
	if field.Tag.Get("query") != "" && schema.HasType(jsonschema.String) && schema.Format == nil && len(schema.Enum) == 0 {
		schema.WithMinLength(1)
	}
	if field.Type == reflect.TypeFor[etag]() {
		schema.WithPattern(etagPattern)
	}
	constrain(schema, field.Type, own)
	if len(keys) > 0 {
		names := jsonschema.Schema{}
		constrain(&names, field.Type.Key(), keys)
		schema.WithPropertyNames(names.ToSchemaOrBool())
	}
	if field.Type.Kind() == reflect.Map && field.Type.Elem().Kind() == reflect.Pointer && elementsOf(schema).Ref != nil {
		null := jsonschema.Null.ToSchemaOrBool() // takes a member out
		either := (&jsonschema.Schema{AnyOf: []jsonschema.SchemaOrBool{null, *schema.AdditionalProperties}}).ToSchemaOrBool()
		schema.AdditionalProperties = &either
	}
	if elements := elementsOf(schema); len(each) > 0 && elements.Ref == nil && len(elements.AnyOf) == 0 {
		constrain(elements, field.Type.Elem(), each)
	}
	return nil
}

// clearable reports whether a type is a nullable.
func clearable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer
}

// elementsOf returns the schema of a list's elements, of an object's members.
func elementsOf(schema *jsonschema.Schema) *jsonschema.Schema {
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.TypeObject
	}
	if schema.Items != nil {
		return schema.Items.SchemaOrBool.TypeObject
	}
	return nil
}

// describeNull keeps lists and maps from being nullable: they are empty instead.
func describeNull(params jsonschema.InterceptNullabilityParams) {
	if kind := params.Type.Kind(); params.NullAdded && (kind == reflect.Slice || kind == reflect.Map) {
		params.Schema.RemoveType(jsonschema.Null)
	}
}

// constrain says in a schema what rules say of a value of type t.
func constrain(schema *jsonschema.Schema, t reflect.Type, rules []rule) {
	for _, r := range rules {
		number, _ := strconv.ParseInt(r.param, 10, 64)
		switch key := r.name + " " + string(kindOf(t)); key {
		case "required a string":
			if len(schema.Enum) == 0 {
				schema.WithMinLength(1)
			}
		case "min a string":
			schema.WithMinLength(number)
		case "max a string", "bytes a string":
			schema.WithMaxLength(number)
		case "min an array":
			schema.WithMinItems(number)
		case "max an array":
			schema.WithMaxItems(number)
		case "min an integer":
			schema.WithMinimum(float64(number))
		case "max an integer":
			schema.WithMaximum(float64(number))
		case "unique an array":
			schema.WithUniqueItems(true)
		case "max an object":
			schema.WithMaxProperties(number)
		case "currency a string":
			schema.WithPattern("^[A-Z]{3}$")
		case "locale a string":
			schema.WithPattern(localePattern)
		case "date a string":
			schema.WithFormat("date")
		case "timezone a string":
			schema.WithPattern(timezonePattern)
		case "https_url a string":
			schema.WithFormat("uri")
		case "email a string":
			schema.WithFormat("email")
		case "notblank a string":
			schema.WithPattern(`\S`)
		case "phone a string":
			schema.WithPattern(phonePattern)
		case "provider a string":
			schema.WithPattern(providerPattern)
		case "last4 a string":
			schema.WithPattern(last4Pattern)
		case "iso3166_1_alpha2 a string":
			schema.WithPattern("^[A-Z]{2}$")
		case "subscribable a string":
			schema.Enum = nil
			for _, t := range app.EventTypes {
				schema.Enum = append(schema.Enum, t)
			}
		case "id a string":
			schema.WithPattern("^[A-Za-z0-9_-]{1,64}$")
		}
	}
}

// rule is one part of a validate tag.
type rule struct{ name, param string }

// rulesOf returns the rules for a value, those for the names of its members and those for
// each of its elements.
func rulesOf(tag string) (own, keys, each []rule) {
	if tag == "" {
		return nil, nil, nil
	}
	list := &own
	for part := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(part, "=")
		switch name {
		case "keys":
			list = &keys
		case "dive", "endkeys":
			list = &each
		default:
			*list = append(*list, rule{name, param})
		}
	}
	return own, keys, each
}

// source is the parsed code of a folder.
func source(folder string) []*ast.File {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	must(err)
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		names = []string{folder}
	}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		must(err)
		files = append(files, file)
	}
	return files
}

// comments returns what the code says of types ("Order") and fields ("Order.Number").
var comments = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for _, file := range append(source("../app"), source(".")...) {
		ast.Inspect(file, func(n ast.Node) bool {
			declaration, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range declaration.Specs {
				named, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				texts[named.Name.Name] = plain(cmp.Or(named.Doc.Text(), declaration.Doc.Text()))
				if structure, ok := named.Type.(*ast.StructType); ok {
					for _, field := range structure.Fields.List {
						for _, name := range field.Names {
							texts[named.Name.Name+"."+name.Name] = plain(cmp.Or(field.Doc.Text(), field.Comment.Text()))
						}
					}
				}
			}
			return true
		})
	}
	return texts
})

// commentOn finds the comment on a field of a struct or of one that it embeds.
func commentOn(t reflect.Type, field string) string {
	if t == nil {
		return ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if text := comments()[name+"."+field]; text != "" {
		return text
	}
	for i := range t.NumField() {
		if t.Field(i).Anonymous {
			if text := commentOn(t.Field(i).Type, field); text != "" {
				return text
			}
		}
	}
	return ""
}

var (
	reference = regexp.MustCompile(` ?\((spec|contract)[^)]*\)`)
	link      = regexp.MustCompile(`\[(\*?[A-Z][\w.]*)\]`)
)

// plain takes from a comment what only readers of the code understand.
func plain(comment string) string {
	text := link.ReplaceAllString(reference.ReplaceAllString(comment, ""), "$1")
	return strings.Join(strings.Fields(text), " ")
}

// constants returns the string constants of a type that a file or folder declares.
func constants(t *testing.T, path, typeName string) (values []string) {
	t.Helper()
	for _, file := range source(path) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			named, ok := spec.Type.(*ast.Ident)
			if !ok || named.Name != typeName || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				must(err)
				values = append(values, value)
			}
			return true
		})
	}
	return values
}
