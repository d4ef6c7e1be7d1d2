package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// byPosition returns the dispatched events of a store in the order of their positions.
func (s *state) byPosition(store string) []*eventRow {
	list := slices.DeleteFunc(s.sortedEvents(store), func(e *eventRow) bool { return e.Position == 0 })
	slices.SortStableFunc(list, func(a, b *eventRow) int { return cmp.Compare(a.Position, b.Position) })
	return list
}

// checkPositions checks docs/behaviour.md#order-of-events: each event has a position of its own, of at most 2^53 - 1.
// Of one resource, and of one dispatch, positions follow the order of the outbox. data.version never decreases with
// the position; the data of a payment has none.
func checkPositions(_ *history, s *state) (found []violation) {
	for store := range s.Stores {
		var before *eventRow
		last := map[string]*eventRow{}
		versions := map[string]int64{}
		for _, e := range s.byPosition(store) {
			add := func(format string, args ...any) {
				found = append(found, violation{Text: fmt.Sprintf(format, args...), Event: e.ID})
			}
			if e.Position < 0 || e.Position >= 1<<53 {
				add("the position is %d", e.Position)
			}
			if before != nil && before.Position == e.Position {
				add("%s has the position %d too", before.ID, e.Position)
			}
			if before != nil && before.Dispatched.XID == e.Dispatched.XID && before.Order > e.Order {
				add("%s was committed later and dispatched at the same time, and has a lower position", before.ID)
			}
			if p := last[e.Resource]; p != nil && e.Resource != "" && p.Order > e.Order {
				add("%s of the same resource was committed later and has a lower position", p.ID)
			}
			if v := e.parsed().Data.Version; v > 0 && !strings.HasPrefix(e.Type, "payment.") {
				if v < versions[e.Resource] {
					add("version %d has a higher position than version %d", v, versions[e.Resource])
				}
				versions[e.Resource] = max(v, versions[e.Resource])
			}
			before, last[e.Resource] = e, e
		}
	}
	return found
}

// checkSkips checks docs/behaviour.md#order-of-events: a reader of the events by position that has seen one has seen
// those before it, since a transaction that gives a position sees the transactions of all lower ones. The list of the
// events of a store has each of them once, in this order.
func checkSkips(_ *history, s *state) (found []violation) {
	for store := range s.Stores {
		list := s.byPosition(store)
		for i, e := range list {
			if i > 0 && !e.Dispatched.sees(list[i-1].Dispatched) {
				found = append(found, violation{Text: "its position was visible before that of " + list[i-1].ID, Event: e.ID})
			}
		}
		listed := s.Listed[store]
		if len(listed) != len(list) {
			found = append(found, violation{
				Text: fmt.Sprintf("the list of %s has %d of %d events", store, len(listed), len(list)),
			})
			continue
		}
		for i, e := range list {
			if listed[i] != e.ID {
				found = append(found, violation{Text: "the list of " + store + " has another event in its place", Event: e.ID})
				break
			}
		}
	}
	return found
}
