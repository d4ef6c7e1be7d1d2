package main

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// checkOmitted checks docs/behaviour.md#dead-letters-and-replays: a bulk replay that is completed has queued each
// delivery that it selects and that was committed when the replay was requested, unless the delivery has changed before
// the replay ended, has lost its body or belongs to a deleted webhook.
func checkOmitted(_ *history, s *state) (found []violation) {
	deliveries := s.everyDelivery()
	for _, versions := range s.Asked {
		asked, ended := versions[0], versions[len(versions)-1]
		if ended.Status != "completed" || asked.Of == string(app.ReplayedMissed) {
			continue
		}
		for _, d := range deliveries {
			if w, _ := s.webhook(d.Webhook); w.DeletedAt != nil || s.Erased[d.Event] || !asked.covers(d) {
				continue
			}
			steps := s.Steps[d.ID]
			n := 0
			for n < len(steps) && asked.sees(steps[n].logged) {
				n++
			}
			if n == 0 || !asked.selects(steps[n-1]) {
				continue
			}
			if n == len(steps) && asked.selects(d) || n < len(steps) && !ended.sees(steps[n].logged) {
				found = append(found, ofDelivery(d, "was %s when %s was requested, which has omitted it", asked.Of, asked.ID))
			}
		}
	}
	return found
}

// replayRow is a version of a bulk replay.
type replayRow struct {
	logged
	ID        string    `json:"id"`
	Store     string    `json:"store_id"`
	Webhook   *string   `json:"subscription_id"`
	Type      *string   `json:"event_type"`
	Of        string    `json:"delivery_status"`
	OfReason  *string   `json:"delivery_reason"`
	From      time.Time `json:"created_from"`
	To        time.Time `json:"created_to"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason"`
	Matched   int       `json:"matched"`
	Replayed  int       `json:"replayed"`
	Skipped   int       `json:"skipped"`
	CreatedAt time.Time `json:"created_at"`
}

// covers reports whether a delivery is in the range of the bulk replay. The first and last millisecond are left out.
func (r replayRow) covers(d deliveryRow) bool {
	return d.Store == r.Store && (r.Webhook == nil || *r.Webhook == d.Webhook) && (r.Type == nil || *r.Type == d.Type) &&
		d.CreatedAt.After(r.From.Add(time.Millisecond)) && d.CreatedAt.Before(r.To.Add(-time.Millisecond))
}

// selects reports whether the bulk replay selects a state of a delivery in its range.
func (r replayRow) selects(d deliveryRow) bool {
	return d.Status == r.Of && d.EndedAt != nil && !d.EndedAt.After(r.CreatedAt) &&
		(r.OfReason == nil || *r.OfReason == d.Reason)
}
