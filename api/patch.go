package api

import (
	"maps"

	"github.com/comanda-dev/comanda/app"
)

// nullable is a member of a merge patch (RFC 7396) that null clears: nil if it is absent, a pointer to nil
// if it is null. A member that cannot be cleared is a pointer.
type nullable[T any] = **T

// Maps in merge patches. A null value removes its member.
type (
	amounts    = map[app.Currency]*int64
	textsPatch = map[string]*productTextPatchIn
	hoursPatch = map[app.FulfillmentType]*weekIn

	metadataPatch = map[string]*string
)

// patch sets a value to that of a member of a merge patch, if the member is present.
func patch[T any](value, wanted *T) {
	if wanted != nil {
		*value = *wanted
	}
}

// patchOrClear is [patch] for a member that null clears to its zero value.
func patchOrClear[T any](value *T, wanted nullable[T]) {
	if wanted == nil {
		return
	}
	var zero T
	*value = zero
	patch(value, *wanted)
}

// patchEach returns a map with a patch applied: null removes a member, another value changes it with
// change, beginning with the zero value for a new member. It does not modify values.
func patchEach[K comparable, V, P any](values map[K]V, wanted map[K]*P, change func(V, P) V) map[K]V {
	merged := map[K]V{}
	maps.Copy(merged, values)
	for key, member := range wanted {
		if member == nil {
			delete(merged, key)
		} else {
			merged[key] = change(merged[key], *member)
		}
	}
	return merged
}
