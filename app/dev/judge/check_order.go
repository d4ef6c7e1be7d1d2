package main

import (
	"cmp"
	"slices"
	"time"
)

// line is a resource of a webhook, whose deliveries take turns.
type line struct{ webhook, resource string }

// checkTurns checks docs/behaviour.md#ordered-webhooks and docs/behaviour.md#dead-letters-and-replays in the log: of a
// line, one delivery is in progress at a time; first deliveries start in the order of their positions, and so do those
// of one bulk replay; a replay does not start before a first delivery that waits. At the receiver, no request arrives
// between those of another delivery.
func checkTurns(h *history, s *state) (found []violation) {
	var all []deliveryRow
	for _, steps := range s.Steps {
		all = append(all, steps...)
	}
	slices.SortFunc(all, func(a, b deliveryRow) int { return cmp.Compare(a.Number, b.Number) })
	lines := map[line]map[string]deliveryRow{}
	for _, d := range all {
		of := line{d.Webhook, d.Resource}
		if lines[of] == nil {
			lines[of] = map[string]deliveryRow{}
		}
		before := lines[of][d.ID]
		if d.Ordered && d.Status == "pending" && before.Status == "queued" {
			for _, other := range lines[of] {
				if text := passed(d, other); text != "" {
					found = append(found, ofDelivery(d, "starts %s %s, position %d, before %d", text, other.ID, d.Position,
						other.Position))
				}
			}
		}
		lines[of][d.ID] = d
		if d.ended() || !d.Ordered {
			delete(lines[of], d.ID)
		}
	}
	return append(found, checkTenures(h, s)...)
}

// tenure is the time from the first request of a run to its last one, in which the run has the turn.
type tenure struct {
	deliveryRow
	begin, end time.Time
}

// checkTenures checks that the tenures of a line do not overlap. After a fault, a worker may continue without a turn.
func checkTenures(h *history, s *state) (found []violation) {
	for _, list := range tenures(h, s) {
		last := list[0]
		for _, next := range list[1:] {
			if next.ID != last.ID && next.begin.Before(last.end) && h.settled(last.begin, next.begin) {
				found = append(found, ofDelivery(next.deliveryRow, "a request arrives between those of %s", last.ID))
			}
			if next.end.After(last.end) {
				last = next
			}
		}
	}
	return found
}

// settled reports whether no fault has effects on the turns in a time.
func (h *history) settled(begin, end time.Time) bool {
	return h.disturbed(begin.Add(-aftermath), end) == 0 && h.faults(begin.Add(-recovery), end, disturbance.lingers) == 0
}

// tenures returns the tenures of each line in the order of their begins, of webhooks that have always been ordered. A
// delivery whose requests are not exactly its recorded attempts is left out.
func tenures(h *history, s *state) map[line][]tenure {
	requests, lines := h.requestsByTarget(), map[line][]tenure{}
	for _, d := range s.everyDelivery() {
		own, attempts := requests[d.target()], s.Attempts[d.ID]
		recorded := len(own) > 0 && len(own) == len(attempts) && attempts[len(own)-1].Number == len(own)
		if !recorded || d.Resource == "" || !s.alwaysOrdered(d.Webhook) {
			continue
		}
		of, first := line{d.Webhook, d.Resource}, 0
		list := runs(s.Steps[d.ID])
		for i := range list {
			next := len(own) // the first request of the next run
			if i+1 < len(list) {
				next = min(next, list[i+1][0].ScheduleBase)
			}
			if first < next {
				lines[of] = append(lines[of], tenure{d, own[first].At, own[next-1].surelyOpenUntil()})
				first = next
			}
		}
	}
	for _, list := range lines {
		slices.SortFunc(list, func(a, b tenure) int { return a.begin.Compare(b.begin) })
	}
	return lines
}

// surelyOpenUntil returns a time until which the sender has surely waited for the response.
func (r request) surelyOpenUntil() time.Time {
	if r.Status != 0 && r.Answered.Sub(r.At) < promptly {
		return r.Answered
	}
	return r.At
}

// alwaysOrdered reports whether a webhook has been ordered since its creation.
func (s *state) alwaysOrdered(webhook string) bool {
	return !slices.ContainsFunc(s.Webhooks[webhook], func(w webhookRow) bool { return w.Ordering != "resource" })
}

// concurrently is the time in which a delivery that is queued during a claim may be too late for it.
const concurrently = time.Second

// passed returns how a delivery that starts violates the turn of another one of its line, or "".
func passed(d, other deliveryRow) string {
	switch {
	case other.ID == d.ID:
		return ""
	case other.inProgress():
		return "during"
	case !other.isReplay() && !d.isReplay() && other.Position < d.Position:
		return "before the first delivery"
	case other.isReplay() && d.isReplay() && other.Replay != nil && d.Replay != nil && *other.Replay == *d.Replay &&
		other.Position < d.Position:
		return "before the replay"
	case !other.isReplay() && d.isReplay() && d.At.Sub(other.At) > concurrently:
		return "before the waiting first delivery"
	}
	return ""
}

// firstAttempted reports whether a delivery was attempted as a first delivery, not only by a replay.
func firstAttempted(steps []deliveryRow) bool {
	replayed := slices.IndexFunc(steps, deliveryRow.isReplay)
	return replayed < 0 || replayed > 0 && steps[replayed-1].Attempts > 0
}

// checkArrivals checks docs/behaviour.md#ordered-webhooks at the receiver: of webhooks that have always been ordered,
// no request of a first delivery arrives after the first request of a delivery with a higher position of the resource.
// Attempts that were in flight when their worker lost its connections are exempt: as many as are not recorded.
func checkArrivals(h *history, s *state) (found []violation) {
	requests, more := h.requestsByTarget(), surplus(h, s)
	lines := map[line][]deliveryRow{}
	for _, d := range s.everyDelivery() {
		if s.alwaysOrdered(d.Webhook) && d.Resource != "" && len(requests[d.target()]) > 0 && firstAttempted(s.Steps[d.ID]) {
			of := line{d.Webhook, d.Resource}
			lines[of] = append(lines[of], d)
		}
	}
	for _, list := range lines {
		slices.SortFunc(list, func(a, b deliveryRow) int { return cmp.Compare(a.Position, b.Position) })
		for i, d := range list[:len(list)-1] {
			own := requests[d.target()]
			next := requests[list[i+1].target()][0].At
			late := 0
			for n, r := range own {
				if r.At.After(next) && (n == 0 || d.Replays == 0) { // a replay is made later
					late++
				}
			}
			if late > max(0, more[d.target()]) {
				found = append(found, ofDelivery(d, "%d requests with position %d after the first one with %d, %d unrecorded",
					late, d.Position, list[i+1].Position, max(0, more[d.target()])))
			}
		}
	}
	return found
}
