package main

import (
	"fmt"
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
	// recovery is the time after a fault in which work that has waited meanwhile occupies the processors: thousands of
	// deliveries are started again after Temporal has lost its databases.
	recovery = 90 * time.Second
)

// recovered returns a time, or the end of the recovery from the faults before and during it.
func (h *history) recovered(at time.Time) time.Time {
	for _, d := range h.Disturbances { // one after the other
		if end := d.End.Add(recovery); d.Begin.Before(at) && end.After(at) {
			at = end
		}
	}
	return at
}

// checkDeadlines checks docs/behaviour.md#acceptance: an order that stays in RECEIVED is cancelled at its deadline, not
// earlier, and no other order is. The clock of PostgreSQL measures deadlines and the times of the log.
func checkDeadlines(h *history, s *state) (found []violation) {
	placed := map[string]changeRow{}
	for _, c := range s.Changes {
		if c.Version == 1 {
			placed[c.Order] = c
		}
	}
	for site, deadline := range h.Deadlines {
		for _, o := range s.Orders {
			if o.Store == h.Stores[site] && o.Status == string(app.OrderReceived) {
				found = append(found, ofOrder(o.ID, "is still in RECEIVED, although %s has a deadline", site))
			}
		}
		for _, c := range s.Changes {
			o := s.Orders[c.Order]
			if o.Store != h.Stores[site] || o.Reason != app.ReasonNotAccepted || c.To == nil || *c.To != o.Status {
				continue
			}
			since := placed[c.Order].At
			took := c.At.Sub(since)
			due := h.recovered(since.Add(deadline)).Add(acceptTime)
			late := c.At.After(due) && !h.stepped(since) && !h.stepped(c.At)
			switch {
			case c.From == nil || *c.From != string(app.OrderReceived):
				found = append(found, ofOrder(c.Order, "is cancelled by its deadline, although it was accepted"))
			case took < deadline-time.Second || late:
				found = append(found, ofOrder(c.Order, "is cancelled by its deadline after %s", took))
			}
		}
	}
	return found
}
