package api

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/api/openapi"
)

// FuzzBindBody compares the binder with encoding/json: a body that the binder accepts has the same value in both.
func FuzzBindBody(f *testing.F) {
	f.Add([]byte(`{"items":[{"productId":"prd_1","quantity":2}],"customer":{"name":"Ada"},"expectedTotalMinor":1,` +
		`"note":"\u00e9\ud83c\udf55"}`))
	f.Add([]byte(`{"items":[{"quantity":"2"},null,[]],"deliveryAddress":{"line1":1},"x":{"y":[1,{}]},"":0}`))
	f.Add([]byte(`[{"items":9223372036854775808}]`))
	f.Add([]byte(`{"customer":null}`))
	// A member that is null is a pointer to nil in the binder, and nil in encoding/json.
	guest := cmp.Transformer("guest", func(in nullable[guestIn]) *guestIn {
		if in == nil {
			return nil
		}
		return *in
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		if checkSyntax(body) != nil || checkContent(body) != nil {
			return
		}
		var b binder
		var mine, theirs placeOrderIn
		b.body(reflect.ValueOf(&mine).Elem(), body)
		if len(b.faults) > 0 {
			return
		}
		if err := json.Unmarshal(body, &theirs, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%q: got error %v of a body without faults, want none", body, err)
		}
		if diff := cmp.Diff(theirs, mine, cmpopts.EquateEmpty(), guest); diff != "" {
			t.Errorf("%q: faults (-want +got):\n%s", body, diff)
		}
		b.validate(&mine) // must not panic
		mine.check()
	})
}

// Elements beyond maxElements are not bound. Therefore validation must refuse every longer list of a request.
func TestListsHaveAtMostTheElementsThatAreBound(t *testing.T) {
	t.Parallel()
	for _, rt := range routes() {
		checkLists(t, rt.Handler.id, rt.Handler.in)
	}
}

func checkLists(t *testing.T, path string, in reflect.Type) {
	t.Helper()
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice || in.Kind() == reflect.Map {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct {
		return
	}
	for i := range in.NumField() {
		field := in.Field(i)
		own, _, _ := openapi.Limits(memberLimits).Rules(field.Tag.Get("validate"))
		kind := field.Type
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		most := -1
		for _, rule := range own {
			switch rule.Name {
			case "max":
				most, _ = strconv.Atoi(rule.Param)
			case "unique": // only of enumerations without a limit
				most = max(most, 0)
			}
		}
		if kind.Kind() == reflect.Slice && field.Tag.Get("json") != "" && (most < 0 || most > maxElements) {
			t.Errorf("%s.%s: got the limit %d, want at most %d", path, field.Name, most, maxElements)
		}
		checkLists(t, path+"."+field.Name, field.Type)
	}
}
