package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// checkSuspended checks docs/behaviour.md#suspended-websites: no request of a website succeeds that begins and ends
// while it is suspended.
func checkSuspended(h *history, _ *state) (found []violation) {
	for _, s := range h.Suspensions {
		for _, o := range h.Operations {
			during := o.Begin.After(s.Begin) && o.End.Before(s.End)
			if o.Site == s.Site && during && o.Result == done && o.Kind != "suspend website" {
				found = append(found, violation{
					Text:  fmt.Sprintf("operation %d, %s, succeeded while %s was suspended", o.Number, o.Kind, s.Site),
					Order: o.Order, Webhook: o.Webhook,
				})
			}
		}
	}
	return found
}

const (
	// acceptTime is the time after a deadline in which its workflow cancels the order without a fault.
	acceptTime = 20 * time.Second
	// tickTime is the time after a placement or a deadline in which a fault may prevent that the order is evaluated.
	tickTime = 10 * time.Second
	// recovery is the time after a fault in which an order that it has delayed is evaluated: the activity times out after
	// a minute, and a loss of state starts thousands of deliveries again.
	recovery = 90 * time.Second
)

// lingering are the faults that remove state of Comanda or Temporal, which take longer to recover from.
var lingering = []string{"fail-over", "restore-comanda", "restore-temporal", "empty-temporal"}

func (d disturbance) lingers() bool { return slices.Contains(lingering, d.Fault) }

// evaluated returns the time after which an order that was placed at a time is evaluated at its deadline: the deadline,
// or the end of the recovery from faults that delay it.
func (h *history) evaluated(placed, due time.Time) (at time.Time, delayed bool) {
	at = due
	for _, d := range h.Disturbances { // one after the other
		lasts := aftermath
		if delayed || d.lingers() {
			lasts = recovery
		}
		// The evaluation after the placement waits for the end of the fault, and may time out then.
		first := !d.Gentle && d.Begin.Before(placed.Add(tickTime)) && d.End.After(placed.Add(tickTime))
		again := d.Begin.Before(at.Add(tickTime)) && d.End.Add(lasts).After(at)
		if end := d.End.Add(recovery); (first || again) && end.After(at) {
			at, delayed = end, true
		}
	}
	return at, delayed
}

// expiry is the cancellation of an order at its deadline.
type expiry struct {
	changeRow
	took, deadline time.Duration // since the order was placed
	stepped        bool          // the clock of PostgreSQL, which measures deadlines and the times of the log
	by             time.Time     // when it is evaluated at the latest
	delayed        bool          // by a fault
}

// expiries returns the cancellations at deadlines.
func expiries(h *history, s *state) (list []expiry) {
	placed := map[string]time.Time{}
	for _, c := range s.Changes {
		if c.Version == 1 {
			placed[c.Order] = c.At
		}
	}
	for site, deadline := range h.Deadlines {
		for _, c := range s.Changes {
			o := s.Orders[c.Order]
			if o.Store != h.Stores[site] || o.Reason != app.ReasonNotAccepted || c.To == nil || *c.To != o.Status {
				continue
			}
			since := placed[c.Order]
			e := expiry{
				changeRow: c, took: c.At.Sub(since), deadline: deadline, stepped: h.stepped(since) || h.stepped(c.At),
			}
			e.by, e.delayed = h.evaluated(since, since.Add(deadline))
			list = append(list, e)
		}
	}
	return list
}

// checkDeadlines checks docs/behaviour.md#acceptance: an order that stays in RECEIVED is cancelled at its deadline, not
// earlier, and no other order is.
func checkDeadlines(h *history, s *state) (found []violation) {
	for site := range h.Deadlines {
		for _, o := range s.Orders {
			if o.Store == h.Stores[site] && o.Status == string(app.OrderReceived) {
				found = append(found, ofOrder(o.ID, "is still in RECEIVED, although %s has a deadline", site))
			}
		}
	}
	for _, e := range expiries(h, s) {
		early, late := e.took < e.deadline-time.Second, e.At.After(e.by.Add(acceptTime))
		switch {
		case e.From == nil || *e.From != string(app.OrderReceived):
			found = append(found, ofOrder(e.Order, "is cancelled by its deadline, although it was accepted"))
		case (early || late) && !e.stepped:
			found = append(found, ofOrder(e.Order, "is cancelled by its deadline after %s", e.took))
		}
	}
	return found
}
