package main

import (
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// allowed are the changes of a delivery's status (docs/architecture.md#states-of-a-delivery) except those of replays.
var allowed = []string{
	"queued pending", "pending queued", "pending retrying", "pending delivered", "pending dead_letter",
	"pending cancelled", "retrying delivered", "retrying dead_letter", "retrying cancelled", "queued cancelled",
	"queued dead_letter", "dead_letter delivered", "dead_letter cancelled",
}

// checkSteps checks docs/architecture.md#states-of-a-delivery. A delivery that was claimed, and queued again while its
// workflow ran, is recorded as what it became. A queued replay that was not claimed yet is only claimed, or ended
// without an attempt: no record of an earlier attempt takes its place. Nor is a delivery claimed while its webhook is
// inactive or deleted, even if the claim is taken back (docs/behaviour.md#inactive-and-deleted-webhooks).
func checkSteps(h *history, s *state) (found []violation) {
	for _, d := range s.everyDelivery() {
		steps := s.Steps[d.ID]
		if len(steps) == 0 {
			found = append(found, ofDelivery(d, "has no row in the log"))
			continue
		}
		if first := steps[0]; first.Status != "queued" {
			found = append(found, ofDelivery(d, "begins as %s", first.Status))
		}
		claims := 0 // before the last replay
		for i, to := range steps[1:] {
			from := steps[i]
			change := from.Status + " " + to.Status
			if change == "queued pending" && s.idle(h, to) {
				found = append(found, ofDelivery(d, "is claimed, although its webhook is inactive or deleted"))
			}
			replayed := to.Replays - from.Replays
			if replayed > 0 {
				claims = to.Generation
			}
			unclaimed := from.isReplay() && from.Generation == claims
			switch {
			case replayed > 0 && (!from.ended() || to.Status != "queued" || replayed != 1):
				found = append(found, ofDelivery(d, "%d replays change it from %s", replayed, change))
			case replayed > 0, from.Status == to.Status:
			case from.Status == "queued" && unclaimed && to.Status != "pending" && !endedUnmade(to):
				found = append(found, ofDelivery(d, "a queued replay becomes %s without a claim", to.Status))
			case from.Status == "queued" && !unclaimed && to.Attempts > from.Attempts:
			case !slices.Contains(allowed, change):
				found = append(found, ofDelivery(d, "changes from %s", strings.Replace(change, " ", " to ", 1)))
			}
		}
	}
	return found
}

// claimTime is the longest time, without a fault, from the logged change of a webhook to its commit, and from the start
// of a claim to its log entry.
const claimTime = 2 * time.Second

// idle reports whether the webhook of a claim must have been inactive or deleted when the claim started. A claim is
// logged at its end, with a newer snapshot than its own. Faults can suspend a claim.
func (s *state) idle(h *history, claim deliveryRow) bool {
	var last *webhookRow
	for i, w := range s.Webhooks[claim.Webhook] { // the visible versions are the first ones
		if claim.sees(w.logged) {
			last = &s.Webhooks[claim.Webhook][i]
		}
	}
	return last != nil && !last.live() && claim.At.Sub(last.At) > claimTime && h.undelayed(claim)
}

// undelayed reports whether the log shows when a claim started.
func (h *history) undelayed(claim deliveryRow) bool {
	return !h.stepped(claim.At) && h.disturbed(claim.At.Add(-aftermath), claim.At) == 0
}

// endedUnmade reports whether a delivery has ended with a reason for which no attempt is made
// (docs/behaviour.md#inactive-and-deleted-webhooks, docs/behaviour.md#erasure).
func endedUnmade(d deliveryRow) bool {
	return d.ended() && slices.Contains([]string{app.ReasonInactive, app.ReasonDeleted, app.ReasonErased}, d.Reason)
}

// runs splits the steps of a delivery at its replays. Each run begins in the queue.
func runs(steps []deliveryRow) (list [][]deliveryRow) {
	for i, step := range steps {
		if i == 0 || step.Replays > steps[i-1].Replays {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], step)
	}
	return list
}

// checkReplays checks docs/behaviour.md#dead-letters-and-replays: an accepted replay is made from the beginning of its
// schedule, unless its webhook is inactive or deleted, and a bulk replay queues each delivery that it counts.
func checkReplays(h *history, s *state) (found []violation) {
	single, bulk := map[string]int{}, map[string]int{}
	for _, d := range s.everyDelivery() {
		for i, run := range runs(s.Steps[d.ID]) {
			first, last := run[0], run[len(run)-1]
			if !first.isReplay() {
				continue
			}
			if first.Replay != nil {
				bulk[*first.Replay]++
			} else {
				single[d.ID]++
			}
			if last.Attempts <= last.ScheduleBase && !endedUnmade(last) {
				found = append(found, ofDelivery(d, "replay %d was accepted and ends as %s without an attempt", i, last.Status))
			}
		}
	}
	accepted := map[string]int{}
	for _, o := range h.Operations {
		if o.Kind == "replay delivery" && o.Result == done {
			accepted[o.Subject]++
		}
	}
	for id, n := range accepted {
		if n > single[id] {
			found = append(found, ofDelivery(s.Deliveries[id], "%d replays were accepted, %d queued", n, single[id]))
		}
	}
	return append(found, checkBulkReplays(h, s, bulk)...)
}

// checkBulkReplays compares bulk replays with the number of deliveries that each has queued.
func checkBulkReplays(h *history, s *state, queued map[string]int) (found []violation) {
	known := map[string]bool{}
	for _, r := range s.Replays {
		known[r.ID] = true
		v := violation{}
		if r.Webhook != nil {
			v.Webhook = *r.Webhook
		}
		switch {
		case r.Status == "running":
			v.Text = r.ID + " is still running"
		case r.Status == "completed" && r.Matched != r.Replayed+r.Skipped:
			v.Text = r.ID + " has not replayed or skipped everything that matched"
		case r.Status == "cancelled" && r.Reason == "":
			v.Text = r.ID + " is cancelled without a reason"
		case r.Replayed != queued[r.ID]:
			v.Text = r.ID + " has not queued what it counts"
		}
		if v.Text != "" {
			found = append(found, v)
		}
	}
	for _, o := range h.Operations {
		bulk := slices.Contains([]string{"replay webhook", "replay store", "renew webhook"}, o.Kind)
		if bulk && o.Result == done && !known[o.Subject] {
			found = append(found, violation{Text: "the accepted " + o.Subject + " does not exist", Webhook: o.Webhook})
		}
	}
	return found
}
