package main

import (
	"slices"
	"time"
)

// codes counts values.
type codes map[int]int

// checkAttempts checks docs/behaviour.md#attempts and docs/behaviour.md#deliveries: the attempts of a delivery have the
// numbers from 1 on, its status is that of its attempts, and the responses are those of the receiver. A number is
// missing only if its attempt was made in lost time: a process or a workflow that has survived continues to count.
func checkAttempts(h *history, s *state) (found []violation) {
	requests := h.requestsByTarget()
	for _, d := range s.everyDelivery() {
		attempts := s.Attempts[d.ID]
		statuses, recorded := map[string]int{}, codes{}
		last, at := 0, d.CreatedAt
		for _, a := range attempts {
			statuses[a.Status]++
			recorded[a.StatusCode]++
			if a.Number > last+1 && !s.lostBetween(at, a.At) {
				found = append(found, ofDelivery(d, "attempt %d follows attempt %d", a.Number, last))
			}
			last, at = a.Number, a.At
		}
		switch {
		case d.Attempts != last:
			found = append(found, ofDelivery(d, "has %d attempts, the last one is %d", d.Attempts, last))
		case d.Status == "delivered" && statuses["delivered"] == 0:
			found = append(found, ofDelivery(d, "is delivered without a successful attempt"))
		case d.ended() && statuses["retrying"] > 0:
			found = append(found, ofDelivery(d, "is %s and has an attempt with a retry", d.Status))
		}
		found = append(found, checkResponses(h, d, requests[d.target()], recorded, statuses["delivered"])...)
	}
	return found
}

// promptly is the time in which a receiver must have responded so that the response surely arrived in time.
const promptly = time.Second

// checkResponses compares the recorded responses of a delivery with those of the receiver. Each recorded one was sent.
// A success that was sent promptly is recorded, unless a fault interrupted the attempt.
func checkResponses(
	h *history, d deliveryRow, requests []request, recorded codes, delivered int,
) (found []violation) {
	sent := codes{}
	for _, r := range requests {
		sent[r.Status]++
		success := r.Status/100 == 2 && r.Answered.Sub(r.At) < promptly
		if success && delivered == 0 && h.interrupted(r.At.Add(-aftermath), r.Answered.Add(aftermath)) == 0 {
			found = append(found, ofDelivery(d, "a response %d was sent, and no success is recorded", r.Status))
		}
	}
	for code, n := range recorded {
		if code != 0 && n > sent[code] {
			found = append(found, ofDelivery(d, "%d responses %d are recorded, %d were sent", n, code, sent[code]))
		}
	}
	slices.SortFunc(found, func(a, b violation) int { return len(a.Text) - len(b.Text) })
	return found
}
