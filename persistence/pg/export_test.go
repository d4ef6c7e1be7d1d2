package pg

import "slices"

// DeletionsOf returns the data that a statement deletes, sorted.
func DeletionsOf(text string) (all []string) {
	for _, deleted := range deletionsOf(text) {
		all = append(all, deleted.table+": "+deleted.what)
	}
	slices.Sort(all)
	return all
}
