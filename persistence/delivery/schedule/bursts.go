package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// failingBursts limits the bursts of failing subscriptions in one claim.
const failingBursts = 2

// burstIDs is the maximum number of ids of a burst's events, subscriptions and stores: a search attribute holds 2 KiB.
const burstIDs = 52

// BurstCapacity returns the maximum number of deliveries that one claim assigns to bursts.
func (l Limits) BurstCapacity() int {
	if l.Burst < 2 {
		return 0
	}
	return max(l.BurstBatch, l.Batch)
}

// firstDeliveries returns the number of first deliveries to healthy, quick subscriptions that may start, and the
// longest time that one of them has waited.
func firstDeliveries(now time.Time, ready []start) (waiting int, waited time.Duration) {
	for _, s := range ready {
		if !s.subscription.prompt() || s.class == Replay {
			continue
		}
		waiting, waited = waiting+1, max(waited, now.Sub(s.queue.Window.Since(s.Due)))
	}
	return waiting, waited
}

// bursting reports whether the claim combines deliveries to bursts.
func (l Limits) bursting(waiting int, waited time.Duration) bool {
	return l.Burst > 1 && waited >= l.BurstAfter && waiting >= l.BurstLeast
}

// groupBursts combines the first deliveries of quick subscriptions to bursts of two or more. Failing subscriptions have
// separate bursts: a burst waits for the workflows in which its deliveries continue. So have queues with a limit: a
// burst that has not started when their window ends is queued again. Deliveries to a subscription share a burst.
func (l Limits) groupBursts(batch []start) {
	type kind struct{ healthy, limited bool }
	bursts := 0
	for _, k := range []kind{{true, false}, {true, true}, {false, false}, {false, true}} {
		var group []*start
		for i := range batch {
			s := &batch[i]
			if s.subscription.Quick && s.class != Replay && k == (kind{s.subscription.Healthy, s.queue.Window.Limited()}) {
				group = append(group, s)
			}
		}
		slices.SortStableFunc(group, func(a, b *start) int {
			return cmp.Or(cmp.Compare(a.queue.ID, b.queue.ID), cmp.Compare(a.subscription.ID, b.subscription.ID))
		})
		for len(group) > 1 {
			size := l.burstSize(group)
			if size > 1 {
				bursts++
				for _, s := range group[:size] {
					s.burst = bursts
				}
			}
			group = group[size:]
		}
	}
}

// burstSize returns how many of the first deliveries of a group share a burst. It expects a store for each
// subscription.
func (l Limits) burstSize(group []*start) int {
	events, subscriptions := map[app.EventID]bool{}, 0
	for i, s := range group[:min(l.Burst, len(group))] {
		events[s.Event] = true
		if i == 0 || s.subscription != group[i-1].subscription {
			subscriptions++
		}
		if len(events)+2*subscriptions > burstIDs {
			return i
		}
	}
	return min(l.Burst, len(group))
}
