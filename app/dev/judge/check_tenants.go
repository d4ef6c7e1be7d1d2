package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"
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

// delays returns the times from the commit of an event to its first request, of each site, ascending. Those during a
// fault, and of deliveries that a plan limits, are left out.
func delays(h *history, s *state) map[string][]time.Duration {
	requests := h.requestsByTarget()
	all := map[string][]time.Duration{}
	for _, d := range s.Deliveries {
		list, e := requests[d.target()], s.Events[d.Event]
		steps := s.Steps[d.ID]
		if len(list) == 0 || e == nil || steps[0].isReplay() || d.CountedIn != nil {
			continue
		}
		first := list[0]
		if h.disturbed(e.At.Add(-aftermath), first.At) == 0 {
			all[first.Site] = append(all[first.Site], first.At.Sub(e.At))
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// Limits of what other websites may cost a website.
const (
	isolationFactor = 3
	isolationRest   = 250 * time.Millisecond
)

// checkIsolation compares the p99 of the delays of a site with that of a run with the same seed and this site alone:
// other websites may cost it a bounded time.
func checkIsolation(site string, alone, beside map[string][]time.Duration) (found []violation) {
	if len(alone[site]) == 0 || len(beside[site]) == 0 {
		return []violation{{Text: site + " has no delays to compare"}}
	}
	p99 := func(list []time.Duration) time.Duration { return list[len(list)*99/100] }
	was, is := p99(alone[site]), p99(beside[site])
	if limit := isolationFactor*was + isolationRest; is > limit {
		return []violation{{Text: fmt.Sprintf("the p99 of %s is %s, and %s alone: more than %s", site, is, was, limit)}}
	}
	return nil
}
