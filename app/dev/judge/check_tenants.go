package main

import (
	"bytes"
	"fmt"
)

// checkTenants checks docs/behaviour.md#tenancy: an event, its deliveries, their attempts and their requests belong to
// the store of the webhook, and no body names another store.
func checkTenants(h *history, s *state) (found []violation) {
	for _, d := range s.everyDelivery() {
		w, _ := s.webhook(d.Webhook)
		e := s.Events[d.Event]
		switch {
		case e == nil:
			found = append(found, ofDelivery(d, "is of an event that was not committed"))
		case e.Store != d.Store || w.Store != d.Store:
			found = append(found, ofDelivery(d, "belongs to %s, its event to %s, its webhook to %s", d.Store, e.Store, w.Store))
		case d.Queue != s.Stores[d.Store].queue():
			found = append(found, ofDelivery(d, "has the queue %s, its store %s", d.Queue, s.Stores[d.Store].queue()))
		}
		for _, a := range s.Attempts[d.ID] {
			if a.Store != d.Store || a.Webhook != d.Webhook || a.Event != d.Event {
				found = append(found, ofDelivery(d, "attempt %s is of another store, webhook or event", a.ID))
			}
		}
	}
	for _, e := range s.Events {
		if body := e.parsed(); e.Body != nil && body.Store != e.Store {
			found = append(found, violation{Text: "the body names the store " + body.Store + ", not " + e.Store, Event: e.ID})
		}
	}
	for _, r := range h.Requests {
		w, _ := s.webhook(r.Webhook)
		if own := h.Stores[r.Site]; w.Store != own {
			found = append(found, violation{Text: fmt.Sprintf("a webhook of %s posts to a receiver of %s", w.Store, own),
				Event: r.Event, Webhook: r.Webhook})
		}
		for store := range s.Stores {
			if store != h.Stores[r.Site] && bytes.Contains(r.Body, []byte(store)) {
				found = append(found, violation{Text: "a request names the store " + store + " of another site", Event: r.Event,
					Webhook: r.Webhook})
			}
		}
	}
	return found
}
