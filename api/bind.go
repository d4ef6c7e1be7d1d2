package api

import (
	"cmp"
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

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// checked is implemented by request types with rules that tags cannot express.
type checked interface{ check() []app.Detail }

// demanding is implemented by request types whose content can require further permissions.
type demanding interface{ demands() []app.Permission }

// bind fills the struct that in points to. It validates the content, then checks the permission that the
// content requires, then the store that it names.
func (c *call) bind(in any) error {
	v := reflect.ValueOf(in).Elem()
	var b binder
	if c.route.Handler.rows {
		b.most = app.MaxImportFaults
	}
	b.path(v, c)
	b.ifMatch(v, c)
	b.lastEventID(v, c)
	b.query(v, c.request.URL.RawQuery)
	for _, fault := range c.rowFaults {
		b.fault(fault.Path, fault.Message)
	}
	if c.body != nil {
		if err := checkContent(c.body); err != nil {
			return err
		}
		b.body(v, c.body)
	}
	b.idempotencyKey(c)
	b.validate(in)
	// The rules of rows apply to mistyped rows, too, so that one response lists all faults.
	if in, ok := in.(checked); ok && (!b.mistyped || c.route.Handler.rows) && !b.full() {
		for _, d := range in.check() {
			b.fault(d.Path, d.Message)
		}
	}
	if c.route.Handler.rows && b.onlyInRows() {
		c.rowFaults = b.faults // the handler adds those that it finds in the store
		return nil
	}
	if len(b.faults) > 0 {
		return app.InvalidAll(b.faults)
	}
	if in, ok := in.(demanding); ok {
		for _, permission := range in.demands() {
			if err := c.principal.Can(permission); err != nil {
				return err
			}
		}
	}
	if field := c.route.Handler.withStore; field != nil {
		if store := v.FieldByIndex(field).String(); store != "" && store != string(c.principal.StoreID) {
			return app.StoreMismatch()
		}
	}
	return nil
}

// maxElements is the largest number of elements that a list can have; validation refuses longer lists. Elements beyond
// it are not bound, because they would take many times the memory of the body.
const maxElements = 2000

// maxAllElements is the largest number of elements in all lists of a body together.
const maxAllElements = 20_000

// Limits of the details of an error response.
const (
	maxFaults    = 50
	maxPathBytes = 200
)

// binder collects the faults of one request.
type binder struct {
	faults   []app.Detail
	most     int  // faults, further ones are omitted; 0 = maxFaults
	mistyped bool // a member has the wrong type, so that the rules of check cannot be applied
}

// full reports whether the error response has all the details that it can have.
func (b *binder) full() bool { return len(b.faults) == cmp.Or(b.most, maxFaults) }

// faulty reports whether a path or one of its parents has a fault.
func (b *binder) faulty(path string) bool {
	for _, f := range b.faults {
		rest, ok := strings.CutPrefix(path, f.Path)
		if ok && (rest == "" || f.Path == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// onlyInRows reports whether there are faults, all of them of single rows, and room for more.
func (b *binder) onlyInRows() bool {
	for _, f := range b.faults {
		if !strings.HasPrefix(f.Path, "rows[") {
			return false
		}
	}
	return len(b.faults) > 0 && !b.full()
}

// fault adds a fault, unless the path or one of its parents already has one.
func (b *binder) fault(path, message string) {
	if b.full() || b.faulty(path) {
		return
	}
	b.faults = append(b.faults, app.Detail{
		Path: strings.ToValidUTF8(cut(path, maxPathBytes), "\ufffd"), Message: message,
	})
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

// tagged identifies the tags of one key ("json", "query", …) of a struct type.
type tagged struct {
	of  reflect.Type
	tag string
}

// fieldNames caches the results of fieldsOf: map[string][]int by tagged.
var fieldNames sync.Map

// fieldsOf returns the indexes of the fields of a struct and its embedded structs by the names in the tags of one key.
func fieldsOf(t reflect.Type, tag string) map[string][]int {
	if known, ok := fieldNames.Load(tagged{t, tag}); ok {
		return known.(map[string][]int)
	}
	fields := map[string][]int{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get(tag), ","); name != "" {
			fields[name] = field.Index
		}
	}
	fieldNames.Store(tagged{t, tag}, fields)
	return fields
}

// path binds the ids in the path. An invalid id is bound as "", which no row has.
func (b *binder) path(v reflect.Value, c *call) {
	for name, field := range fieldsOf(v.Type(), "path") {
		v.FieldByIndex(field).SetString(c.idIn(name))
	}
}

// etag is the value of If-Match, the version of a resource in double quotes; "" = any version.
type etag string

// etagPattern matches a version in double quotes.
const etagPattern = `^"[1-9][0-9]{0,17}"$`

var isEtag = regexp.MustCompile(etagPattern)

// version returns the version; 0 = any.
func (e etag) version() int64 {
	version, _ := strconv.ParseInt(strings.Trim(string(e), `"`), 10, 64) // valid: isEtag matched
	return version
}

// ifMatch binds the If-Match header of operations that check the version.
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
	v.FieldByIndex(field).SetString(values[0])
}

// lastEventID binds the Last-Event-ID header of streams that continue after an event.
func (b *binder) lastEventID(v reflect.Value, c *call) {
	const name = "Last-Event-ID"
	field, ok := fieldsOf(v.Type(), "header")[name]
	values := c.request.Header.Values(name)
	switch {
	case !ok || len(values) == 0:
	case len(values) > 1:
		b.wrongType(name, "is a duplicate")
	default:
		b.text(v.FieldByIndex(field), name, values[0])
	}
}

// query binds the query parameters. A parameter must not be empty and, unless it is a list, not repeated.
func (b *binder) query(v reflect.Value, raw string) {
	for _, field := range reflect.VisibleFields(v.Type()) {
		if value, ok := field.Tag.Lookup("default"); ok {
			b.parameter(v.FieldByIndex(field.Index), field.Name, value)
		}
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		b.wrongType("", "the query string is malformed")
		return
	}
	fields := fieldsOf(v.Type(), "query")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		index, known := fields[name]
		if !known {
			b.fault(member("", name), "is not a parameter of this operation")
			continue
		}
		field := v.FieldByIndex(index)
		switch {
		case slices.Contains(values[name], ""):
			b.wrongType(name, "must not be empty")
		case field.Kind() == reflect.Slice:
			b.parameters(field, name, values[name])
		case len(values[name]) > 1:
			b.wrongType(name, "is a duplicate")
		default:
			b.parameter(field, name, values[name][0])
		}
	}
}

// parameters binds a parameter that can be repeated.
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
		t, err := time.Parse(time.RFC3339, text) // accepts more than RFC 3339
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

// idempotencyKey binds the Idempotency-Key header. An operation that does not accept it refuses it, because the caller
// expects that a repetition has no effect.
func (b *binder) idempotencyKey(c *call) {
	const name = "Idempotency-Key"
	keys := c.request.Header.Values(name)
	if !c.route.Idempotent {
		if len(keys) > 0 {
			b.fault(name, "is not accepted by this operation")
		}
		return
	}
	c.once = &persistence.Once{
		Credential: c.principal.Credential(), Route: c.request.Method + " " + c.request.URL.EscapedPath(), Body: c.body,
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
