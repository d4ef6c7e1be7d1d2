package main

import "strings"

type reservationRow struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// checkChanges checks docs/behaviour.md#events: a change is committed with its event. The last event of a product shows
// its price, that of a customer its version, and that of a reservation its status. Prices are random, so that two
// changes have different ones. Orders and payments are compared with their events by other checkers.
func checkChanges(_ *history, s *state) (found []violation) {
	last := map[string]*eventRow{}
	for _, e := range s.sortedEvents("") {
		last[e.Resource] = e
	}
	compare := func(kind, id string, same func(eventBody) bool) {
		switch e := last[id]; {
		case e == nil:
			found = append(found, violation{Text: kind + " " + id + " has no event"})
		case !same(e.parsed()):
			found = append(found, violation{Text: "the last change of " + kind + " " + id + " has no event", Event: e.ID})
		}
	}
	for _, p := range s.Menu {
		compare("product", p.ID, func(e eventBody) bool { return e.Data.PriceMinor == p.PriceMinor })
	}
	for _, c := range s.Customers {
		if c.ErasedAt == nil {
			compare("customer", c.ID, func(e eventBody) bool { return e.Data.Version == c.Version })
		}
	}
	for _, r := range s.Booked {
		compare("reservation", r.ID, func(e eventBody) bool { return strings.EqualFold(e.Data.Status, r.Status) })
	}
	return found
}
