package schedule

import (
	"cmp"
	"slices"
)

// start is a delivery that may start, in the order of its queue.
type start struct {
	Delivery
	class        Class
	queue        *Queue
	subscription *Subscription

	rank  int  // among the deliveries of its class and subscription, from 1
	place int  // among the deliveries of its subscription that wait for the same line, from 1
	last  bool // more deliveries of its class may be queued
	cut   bool // last, although the subscription has places for more
	turn  int  // among the deliveries of its website in the same lane, from 1
	burst int
}

func compare[T cmp.Ordered](a, b T) int { return cmp.Compare(a, b) }

// tie orders the subscriptions of two deliveries whose turn is the same.
func tie(a, b start) int {
	return cmp.Or(cmp.Compare(a.subscription.Tie, b.subscription.Tie),
		compare(a.subscription.ID, b.subscription.ID))
}

// read returns the deliveries of a class for which the subscription has places.
func (q *Queue) read(s *Subscription, class Class, places int) []start {
	reach := min(s.Read, places)
	var starts []start
	for i, d := range s.Queued[class] {
		if i == reach {
			break
		}
		last := i == reach-1
		starts = append(starts, start{
			Delivery: d, class: class, queue: q, subscription: s, rank: i + 1, last: last, cut: last && reach < places,
		})
	}
	return starts
}

// interleave orders deliveries of one subscription so that no class waits for another, or by age if starts are scarce.
// It keeps the first of them, one for each place.
func interleave(starts []start, scarce bool, places int) []start {
	slices.SortStableFunc(starts, func(a, b start) int {
		if scarce {
			if age := older(a.Delivery, b.Delivery); age != 0 {
				return age
			}
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.class, b.class))
	})
	starts = starts[:min(places, len(starts))]
	for i := range starts {
		starts[i].place = i + 1
	}
	return starts
}

// takePlaces orders deliveries of several subscriptions, which take turns.
func takePlaces(starts []start) {
	slices.SortFunc(starts, func(a, b start) int { return cmp.Or(cmp.Compare(a.place, b.place), tie(a, b)) })
}

// byAge orders deliveries of several subscriptions by age. It omits those behind a cut class: an older delivery may be
// unread.
func byAge(starts []start) []start {
	slices.SortFunc(starts, func(a, b start) int { return cmp.Or(older(a.Delivery, b.Delivery), tie(a, b)) })
	first := slices.IndexFunc(starts, func(s start) bool { return s.cut })
	if first < 0 {
		return starts
	}
	for first++; first < len(starts) && older(starts[first].Delivery, starts[first-1].Delivery) == 0; {
		first++
	}
	return starts[:first]
}
