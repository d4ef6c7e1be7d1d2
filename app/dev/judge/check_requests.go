package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// checkRequests checks docs/behaviour.md#events, docs/behaviour.md#signatures and docs/behaviour.md#order-of-events:
// each request has the bytes of a committed event of the store of its webhook, and there is a delivery for it. A
// test.ping goes to the webhook that it names.
func checkRequests(h *history, s *state) (found []violation) {
	deliveries := s.deliveriesByTarget()
	for _, r := range h.Requests {
		add := func(format string, args ...any) {
			found = append(found, violation{
				Text: fmt.Sprintf(format, args...), Event: r.Event, Webhook: r.Webhook, At: r.At,
			})
		}
		e := s.Events[r.Event]
		w, known := s.webhook(r.Webhook)
		switch {
		case r.Flaw != "":
			add("%s", r.Flaw)
		case e == nil:
			add("a request with an event that was not committed")
		case !known:
			add("a request to a webhook that does not exist, at %s", r.Receiver)
		case e.Store != w.Store:
			add("a request with an event of another store: %s, not %s", e.Store, w.Store)
		case e.Body == nil || string(r.Body) != *e.Body:
			add("a request with other bytes than those of the event")
		case e.Type == testPing && e.parsed().Data.Webhook != r.Webhook:
			add("a request with the test of another webhook")
		case e.Type == testPing:
		case deliveries[target{r.Event, r.Webhook}].ID == "":
			add("a request without a delivery")
		default:
			if got, want := r.Header.Get("X-Webhook-Position"), strconv.FormatInt(e.Position, 10); got != want {
				add("X-Webhook-Position is %q, want %s", got, want)
			}
			if got, want := r.Header.Get("X-Webhook-Resource"), app.EventType(e.Type).Resource(e.Resource); got != want {
				add("X-Webhook-Resource is %q, want %s", got, want)
			}
		}
	}
	return found
}

// surplus returns the number of requests of each delivery beyond its recorded attempts.
func surplus(h *history, s *state) map[target]int {
	n := map[target]int{}
	for of, list := range h.requestsByTarget() {
		n[of] = len(list)
	}
	for _, d := range s.Deliveries {
		n[d.target()] -= len(s.Attempts[d.ID])
	}
	for _, a := range s.Tests {
		n[target{a.Event, a.Webhook}]--
	}
	return n
}

// duplicates returns the number of requests beyond the recorded attempts, for the report.
func duplicates(h *history, s *state) (n int) {
	for _, more := range surplus(h, s) {
		n += max(0, more)
	}
	return n
}

// aftermath is the time after a fault in which attempts can still be in flight at it: connections, leases and timeouts
// of activities end.
const aftermath = 15 * time.Second

// recording is the longest time from the end of a request to its record without a fault.
const recording = 5 * time.Second

// checkDuplicates checks docs/behaviour.md#events (at least once): an attempt is repeated only if a fault interrupted
// it before it was recorded, once for each fault. The last request of a delivery is recorded, unless the delivery has
// ended without a further attempt; that of a test may not be.
func checkDuplicates(h *history, s *state) (found []violation) {
	requests, deliveries := h.requestsByTarget(), s.deliveriesByTarget()
	for of, n := range surplus(h, s) {
		if n <= 0 {
			continue
		}
		list := requests[of]
		interrupted := list
		if d := deliveries[of]; d.ID != "" && d.Status != "cancelled" && !endedUnmade(d) {
			interrupted = list[:len(list)-1]
		}
		if faults := h.interruptions(interrupted); n > faults {
			found = append(found, violation{
				Text:  fmt.Sprintf("%d requests, %d more than recorded attempts, in flight at %d faults", len(list), n, faults),
				Event: of.event, Webhook: of.webhook, At: list[len(list)-1].At,
			})
		}
	}
	return found
}

// interruptions returns the number of faults at which one of some requests was in flight: made, and not yet recorded.
func (h *history) interruptions(requests []request) (n int) {
	for _, d := range h.Disturbances {
		during := func(r request) bool {
			ended := r.At.Add(max(0, r.Answered.Sub(r.At)))
			return r.At.Before(d.End.Add(aftermath)) && ended.Add(recording).After(d.Begin)
		}
		if !d.Gentle && slices.ContainsFunc(requests, during) {
			n++
		}
	}
	return n
}

// inFlight is the longest time from the start of an attempt to its arrival without a fault.
const inFlight = 5 * time.Second

// silences reports whether an operation has deleted or deactivated a webhook, without a fault around it.
func (h *history) silences(o operation) bool {
	return o.Result == done && (o.Kind == "delete webhook" || o.Kind == "switch webhook off") &&
		h.disturbed(o.Begin.Add(-aftermath), o.End.Add(inFlight)) == 0
}

// checkSilence checks docs/behaviour.md#inactive-and-deleted-webhooks: after the confirmation that a webhook is deleted
// or inactive, no attempt begins until it is activated again, unless a fault delays its request. Tests go to inactive
// webhooks, too.
func checkSilence(h *history, s *state) (found []violation) {
	requests := map[string][]request{}
	for _, r := range h.Requests {
		if e := s.Events[r.Event]; e != nil && e.Type != testPing {
			requests[r.Webhook] = append(requests[r.Webhook], r)
		}
	}
	for _, o := range h.Operations {
		if !h.silences(o) {
			continue
		}
		until := h.End.Add(time.Hour)
		for _, other := range h.Operations {
			activates := other.Kind == "switch webhook on" || other.Kind == "renew webhook"
			if activates && other.Webhook == o.Webhook && other.End.After(o.Begin) &&
				other.Begin.Before(until) && o.Kind != "delete webhook" {
				until = other.Begin
			}
		}
		for _, r := range requests[o.Webhook] {
			delayed := h.disturbed(r.At.Add(-aftermath-inFlight), r.At) > 0
			if r.At.After(o.End.Add(inFlight)) && r.At.Before(until) && !delayed {
				found = append(found, violation{
					Text:  fmt.Sprintf("a request %s after %q was confirmed", r.At.Sub(o.End), o.Kind),
					Event: r.Event, Webhook: r.Webhook, At: r.At,
				})
			}
		}
	}
	return found
}
