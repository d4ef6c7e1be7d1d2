package schedule

import (
	"cmp"
	"slices"
)

// starts returns the deliveries of the queue that may start, in their order. more reports whether others may start too,
// without a wait for a later window.
func (q *Queue) starts(limits Limits) (starts []start, more bool) {
	var lines [Classes][]start
	places := map[*Subscription]int{}
	full, late := slices.Contains(limits.Full, q.website()), slices.Contains(limits.Late, q.website())
	for i := range q.Subscriptions {
		s := &q.Subscriptions[i]
		if late && !s.prompt() {
			continue
		}
		if places[s] = limits.places(s); places[s] <= 0 || s.prompt() && full {
			places[s], more = 0, true
			continue
		}
		for class := range lines {
			if late && Class(class) == Replay {
				continue
			}
			lines[class] = append(lines[class], q.read(s, Class(class), places[s])...)
		}
	}
	if q.Window.Limited() {
		lines[Replay] = oldest(lines[Replay], q.Window.freeForReplays())
		starts = q.limited(slices.Concat(lines[First], lines[Replay]), lines[Customer], places)
	} else {
		starts = q.lineUp(slices.Concat(lines[:]...), places)
	}
	for _, s := range starts {
		more = more || s.last || s.place == places[s.subscription]
	}
	return withinPlaces(starts, places), more
}

// oldest returns the oldest deliveries of a queue, at most n, in the order of their subscriptions.
func oldest(starts []start, n int) []start {
	if len(starts) <= n {
		return starts
	}
	slices.SortFunc(starts, func(a, b start) int {
		return cmp.Or(older(a.Delivery, b.Delivery), compare(a.subscription.ID, b.subscription.ID))
	})
	return starts[:n]
}

// lineUp orders deliveries of several subscriptions: by age if starts are scarce, otherwise the subscriptions take
// turns. Each of them takes part with as many deliveries as it has places.
func (q *Queue) lineUp(starts []start, places map[*Subscription]int) []start {
	own := map[*Subscription][]start{}
	for _, s := range starts {
		own[s.subscription] = append(own[s.subscription], s)
	}
	starts = starts[:0]
	for s, line := range own {
		starts = append(starts, interleave(line, q.Scarce, places[s])...)
	}
	if q.Scarce {
		return byAge(starts)
	}
	takePlaces(starts)
	return starts
}

// limited returns the starts that the plan allows in this window.
func (q *Queue) limited(others, customers []start, places map[*Subscription]int) (starts []start) {
	others, customers = q.lineUp(others, places), q.lineUp(customers, places)
	window := q.Window
	window.fill(lineOf(others), lineOf(customers), func(customer bool) {
		from := &others
		if customer {
			from = &customers
		}
		starts, *from = append(starts, (*from)[0]), (*from)[1:]
	})
	return starts
}

func lineOf(starts []start) line {
	return line{len(starts), slices.ContainsFunc(starts, func(s start) bool { return s.cut })}
}

// withinPlaces omits deliveries of subscriptions whose places are taken by earlier ones of the other kind.
func withinPlaces(starts []start, places map[*Subscription]int) []start {
	taken := map[*Subscription]int{}
	return slices.DeleteFunc(starts, func(s start) bool {
		taken[s.subscription]++
		return taken[s.subscription] > places[s.subscription]
	})
}
