package main

import (
	"slices"
	"time"
)

// codes counts values.
type codes map[int]int

// checkAttempts checks docs/behaviour.md#attempts and docs/behaviour.md#deliveries: the attempts of a delivery have the
// numbers from 1 on, its status is that of its attempts, and the responses are those of the receiver. A number is
// missing only if its attempt was made in lost time: a process or a workflow that has survived continues to count. A
// loss explains one gap.
func checkAttempts(h *history, s *state) (found []violation) {
	requests := h.requestsByTarget()
	for _, d := range s.everyDelivery() {
		attempts := s.Attempts[d.ID]
		statuses := map[string]int{}
		last, from := 0, d.CreatedAt
		for _, a := range attempts {
			statuses[a.Status]++
			if a.Number > last+1 {
				if !s.lostBetween(from, a.At) {
					found = append(found, ofDelivery(d, "attempt %d follows attempt %d", a.Number, last))
				}
				from = a.At
			}
			last = a.Number
		}
		switch {
		case d.Attempts != last:
			found = append(found, ofDelivery(d, "has %d attempts, the last one is %d", d.Attempts, last))
		case d.Status == "delivered" && statuses["delivered"] == 0:
			found = append(found, ofDelivery(d, "is delivered without a successful attempt"))
		case d.ended() && statuses["retrying"] > 0:
			found = append(found, ofDelivery(d, "is %s and has an attempt with a retry", d.Status))
		}
		found = append(found, checkResponses(h, s, d, requests[d.target()])...)
		found = append(found, checkSchedules(s, d)...)
	}
	return found
}

// checkSchedules checks that a replay, and nothing else, begins the schedule again: of each run, no attempt follows a
// success, and there are not more than the schedule has. A loss may lack the replay, or the attempts of a workflow that
// repeats them.
func checkSchedules(s *state, d deliveryRow) (found []violation) {
	attempts := s.Attempts[d.ID]
	for _, run := range slices.Backward(runs(s.Steps[d.ID])) {
		base := run[len(run)-1].ScheduleBase
		n := slices.IndexFunc(attempts, func(a attemptRow) bool { return a.Number > base })
		if n < 0 {
			continue
		}
		made := attempts[n:]
		attempts = attempts[:n]
		if s.anyLossBetween(made[0].At, made[len(made)-1].At) {
			continue
		}
		if len(made) > s.Tries {
			found = append(found, ofDelivery(d, "%d attempts of a schedule of %d", len(made), s.Tries))
		}
		success := slices.IndexFunc(made, func(a attemptRow) bool { return a.Status == "delivered" })
		if success >= 0 && success < len(made)-1 {
			found = append(found, ofDelivery(d, "attempt %d follows a success", made[success+1].Number))
		}
	}
	return found
}

// promptly is the time in which a receiver must have responded so that the response surely arrived in time.
const promptly = time.Second

// checkResponses compares the recorded responses of a delivery with those of the receiver. Each recorded one was sent
// in time. Each success that was sent promptly is recorded, unless a fault interrupted the attempt.
func checkResponses(h *history, s *state, d deliveryRow, requests []request) (found []violation) {
	recorded, delivered := codes{}, 0
	for _, a := range s.Attempts[d.ID] {
		recorded[a.StatusCode]++
		if a.Status == "delivered" {
			delivered++
		}
	}
	sent, successes := codes{}, 0
	for _, r := range requests {
		sent[h.received(r)]++
		prompt := r.Status/100 == 2 && r.Answered.Sub(r.At) < promptly && !s.arrivedLate(d, r)
		if prompt && h.interrupted(r.At.Add(-aftermath), r.Answered.Add(aftermath)) == 0 {
			successes++
		}
	}
	if successes > delivered {
		found = append(found, ofDelivery(d, "%d successes were sent, %d are recorded", successes, delivered))
	}
	for code, n := range recorded {
		if code != 0 && n > sent[code] {
			found = append(found, ofDelivery(d, "%d responses %d are recorded, %d were sent", n, code, sent[code]))
		}
	}
	slices.SortFunc(found, func(a, b violation) int { return len(a.Text) - len(b.Text) })
	return found
}

// received returns the status that the sender of a request can have received: none if the response was sent after the
// timeout, unless the sender was suspended meanwhile.
func (h *history) received(r request) int {
	if r.Answered.Sub(r.At) > deliveryTimeout && h.interrupted(r.At.Add(-aftermath), r.Answered.Add(aftermath)) == 0 {
		return 0
	}
	return r.Status
}

// arrivedLate reports whether a request can be that of an attempt that timed out, because it arrived late: processors
// were busy.
func (s *state) arrivedLate(d deliveryRow, r request) bool {
	return slices.ContainsFunc(s.Attempts[d.ID], func(a attemptRow) bool {
		took := r.At.Sub(a.At)
		return a.StatusCode == 0 && took > deliveryTimeout-promptly && took < inFlight
	})
}
