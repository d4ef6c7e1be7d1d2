package api

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
)

// kind is the JSON type of a Go type.
type kind string

const (
	anObject  kind = "an object"
	anArray   kind = "an array"
	aString   kind = "a string"
	aTime     kind = "an RFC 3339 time"
	anInteger kind = "an integer"
	aBoolean  kind = "true or false"
)

func (k kind) must() string { return "must be " + string(k) }

// starts lists the first tokens of a value of each kind.
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

// checkContent returns an error if a body that has passed checkSyntax has duplicate members, NUL in strings, which
// PostgreSQL cannot store, or more than maxAllElements elements in all its lists together.
func checkContent(body []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	elements := 0
	for {
		if container, _ := decoder.StackIndex(decoder.StackDepth()); container == '[' && decoder.PeekKind() != ']' {
			if elements++; elements > maxAllElements {
				return app.Errorf(app.CodeValidationFailed,
					"the lists of the body must have at most %d elements together", maxAllElements)
			}
		}
		var err error
		var text jsontext.Value
		if decoder.PeekKind() == '"' {
			text, err = decoder.ReadValue()
		} else {
			_, err = decoder.ReadToken()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
			return app.Invalid(pathOf(syntax.JSONPointer), "is a duplicate")
		case err != nil:
			return notJSON(err)
		case hasNUL(text):
			return app.Invalid(pathOf(decoder.StackPointer()), "must not contain NUL")
		}
	}
}

// hasNUL reports whether an encoded string contains NUL, which JSON can only write as an escape sequence.
func hasNUL(encoded []byte) bool {
	for i := 0; i+5 < len(encoded); i++ {
		if encoded[i] != '\\' {
			continue
		}
		if string(encoded[i:i+6]) == `\u0000` {
			return true
		}
		i++ // the escaped character
	}
	return false
}

// body binds the members of a body that has passed checkContent. Member names match exactly. Null is valid
// for nullable members only.
func (b *binder) body(v reflect.Value, body []byte) {
	b.value(jsontext.NewDecoder(bytes.NewBuffer(body)), v, "")
}

func (b *binder) value(decoder *jsontext.Decoder, v reflect.Value, path string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer { // a nullable that is present
		if decoder.PeekKind() == 'n' {
			decoder.SkipValue()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	kind := kindOf(v.Type())
	if !slices.Contains(starts[kind], decoder.PeekKind()) {
		message := kind.must()
		if path == "" {
			message = bodyMustBeObject
		}
		b.wrongType(path, message)
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
		if i > maxElements {
			decoder.SkipValue()
			continue
		}
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
			b.value(decoder, v.FieldByIndex(field), member(path, name))
			continue
		}
		b.fault(member(path, name), "is not a member of this request")
		decoder.SkipValue()
	}
	decoder.ReadToken()
}

// dictionary binds a map. Null is a valid value if the values are pointers, as in a merge patch.
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
