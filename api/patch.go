package api

import "maps"

// nullable is a member of a merge patch that null clears (RFC 7396): nil when it is absent,
// and pointing to nil when it is null. What cannot be cleared is a pointer, as elsewhere.
type nullable[T any] = **T

// patch changes a value to that of a merge patch's member, if it is there.
func patch[T any](value, wanted *T) {
	if wanted != nil {
		*value = *wanted
	}
}

// patchOrClear is [patch] for what can be cleared to its zero value.
func patchOrClear[T any](value *T, wanted nullable[T]) {
	if wanted == nil {
		return
	}
	var zero T
	*value = zero
	patch(value, *wanted)
}

// patchEach merges a patch into a map: null takes a member out, anything else changes it as
// change says, from its zero value if there was none. The map itself stays as it is.
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
