package api

import (
	"bytes"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// checked is implemented by In types with rules that tags cannot say.
type checked interface{ check() []app.Detail }

// demanding is implemented by In types whose content decides about a further permission;
// "" = none.
type demanding interface{ demands() app.Permission }

// bind fills the struct that in points to and refuses it for its content: validation, then
// what permission the content needs, then the store that it names.
func (c *call) bind(in any) error {
	v := reflect.ValueOf(in).Elem()
	var b binder
	b.path(v, c)
	b.ifMatch(v, c)
	b.query(v, c.request.URL.RawQuery)
	if c.body != nil {
		b.body(v, c.body)
	}
	b.idempotencyKey(c)
	b.validate(in)
	if in, ok := in.(checked); ok && !b.mistyped {
		for _, d := range in.check() {
			b.fault(d.Path, d.Message)
		}
	}
	if len(b.faults) > 0 {
		return app.InvalidAll(b.faults)
	}
	if in, ok := in.(demanding); ok && in.demands() != "" {
		if err := c.principal.Can(in.demands()); err != nil {
			return err
		}
	}
	if field := c.route.endpoint.withStore; field >= 0 {
		if store := v.Field(field).String(); store != "" && store != string(c.principal.StoreID) {
			return app.StoreMismatch()
		}
	}
	return nil
}

// Bounds of an answer that lists faults.
const (
	maxFaults    = 50
	maxPathBytes = 200
)

// binder collects the faults of one request.
type binder struct {
	faults   []app.Detail
	mistyped bool // something has the wrong type, so that rules about the whole say nothing
}

// fault notes a fault, unless the path or what contains it has one.
func (b *binder) fault(path, message string) {
	if len(b.faults) == maxFaults {
		return
	}
	for _, f := range b.faults {
		if rest, ok := strings.CutPrefix(path, f.Path); ok && (rest == "" || f.Path == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	b.faults = append(b.faults, app.Detail{Path: strings.ToValidUTF8(cut(path, maxPathBytes), "�"), Message: message})
}

func (b *binder) wrongType(path, message string) {
	b.mistyped = true
	b.fault(path, message)
}

// member appends a member's name to a path.
func member(path, name string) string {
	switch {
	case name == "":
		return path + `[""]`
	case path == "":
		return name
	}
	return path + "." + name
}

// tagged is one kind of tag of a struct.
type tagged struct {
	of  reflect.Type
	tag string
}

// fieldNames remembers what fieldsOf has found, which never changes: map[string]int by tagged.
var fieldNames sync.Map

// fieldsOf returns which fields a struct has, by the names in one kind of tag.
func fieldsOf(t reflect.Type, tag string) map[string]int {
	if known, ok := fieldNames.Load(tagged{t, tag}); ok {
		return known.(map[string]int)
	}
	fields := map[string]int{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get(tag), ","); name != "" {
			fields[name] = i
		}
	}
	fieldNames.Store(tagged{t, tag}, fields)
	return fields
}

// path binds ids; what can be no id is bound as "", which names nothing.
func (b *binder) path(v reflect.Value, c *call) {
	for name, i := range fieldsOf(v.Type(), "path") {
		v.Field(i).SetString(c.idIn(name))
	}
}

// etag is the version of a resource as If-Match names it; "" = any.
type etag string

// etagPattern is a version in double quotes.
const etagPattern = `^"[1-9][0-9]{0,17}"$`

var isEtag = regexp.MustCompile(etagPattern)

// version returns the version; 0 = any.
func (e etag) version() int64 {
	version, _ := strconv.ParseInt(strings.Trim(string(e), `"`), 10, 64) // has been checked
	return version
}

// ifMatch takes the header of operations that look at the version.
func (b *binder) ifMatch(v reflect.Value, c *call) {
	const name = "If-Match"
	field, ok := fieldsOf(v.Type(), "header")[name]
	values := c.request.Header.Values(name)
	if !ok || len(values) == 0 {
		return
	}
	if len(values) > 1 || !isEtag.MatchString(values[0]) {
		b.fault(name, `must be given once, with a version in double quotes: "3"`)
		return
	}
	v.Field(field).SetString(values[0])
}

// query binds the query parameters. Each is given at most once, unless it is a list, and
// never empty.
func (b *binder) query(v reflect.Value, raw string) {
	for i := range v.NumField() {
		if value, ok := v.Type().Field(i).Tag.Lookup("default"); ok {
			b.parameter(v.Field(i), v.Type().Field(i).Name, value)
		}
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		b.wrongType("", "the query string is malformed")
		return
	}
	fields := fieldsOf(v.Type(), "query")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i, known := fields[name]
		if !known {
			b.fault(member("", name), "is not a parameter of this operation")
			continue
		}
		field := v.Field(i)
		switch {
		case slices.Contains(values[name], ""):
			b.wrongType(name, "must not be empty")
		case field.Kind() == reflect.Slice:
			b.parameters(field, name, values[name])
		case len(values[name]) > 1:
			b.wrongType(name, "is given twice")
		default:
			b.parameter(field, name, values[name][0])
		}
	}
}

// parameters binds a parameter that can be given several times.
func (b *binder) parameters(v reflect.Value, name string, texts []string) {
	v.Set(reflect.MakeSlice(v.Type(), len(texts), len(texts)))
	for i, text := range texts {
		b.parameter(v.Index(i), name+"["+strconv.Itoa(i)+"]", text)
	}
}

// parameter binds one value of a query.
func (b *binder) parameter(v reflect.Value, name, text string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch kind := kindOf(v.Type()); kind {
	case aString, aTime:
		b.text(v, name, text)
	case anInteger:
		b.integer(v, name, text)
	case aBoolean:
		if text != "true" && text != "false" {
			b.wrongType(name, kind.must())
		}
		v.SetBool(text == "true")
	default:
		panic("a query parameter cannot be " + string(kind))
	}
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// text sets a string, a secret or a time.
func (b *binder) text(v reflect.Value, path, text string) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		b.wrongType(path, "must be UTF-8 without NUL")
		return
	}
	switch field := v.Addr().Interface().(type) {
	case *app.Secret:
		*field = app.NewSecret(text)
	case *app.Time:
		t, err := time.Parse(time.RFC3339, text) // which takes more than RFC 3339 has
		if err != nil || !rfc3339.MatchString(text) || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
			b.wrongType(path, aTime.must())
		}
		*field = app.At(t)
	default:
		v.SetString(text)
	}
}

func (b *binder) integer(v reflect.Value, path, text string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '+' {
		b.wrongType(path, anInteger.must())
	}
	v.SetInt(n)
}

// kind is how a Go type stands on the wire.
type kind string

const (
	anObject  kind = "an object"
	anArray   kind = "an array"
	aString   kind = "a string"
	aTime     kind = "a time as in RFC 3339"
	anInteger kind = "an integer"
	aBoolean  kind = "true or false"
)

func (k kind) must() string { return "must be " + string(k) }

// starts says with which tokens a value of each kind can begin.
var starts = map[kind][]jsontext.Kind{
	anObject: {'{'}, anArray: {'['}, aString: {'"'}, aTime: {'"'}, anInteger: {'0'}, aBoolean: {'t', 'f'},
}

func kindOf(t reflect.Type) kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[app.Time]():
		return aTime
	case reflect.TypeFor[app.Secret]():
		return aString
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return anObject
	case reflect.Slice:
		return anArray
	case reflect.String:
		return aString
	case reflect.Int, reflect.Int64:
		return anInteger
	case reflect.Bool:
		return aBoolean
	}
	panic("requests cannot have a " + t.String())
}

// body binds the members of a body whose syntax has been checked. Members are matched
// exactly; null is no value of any type but nullable.
func (b *binder) body(v reflect.Value, body []byte) {
	b.value(jsontext.NewDecoder(bytes.NewBuffer(body)), v, "")
}

func (b *binder) value(decoder *jsontext.Decoder, v reflect.Value, path string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer { // a nullable, which has been given
		if decoder.PeekKind() == 'n' {
			decoder.SkipValue()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	kind := kindOf(v.Type())
	if !slices.Contains(starts[kind], decoder.PeekKind()) {
		b.wrongType(path, kind.must())
		decoder.SkipValue()
		return
	}
	switch {
	case v.Kind() == reflect.Map:
		b.dictionary(decoder, v, path)
		return
	case kind == anObject:
		b.object(decoder, v, path)
		return
	case kind == anArray:
		b.array(decoder, v, path)
		return
	}
	token, _ := decoder.ReadToken()
	switch kind {
	case aString, aTime:
		b.text(v, path, token.String())
	case anInteger:
		b.integer(v, path, token.String())
	case aBoolean:
		v.SetBool(token.Bool())
	}
}

func (b *binder) array(decoder *jsontext.Decoder, v reflect.Value, path string) {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	decoder.ReadToken()
	for i := 0; decoder.PeekKind() != ']'; i++ {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		b.value(decoder, v.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	decoder.ReadToken()
}

func (b *binder) object(decoder *jsontext.Decoder, v reflect.Value, path string) {
	fields := fieldsOf(v.Type(), "json")
	decoder.ReadToken()
	for decoder.PeekKind() != '}' {
		token, _ := decoder.ReadToken()
		name := token.String()
		if field, known := fields[name]; known {
			b.value(decoder, v.Field(field), member(path, name))
			continue
		}
		b.fault(member(path, name), "is not a member of this request")
		decoder.SkipValue()
	}
	decoder.ReadToken()
}

// dictionary binds an object whose members the client names. In a merge patch, whose values
// are pointers, null is one.
func (b *binder) dictionary(decoder *jsontext.Decoder, v reflect.Value, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	decoder.ReadToken()
	for decoder.PeekKind() != '}' {
		token, _ := decoder.ReadToken()
		name := token.String()
		element := reflect.New(v.Type().Elem()).Elem()
		if element.Kind() == reflect.Pointer && decoder.PeekKind() == 'n' {
			decoder.SkipValue()
		} else {
			b.value(decoder, element, member(path, name))
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	}
	decoder.ReadToken()
}

// idempotencyKey takes the header of operations that create something.
func (b *binder) idempotencyKey(c *call) {
	const name = "Idempotency-Key"
	keys := c.request.Header.Values(name)
	if !c.route.once {
		return
	}
	c.once = &persistence.Once{
		Credential: c.principal.Credential(), Route: c.request.Method + " " + c.request.URL.Path, Body: c.body,
	}
	if len(keys) == 0 {
		return
	}
	c.once.Key = keys[0]
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > 255 || strings.ContainsFunc(keys[0], invisible) {
		b.fault(name, "must be given once, with 1 to 255 visible ASCII characters")
	}
}
