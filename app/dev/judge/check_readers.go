package main

import (
	"fmt"
	"slices"
	"time"
)

// checkReaders checks docs/behaviour.md#order-of-events: a reader of the events of a store that continues after its
// last event reads each later one once, in the order of the positions. A stream omits events whose body is erased. It
// is refused only if a loss has removed the last event. As docs/behaviour.md#error-codes says, no fault causes a 500.
func checkReaders(h *history, s *state) (found []violation) {
	for _, r := range h.Readings {
		add := func(event, format string, args ...any) {
			text := fmt.Sprintf("%s of %s: ", r.Manner, r.Site) + fmt.Sprintf(format, args...)
			found = append(found, violation{Text: text, Event: event})
		}
		if r.Failed != "" {
			add("", "ended: %s", r.Failed)
		}
		if r.Internal > 0 {
			add("", "got %d responses with status 500", r.Internal)
		}
		for _, at := range r.Lost {
			if !slices.ContainsFunc(s.Losses, func(l loss) bool { return l.Comanda && l.Begin.Before(at) }) {
				add("", "was refused at %s, before any loss", at)
			}
		}
		places := map[string]int{}
		list := s.byPosition(h.Stores[r.Site])
		for i, e := range list {
			places[e.ID] = i
		}
		next := places[r.After] + 1
		skip := func(until int) {
			for _, e := range list[min(next, until):until] {
				if r.Manner != byStream || !s.Erased[e.ID] {
					add(e.ID, "skips the event")
				}
			}
			next = max(next, until)
		}
		for _, id := range r.Events {
			place, known := places[id]
			switch {
			case !known:
				add(id, "shows an event that was not dispatched")
			case place < next:
				add(id, "repeats the event or shows it late")
			default:
				skip(place)
				next++
			}
		}
		skip(len(list))
	}
	return found
}

// showTime is the time in which a stream shows the change of an order without a fault: the service searches for
// changes whose notification was lost every ten seconds.
const showTime = 15 * time.Second

// checkWatchers checks docs/behaviour.md#order-status: a stream of orders shows each order that changes while it is
// open, and the versions of an order ascend. No fault causes a 500.
func checkWatchers(h *history, s *state) (found []violation) {
	changes := map[string][]changeRow{} // by store
	for _, c := range s.Changes {
		store := s.Orders[c.Order].Store
		changes[store] = append(changes[store], c)
	}
	watchings := slices.Clone(h.Watchings)
	slices.SortFunc(watchings, func(a, b watching) int { return a.Begin.Compare(b.Begin) })
	shown := map[string]int64{} // versions that any stream has shown
	for _, w := range watchings {
		if w.Internal {
			found = append(found, violation{Text: "the stream of orders of " + w.Site + " got a response with status 500"})
		}
		own := map[string]int64{}
		for _, o := range w.Shown {
			if o.Version < own[o.Order] {
				found = append(found, ofOrder(o.Order, "a stream shows version %d after %d", o.Version, own[o.Order]))
			}
			own[o.Order] = max(own[o.Order], o.Version)
			shown[o.Order] = max(shown[o.Order], o.Version)
		}
		for _, c := range changes[h.Stores[w.Site]] {
			due := h.undisturbed(c.At).Add(showTime)
			if c.At.After(w.Begin) && due.Before(w.End) && shown[c.Order] < c.Version && !h.stepped(c.At) {
				found = append(found, ofOrder(c.Order, "a stream of %s does not show version %d", w.Site, c.Version))
			}
		}
	}
	return found
}

// undisturbed returns a time, or the end of the aftermath of the faults that disturb it.
func (h *history) undisturbed(at time.Time) time.Time {
	due := at
	for _, d := range h.Disturbances { // one after the other
		if end := d.End.Add(aftermath); d.Begin.Before(due.Add(showTime)) && end.After(due) {
			due = end
		}
	}
	return due
}
