package main

import (
	"fmt"
	"strings"
	"time"
)

type reservationRow struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Version int64  `json:"version"`

	ErasedAt *time.Time `json:"erased_at"`
}

// checkChanges checks docs/behaviour.md#events: a change is committed with its event. The last event of a product shows
// its price, whether it is orderable and whether it is deleted, that of a customer its version, and that of a
// reservation its status. Prices are random, so that two changes have different ones. The changes of customers and
// reservations that the operations make have an event for each version; a stock increases that of a product without
// one. An erasure changes reservations without an event. Orders and payments are compared with their events by other
// checkers.
func checkChanges(_ *history, s *state) (found []violation) {
	last, shown := map[string]*eventRow{}, map[string]map[int64]bool{}
	for _, e := range s.sortedEvents("") {
		last[e.Resource] = e
		if shown[e.Resource] == nil {
			shown[e.Resource] = map[int64]bool{}
		}
		shown[e.Resource][e.parsed().Data.Version] = true
	}
	compare := func(kind, id string, same func(eventBody) bool) {
		switch e := last[id]; {
		case e == nil:
			found = append(found, violation{Text: kind + " " + id + " has no event"})
		case !same(e.parsed()):
			found = append(found, violation{Text: "the last change of " + kind + " " + id + " has no event", Event: e.ID})
		}
	}
	versions := func(kind, id string, to int64) {
		for v := int64(1); v <= to; v++ {
			if !shown[id][v] {
				found = append(found, violation{Text: fmt.Sprintf("version %d of %s %s has no event", v, kind, id)})
			}
		}
	}
	for _, p := range s.Menu {
		compare("product", p.ID, func(e eventBody) bool {
			return e.Data.PriceMinor == p.PriceMinor && e.Data.Orderable == p.orderable() &&
				(e.Data.DeletedAt == nil) == (p.DeletedAt == nil)
		})
	}
	for _, c := range s.Customers {
		if c.ErasedAt == nil {
			compare("customer", c.ID, func(e eventBody) bool { return e.Data.Version == c.Version })
			versions("customer", c.ID, c.Version)
		}
	}
	for _, r := range s.Booked {
		compare("reservation", r.ID, func(e eventBody) bool { return strings.EqualFold(e.Data.Status, r.Status) })
		if r.ErasedAt == nil {
			versions("reservation", r.ID, r.Version)
		}
	}
	return found
}
