package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// loss is a time whose changes a failover or a restore may have removed from databases. Changes before Begin survive,
// and so do changes after End.
type loss struct {
	Comanda, Temporal bool      // the databases
	Begin, End        time.Time // Begin is zero if everything before End is lost
}

// during reports whether a time is within the loss.
func (l loss) during(t time.Time) bool { return !t.Before(l.Begin) && !t.After(l.End) }

// lacks reports whether Comanda's database may lack a change that was confirmed at a time. late is the time for which
// the confirmation may have been under way.
func (l loss) lacks(at time.Time, late time.Duration) bool {
	l.End = l.End.Add(late)
	return l.Comanda && l.during(at)
}

// lost reports whether a loss lacks a change.
func (s *state) lost(at time.Time, late time.Duration) bool {
	return slices.ContainsFunc(s.Losses, func(l loss) bool { return l.lacks(at, late) })
}

// lostBetween reports whether Comanda's database may lack a change that was made between two times.
func (s *state) lostBetween(begin, end time.Time) bool {
	return slices.ContainsFunc(s.Losses, func(l loss) bool {
		return l.Comanda && begin.Before(l.End) && end.After(l.Begin)
	})
}

// anyLossBetween reports whether a database may lack a change that was made between two times.
func (s *state) anyLossBetween(begin, end time.Time) bool {
	return slices.ContainsFunc(s.Losses, func(l loss) bool { return begin.Before(l.End) && end.After(l.Begin) })
}

// lostWorkflow reports whether Temporal may lack the workflow of a delivery whose last attempt was made at a time. A
// workflow that has made an attempt before the loss survives.
func (s *state) lostWorkflow(at time.Time) bool {
	return slices.ContainsFunc(s.Losses, func(l loss) bool {
		return l.Temporal && !at.Before(l.Begin.Add(-aftermath)) && at.Before(l.End)
	})
}

// lostMail reports whether a mail that was created at a time may stay queued for two hours, since Temporal lacks its
// workflow or Comanda's database shows it as queued again.
func (s *state) lostMail(at time.Time) bool {
	return slices.ContainsFunc(s.Losses, func(l loss) bool { return at.Before(l.End) })
}

// lostDeletion reports whether Comanda's database may lack the deletion of a webhook whose teardown has cancelled the
// workflow of a delivery that was created, or has ended, at a time. Since the loss, the teardown cancels nothing.
func (s *state) lostDeletion(h *history, webhook string, at time.Time) bool {
	last, _ := s.webhook(webhook)
	return last.DeletedAt == nil && slices.ContainsFunc(s.Losses, func(l loss) bool {
		return at.Before(h.over(l)) && slices.ContainsFunc(h.Operations, func(o operation) bool {
			return o.Kind == "delete webhook" && o.Webhook == webhook && o.Result != refused && l.lacks(o.End, response)
		})
	})
}

// over returns the end of the aftermath of a loss and its fault.
func (h *history) over(l loss) time.Time {
	end := l.End
	for _, d := range h.Disturbances {
		if !d.Begin.After(l.End) && d.End.After(end) {
			end = d.End
		}
	}
	return end.Add(aftermath)
}

// response is the longest time for which the response of a process that was killed is under way.
const response = time.Second

// forget removes from a history what Comanda's database has lost, so that the checkers judge the changes that survived.
// The result of an operation that was confirmed in lost time is unknown, and the receipt of an attempt whose event,
// delivery, position or record is lost is forgotten. Everything outside of lost time remains.
func forget(h *history, s *state) {
	forgetReadings(h, s)
	revoked := map[string]bool{}
	for i, o := range h.Operations {
		if s.lost(o.End, response) {
			h.Operations[i].Result = unknown
			revoked[o.Subject] = revoked[o.Subject] || o.Kind == "revoke key"
		}
	}
	for i, o := range h.Operations {
		if o.Kind == "use revoked key" && revoked[o.Subject] { // the revocation is lost
			h.Operations[i].Result = unknown
		}
	}
	more, unrecorded := surplus(h, s), unrecordedResponses(h, s)
	deliveries := s.deliveriesByTarget()
	h.Requests = slices.DeleteFunc(h.Requests, func(r request) bool {
		if !s.lost(r.At, inFlight) {
			return false
		}
		of := target{r.Event, r.Webhook}
		e := s.Events[r.Event]
		switch {
		case e == nil, len(s.Webhooks[r.Webhook]) == 0:
		case e.Type != testPing && deliveries[of].ID == "":
		case e.Type != testPing && r.Header.Get("X-Webhook-Position") != strconv.FormatInt(e.Position, 10):
		case more[of] > 0 && unrecorded[of][h.received(r)] > 0:
		default:
			return false
		}
		more[of]--
		if unrecorded[of] != nil {
			unrecorded[of][h.received(r)]--
		}
		h.Forgotten = append(h.Forgotten, r)
		return true
	})
}

// forgetReadings removes what readers and streams have shown of lost changes.
func forgetReadings(h *history, s *state) {
	for i, r := range h.Readings {
		var kept []string
		for n, id := range r.Events {
			again := slices.Contains(r.Events[n+1:], id) // it was dispatched again
			if known := s.Events[id] != nil && !again; known || n >= len(r.Times) || !s.lost(r.Times[n], inFlight) {
				kept = append(kept, id)
			}
		}
		h.Readings[i].Events, h.Readings[i].Times = kept, nil
	}
	type version struct {
		order   string
		version int64
	}
	made := map[version]time.Time{}
	for _, c := range s.Changes {
		made[version{c.Order, c.Version}] = c.At
	}
	for i, w := range h.Watchings {
		h.Watchings[i].Shown = slices.DeleteFunc(w.Shown, func(o shownOrder) bool {
			at, survives := made[version{o.Order, o.Version}]
			return s.lost(o.At, inFlight) && (!survives || at.After(o.At.Add(response)))
		})
	}
	h.Suspensions = slices.DeleteFunc(h.Suspensions, func(one suspension) bool {
		return slices.ContainsFunc(s.Losses, func(l loss) bool {
			return l.Comanda && one.Begin.Before(l.End.Add(aftermath)) && one.End.After(l.Begin)
		})
	})
}

// unrecordedResponses counts the responses of receivers that no attempt records, by delivery and status.
func unrecordedResponses(h *history, s *state) map[target]codes {
	all := map[target]codes{}
	for of, list := range h.requestsByTarget() {
		all[of] = codes{}
		for _, r := range list {
			all[of][h.received(r)]++
		}
	}
	for id, list := range s.Attempts {
		for _, a := range list {
			if sent := all[s.Deliveries[id].target()]; sent != nil {
				sent[a.StatusCode]--
			}
		}
	}
	return all
}

// checkLostPositions checks docs/behaviour.md#order-of-events: an event that occurs after a loss has a higher position
// than those that receivers have seen in lost time, unless a clock was ahead. An earlier event whose dispatch is lost
// gets a position by its own time.
func checkLostPositions(h *history, s *state) (found []violation) {
	for _, r := range h.Forgotten {
		position, err := strconv.ParseInt(r.Header.Get("X-Webhook-Position"), 10, 64)
		if err != nil { // test.ping has none
			continue
		}
		of := time.UnixMilli(position >> 11) // docs/behaviour.md: a position is the milliseconds of the event times 2,048
		for _, l := range s.Losses {
			if !l.Comanda || !l.during(r.At) || of.After(l.End) {
				continue
			}
			for _, e := range s.byPosition(h.Stores[r.Site]) {
				if e.parsed().Time.After(l.End) && e.Position <= position {
					found = append(found, violation{
						Text:  fmt.Sprintf("has the position %d, a lost one had %d", e.Position, position),
						Event: e.ID,
					})
				}
			}
		}
	}
	return found
}

// began returns the time of the last attempt of a delivery, zero if it has none.
func (s *state) began(d deliveryRow) time.Time {
	attempts := s.Attempts[d.ID]
	if len(attempts) == 0 {
		return time.Time{}
	}
	return attempts[len(attempts)-1].At
}
