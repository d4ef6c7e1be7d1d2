package api

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/comanda-dev/comanda/app"
)

// sameText is the change of one text in a merge patch, for [patchEach].
func sameText(_, text string) string { return text }

// checkMetadata returns the faults of metadata after a merge patch. The tags check the members of the patch.
func checkMetadata(metadata map[string]string) []app.Detail {
	if len(metadata) <= maxMetadata {
		return nil
	}
	message := messageOf("max", strconv.Itoa(maxMetadata), reflect.TypeOf(metadata))
	return []app.Detail{{Path: "metadata", Message: message}}
}

// notForCustomers returns VALIDATION_FAILED if a customer sends a value that only the store and its integrations use.
// sent reports which values the request has, by name.
func (c *call) notForCustomers(sent map[string]bool) error {
	var faults []app.Detail
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if sent[name] && c.principal.Realm == app.RealmCustomer {
			faults = append(faults, app.Detail{Path: name, Message: "is not for customers"})
		}
	}
	if faults == nil {
		return nil
	}
	return app.InvalidAll(faults)
}
