package app

import (
	"reflect"
	"strings"
)

// changedMembers returns the JSON names of the members that differ between two values of a struct type, in the order
// of their declaration.
func changedMembers[T any](before, after T) []string {
	changed := []string{}
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		if !reflect.DeepEqual(b.Field(i).Interface(), a.Field(i).Interface()) {
			name, _, _ := strings.Cut(b.Type().Field(i).Tag.Get("json"), ",")
			changed = append(changed, name)
		}
	}
	return changed
}
