package api

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzBindBody compares the binder with the library's own decoder: what the binder takes
// without a fault means the same to both.
func FuzzBindBody(f *testing.F) {
	f.Add([]byte(`{"items":[{"productId":"prd_1","quantity":2}],"customer":{"name":"Ada"},"expectedTotalMinor":1,"note":"\u00e9\ud83c\udf55"}`))
	f.Add([]byte(`{"items":[{"quantity":"2"},null,[]],"deliveryAddress":{"line1":1},"x":{"y":[1,{}]},"":0}`))
	f.Add([]byte(`[{"items":9223372036854775808}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if checkSyntax(body) != nil {
			return
		}
		var b binder
		var mine, theirs placeOrderIn
		b.body(reflect.ValueOf(&mine).Elem(), body)
		if len(b.faults) > 0 {
			return
		}
		if err := json.Unmarshal(body, &theirs, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%q: taken without a fault, but %v", body, err)
		}
		if diff := cmp.Diff(theirs, mine, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
		b.validate(&mine) // must not panic
		mine.check()
	})
}
