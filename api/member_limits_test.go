package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A limit that two members of the same name share is stated once, in memberLimits, and each name in there is used.
func TestLimitsOfMembersAreStatedOnce(t *testing.T) {
	t.Parallel()
	stated, used := map[string]string{}, map[string]bool{}
	var check func(in reflect.Type)
	seen := map[reflect.Type]bool{}
	check = func(in reflect.Type) {
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice || in.Kind() == reflect.Map {
			in = in.Elem()
		}
		if seen[in] || in.Kind() != reflect.Struct || kindOf(in) != anObject {
			return
		}
		seen[in] = true
		for i := range in.NumField() {
			field := in.Field(i)
			check(field.Type)
			for rule := range strings.SplitSeq(field.Tag.Get("validate"), ",") {
				used[rule] = true
				name := field.Tag.Get("json") + field.Tag.Get("query")
				at, limit := in.Name()+"."+field.Name, name+" "+rule
				if other := stated[limit]; other != "" && strings.Contains(rule, "=") {
					t.Errorf("%s and %s both state %s; name this limit in memberLimits", other, at, rule)
				}
				stated[limit] = at
			}
		}
	}
	for _, rt := range routes() {
		check(rt.Handler.in)
	}
	for _, rules := range memberLimits {
		for rule := range strings.SplitSeq(rules, ",") {
			used[rule] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(memberLimits)) {
		if !used[name] {
			t.Errorf("the limit %s: got no member with it", name)
		}
	}
}
