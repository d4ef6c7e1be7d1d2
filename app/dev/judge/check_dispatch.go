package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

// checkDispatch checks docs/behaviour.md#events: each event reaches each active webhook that selects its type. The
// versions of a webhook count that were the present one at a moment from the insert of the event to its dispatch. If
// they differ in whether they match, either result is right.
func checkDispatch(_ *history, s *state) (found []violation) {
	made := map[target]bool{}
	for _, steps := range s.Steps {
		if first := steps[0]; !first.isReplay() { // a replay of missed events makes deliveries later
			made[first.target()] = true
		}
	}
	byStore := map[string][]string{}
	for id, versions := range s.Webhooks {
		byStore[versions[0].Store] = append(byStore[versions[0].Store], id)
	}
	filters := filters{}
	for _, e := range s.sortedEvents("") {
		if e.Position == 0 {
			found = append(found, violation{Text: e.Type + " was committed and never dispatched", Event: e.ID})
			continue
		}
		for _, id := range byStore[e.Store] {
			all, none := matches(e, s.Webhooks[id], filters)
			switch got := made[target{e.ID, id}]; {
			case all && !got:
				found = append(found, violation{Text: e.Type + " has no delivery to a webhook that matched", Event: e.ID,
					Webhook: id})
			case none && got:
				found = append(found, violation{Text: e.Type + " has a delivery to a webhook that did not match",
					Event: e.ID, Webhook: id})
			}
		}
	}
	for _, c := range s.Changes {
		if s.Events[c.Event] == nil {
			found = append(found, violation{Text: fmt.Sprintf("version %d of an order has no event", c.Version),
				Order: c.Order, Event: c.Event})
		}
	}
	return found
}

// matches reports whether all versions of a webhook matched an event that were the present one from its insert to its
// dispatch, and whether none did. Before its first version, a webhook does not exist.
func matches(e *eventRow, versions []webhookRow, filters filters) (all, none bool) {
	all, none = true, true
	add := func(matching bool) { all, none = all && matching, none && !matching }
	exists := false
	for i, v := range versions {
		if !e.Dispatched.sees(v.logged) {
			break
		}
		replaced := i+1 < len(versions) && e.sees(versions[i+1].logged)
		if !e.sees(v.logged) && !exists {
			add(false) // it did not exist when the event was inserted
		}
		exists = true
		if !replaced {
			add(v.live() && selects(v.Events, e.Type) && filters.match(v.Filter, e))
		}
	}
	if !exists {
		return false, true
	}
	return all, none
}

func selects(events []string, kind string) bool {
	return slices.Contains(events, kind) || slices.Contains(events, "*")
}

// filters are compiled filters by expression.
type filters map[string]*filter.Filter

// match reports whether a filter matches an event (docs/behaviour.md#filters). A filter that fails matches.
func (f filters) match(expression *string, e *eventRow) bool {
	if expression == nil || e.Body == nil {
		return true
	}
	compiled, known := f[*expression]
	if !known {
		compiled, _ = filter.Compile(*expression) // one that cannot be compiled is nil
		f[*expression] = compiled
	}
	data, err := filter.Data([]byte(*e.Body))
	if compiled == nil || err != nil {
		return true
	}
	matches, _, err := compiled.Matches(context.Background(), e.Type, data)
	return matches || err != nil
}

// checkEnds checks docs/behaviour.md#deliveries, docs/behaviour.md#dead-letters-and-replays and
// docs/behaviour.md#inactive-and-deleted-webhooks.
func checkEnds(h *history, s *state) (found []violation) {
	for _, d := range s.everyDelivery() {
		attempts := d.Attempts - d.ScheduleBase
		versions := s.Webhooks[d.Webhook]
		was := func(state func(webhookRow) bool) bool { return slices.ContainsFunc(versions, state) }
		deleted := was(func(w webhookRow) bool { return w.DeletedAt != nil })
		switch {
		case !d.ended():
			found = append(found, ofDelivery(d, "has not ended: %s", d.Status))
		case d.Status == "delivered":
		case d.Reason == "":
			found = append(found, ofDelivery(d, "%s without a reason", d.Status))
		case d.Reason == app.ReasonErased && s.Erased[d.Event]:
		case d.Status == "cancelled" && d.Reason == app.ReasonCancelled && s.lostDeletion(h, d.Webhook, d.CreatedAt):
		case d.Status == "cancelled" && !(deleted && d.Reason == app.ReasonDeleted):
			found = append(found, ofDelivery(d, "cancelled with the reason %q, its webhook is deleted: %t", d.Reason, deleted))
		case d.Status == "dead_letter" && d.Reason != app.ReasonInactive && attempts < s.Tries:
			found = append(found, ofDelivery(d, "dead letter after %d of %d attempts: %s", attempts, s.Tries, d.Reason))
		}
		for _, run := range runs(s.Steps[d.ID]) {
			end := run[len(run)-1]
			if end.Status == "dead_letter" && end.Reason == app.ReasonInactive && !s.inactiveDuring(run) {
				found = append(found, ofDelivery(d, "%s, but its webhook was active all the time", app.ReasonInactive))
			}
		}
		if w, _ := s.webhook(d.Webhook); w.DeletedAt != nil && d.Status == "dead_letter" {
			found = append(found, ofDelivery(d, "dead letter, but its webhook is deleted"))
		}
	}
	return found
}

// inactiveDuring reports whether a webhook was inactive at a moment of a run of a delivery. The end of a run has read
// the webhook after the run was queued, perhaps long before its record. A loss can lack the version that it has read.
func (s *state) inactiveDuring(run []deliveryRow) bool {
	queued, end := run[0], run[len(run)-1]
	versions := s.Webhooks[queued.Webhook]
	for i, w := range versions {
		replaced := i+1 < len(versions) && queued.sees(versions[i+1].logged)
		if !w.Active && !replaced && end.sees(w.logged) {
			return true
		}
	}
	return s.lostBetween(queued.At, end.At)
}
