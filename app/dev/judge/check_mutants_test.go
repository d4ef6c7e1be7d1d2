package main

import (
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// mutant is a defect as a run shows it. The named checker finds it.
type mutant struct {
	checker string
	defect  string
	apply   func(b *book)
}

// deliveryMutants are defects of the delivery of events.
var deliveryMutants = []mutant{
	{"dispatch", "a lost outbox row", func(b *book) { delete(b.s.Events, "e-completed") }},
	{"dispatch", "an event that is not dispatched", func(b *book) { b.s.Events["e-o3"].Position = 0 }},
	{"dispatch", "a fan-out cut in two", func(b *book) { b.lose("e-o2/w2") }},
	{"dispatch", "a delivery to an inactive webhook", func(b *book) {
		b.s.Webhooks["w2"][0].Active = false
	}},
	{"dispatch", "a delivery that the filter excludes", func(b *book) {
		b.s.Webhooks["w3"][0].Filter = new(`type != "order.created"`)
	}},
	{"dispatch", "a delivery of a type that is not selected", func(b *book) {
		b.s.Webhooks["w3"][0].Events = []string{"order.updated"}
	}},
	{"changes", "a lost outbox row of a product", func(b *book) { b.s.Menu[0].PriceMinor++ }},
	{"changes", "a lost outbox row of a product that is sold out", func(b *book) { b.s.Menu[0].Stock = new(int64) }},
	{"changes", "a lost outbox row of a product that is available again", func(b *book) {
		b.s.Events["e-menu"].Body = new(`{"data":{"version":1,"priceMinor":550}}`)
	}},
	{"changes", "a lost outbox row of a deletion", func(b *book) {
		b.s.Events["e-deleted"].Body = new(`{"data":{"version":1,"priceMinor":550}}`)
	}},
	{"changes", "a lost outbox row of an earlier change of a customer", func(b *book) {
		b.event("e-later", "a", "customer.updated", "c-a", `{"version":3}`)
		c := b.s.Customers["c-a"]
		c.Version = 3
		b.s.Customers["c-a"] = c
	}},
	{"changes", "a lost outbox row of an earlier change of a reservation", func(b *book) {
		b.event("e-later", "a", "reservation.cancelled", "r1", `{"version":3,"status":"CANCELLED"}`)
		b.s.Booked[0].Version, b.s.Booked[0].Status = 3, "CANCELLED"
	}},
	{"changes", "a product without an event", func(b *book) { delete(b.s.Events, "e-menu") }},
	{"changes", "a lost outbox row of a customer", func(b *book) {
		c := b.s.Customers["c-a"]
		c.Version++
		b.s.Customers["c-a"] = c
	}},
	{"changes", "a lost outbox row of a reservation", func(b *book) { b.s.Booked[0].Status = "CONFIRMED" }},
	{"omitted", "a bulk replay that drops one", func(b *book) {
		b.s.Steps["e-paid/w1"] = b.s.Steps["e-paid/w1"][:3]
		b.s.Deliveries["e-paid/w1"] = b.s.Steps["e-paid/w1"][2]
	}},
	{"omitted", "a bulk replay that ends before its last delivery", func(b *book) {
		b.s.Asked["bulk"][1].Seen = snapshot{}
	}},
	{"ends", "a delivery that is held back for ever", func(b *book) {
		b.last("e-o2/w1", func(d *deliveryRow) { d.Status = "queued" })
	}},
	{"ends", "a dead letter before its last retry", func(b *book) { b.s.Tries = 4 }},
	{"ends", "a cancelled delivery of a webhook that exists", func(b *book) {
		b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "cancelled", app.ReasonDeleted })
	}},
	{"ends", "a dead letter of a webhook that was always active", func(b *book) {
		b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
	}},
	{"ends", "a replay that is dropped after a reactivation", func(b *book) {
		b.webhook("w2", "a", "none", nil)
		b.replay("e-o2/w2", "")
		b.change("e-o2/w2", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
	}},
	{"ends", "an erased delivery whose event is not erased", func(b *book) {
		b.last("e-product/w3", func(d *deliveryRow) { d.Reason = app.ReasonErased })
	}},
	{"ends", "a cancellation without a reason", func(b *book) {
		b.last("e-product/w3", func(d *deliveryRow) { d.Reason = "" })
	}},
	{"ends", "a dead letter of a deleted webhook", func(b *book) {
		b.last("e-product/w3", func(d *deliveryRow) { d.Status = "dead_letter" })
	}},
	{"steps", "a record that overwrites a queued replay", func(b *book) {
		b.drop("e-o1/w2", func(d deliveryRow) bool { return d.isReplay() && d.Status == "pending" })
	}},
	{"steps", "an ended delivery that a late record reopens", func(b *book) {
		b.change("e-o2/w1", func(d *deliveryRow) { d.Status = "retrying" })
	}},
	{"steps", "a claim of an inactive webhook", func(b *book) {
		b.s.Webhooks["w2"][0].Active, b.s.Webhooks["w2"][0].At = false, noon.Add(-time.Minute)
	}},
	{"steps", "a claim of a deleted webhook that is taken back", func(b *book) {
		b.at = b.at.Add(time.Minute)
		last := b.s.Steps["e-product/w3"]
		b.s.Steps["e-product/w3"] = last[:1]
		b.s.Deliveries["e-product/w3"] = last[0]
		b.claim("e-product/w3")
		b.change("e-product/w3", func(d *deliveryRow) { d.Status = "queued" })
		b.change("e-product/w3", func(d *deliveryRow) { d.Status, d.Reason = "cancelled", app.ReasonDeleted })
	}},
	{"replays", "a late end of an earlier run that ends a replay", func(b *book) {
		b.last("e-o1/w2", func(d *deliveryRow) { d.Attempts, d.Status, d.Reason = d.ScheduleBase, "dead_letter", "HTTP 500" })
	}},
	{"replays", "an accepted replay that is not queued", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "replay delivery"}, Subject: "e-o2/w1", Webhook: "w1"})
	}},
	{"replays", "a bulk replay that leaves out a delivery", func(b *book) {
		b.s.Replays[0].Matched, b.s.Replays[0].Replayed = 3, 3
	}},
	{"replays", "a bulk replay that never ends", func(b *book) { b.s.Replays[0].Status = "running" }},
	{"replays", "a lost bulk replay", func(b *book) {
		b.did(operation{planned: planned{Site: "a", Kind: "replay webhook"}, Subject: "rpl", Webhook: "w1"})
	}},
	{"requests", "a bad signature", func(b *book) { b.h.Requests[0].Flaw = "signature" }},
	{"requests", "an event that was rolled back", func(b *book) { b.h.Requests[0].Event = "e-unknown" }},
	{"requests", "another body", func(b *book) { b.h.Requests[0].Body = []byte("{}") }},
	{"requests", "an event of another store", func(b *book) { b.h.Requests[0].Webhook = "w3" }},
	{"requests", "an unknown webhook", func(b *book) { b.h.Requests[0].Webhook = "w9" }},
	{"requests", "no delivery", func(b *book) {
		b.h.Requests[2].Webhook = "w2" // of an event that it does not select
	}},
	{"requests", "another position", func(b *book) { b.h.Requests[0].Header.Set("X-Webhook-Position", "1") }},
	{"requests", "another resource", func(b *book) { b.h.Requests[0].Header.Del("X-Webhook-Resource") }},
	{"requests", "the test of another webhook", func(b *book) {
		b.h.Requests[len(b.h.Requests)-1].Webhook = "w1"
		b.s.Events["e-ping"].Store = "st_a"
	}},
	{"duplicates", "a relay without a claim", func(b *book) { b.post("e-o2/w1", 204) }},
	{"duplicates", "two repetitions at one fault", func(b *book) {
		b.h.addDisturbance(disturbance{Fault: "kill-worker", Begin: noon, End: noon.Add(time.Hour)})
		b.post("e-o2/w1", 204)
		b.post("e-o2/w1", 204)
	}},
	{"duplicates", "a shutdown that drops attempts", func(b *book) {
		b.h.addDisturbance(disturbance{Fault: "rolling-restart", Gentle: true, Begin: noon, End: noon.Add(time.Hour)})
		b.post("e-o2/w1", 204)
	}},
	{"duplicates", "a delivered event again at a later fault", func(b *book) {
		b.later("e-o2/w1")
		b.h.addDisturbance(disturbance{Begin: noon.Add(time.Hour - time.Second), End: noon.Add(time.Hour)})
	}},
	{"silence", "an attempt of a deleted webhook", func(b *book) { b.later("e-o3/w3") }},
	{"silence", "an attempt of an inactive webhook", func(b *book) { b.later("e-o2/w2") }},
	{"silence", "an attempt of a deleted webhook long after a fault", func(b *book) {
		b.later("e-o3/w3")
		b.h.addDisturbance(disturbance{Begin: noon.Add(10 * time.Minute), End: noon.Add(11 * time.Minute)})
	}},
	{"turns", "dispatch without turns", func(b *book) { b.swap("e-o1/w1", "e-paid/w1") }},
	{"turns", "a successor that starts during its predecessor", func(b *book) {
		steps := b.s.Steps["e-o1/w1"]
		steps[1].Number, b.s.Steps["e-paid/w1"][1].Number = steps[2].Number-1, steps[2].Number
	}},
	{"turns", "a replay that passes its predecessor", func(b *book) {
		first, second := b.s.Steps["e-o1/w1"], b.s.Steps["e-paid/w1"]
		for n := range 2 { // the claim and the end of the replay
			i, j := len(first)-1-n, len(second)-1-n
			first[i].Number, second[j].Number = second[j].Number, first[i].Number
		}
	}},
	{"turns", "a replay that passes a first delivery", func(b *book) {
		waits := b.s.Steps["e-cancelled/w1"][0]
		waits.Resource, waits.At, waits.Number = "o1", noon.Add(-time.Hour), 1
		b.s.Steps["e-cancelled/w1"] = []deliveryRow{waits}
	}},
	{"turns", "a request without a turn between those of another delivery", func(b *book) { b.intrude() }},
	{"turns", "a request without a turn during another one", func(b *book) {
		open := &b.h.Requests[b.of("e-paid/w1")[0]]
		open.Answered = open.At.Add(promptly / 2)
		b.h.Requests[b.of("e-completed/w1")[0]].At = open.At.Add(promptly / 4)
	}},
	{"arrivals", "an inversion", func(b *book) {
		b.h.Requests[0].At, b.h.Requests[2].At = b.h.Requests[2].At, b.h.Requests[0].At
	}},
	{"arrivals", "an inversion of an attempt with others that are recorded", func(b *book) {
		retried := b.of("e-refunded/w1")
		b.h.Requests[retried[0]].At = noon
	}},
	{"positions", "positions by id", func(b *book) {
		one, other := b.s.Events["e-o1"], b.s.Events["e-completed"]
		one.Position, other.Position = other.Position, one.Position
	}},
	{"positions", "positions of one dispatch against the outbox", func(b *book) {
		one, other := b.s.Events["e-o1"], b.s.Events["e-o2"]
		one.Dispatched.XID = other.Dispatched.XID
		one.Position = other.Position + 1
		delete(b.s.Events, "e-paid")
		delete(b.s.Events, "e-completed")
		delete(b.s.Events, "e-refunded")
	}},
	{"positions", "a position twice", func(b *book) {
		b.s.Events["e-o1"].Position = b.s.Events["e-o2"].Position
	}},
	{"positions", "a position that JavaScript cannot read", func(b *book) {
		b.s.Events["e-o3"].Position = 1 << 53
	}},
	{"positions", "versions against positions", func(b *book) {
		b.s.Events["e-o1"].Body = new(`{"storeId":"st_a","data":{"version":9,"totalMinor":1000}}`)
	}},
	{"lost positions", "a position that a lost event had", func(b *book) {
		b.loseBefore("e-paid", noon.Add(time.Second))
	}},
	{"no skip", "an event that is visible before an earlier one", func(b *book) {
		e := b.s.Events["e-paid"]
		e.Dispatched.Seen = snapshot{least: 1, next: e.Dispatched.XID, running: []uint64{b.s.Events["e-o2"].Dispatched.XID}}
		e.Dispatched.Seen.least = b.s.Events["e-o2"].Dispatched.XID
	}},
	{"no skip", "a list that lacks an event", func(b *book) { b.s.Listed["st_a"] = b.s.Listed["st_a"][1:] }},
	{"no skip", "a list in another order", func(b *book) {
		b.s.Listed["st_a"][0], b.s.Listed["st_a"][1] = b.s.Listed["st_a"][1], b.s.Listed["st_a"][0]
	}},
	{"plans", "a claim that counts inactive webhooks", func(b *book) { b.s.Windows[0].Started++ }},
	{"plans", "a start that is not counted", func(b *book) { b.s.Windows[0].Started-- }},
	{"plans", "a replay that is not counted as one", func(b *book) { b.s.Windows[0].ReplayStarted-- }},
	{"plans", "a window that is lost", func(b *book) { b.s.Windows = b.s.Windows[1:] }},
	{"plans", "a start without an attempt", func(b *book) {
		b.last("e-o2/w1", func(d *deliveryRow) { d.Attempts = 0 })
	}},
	{"plans", "more starts than the plan allows", func(b *book) {
		for n := range 501 {
			id := fmt.Sprintf("many-%d/w3", n)
			b.step(deliveryRow{
				logged: b.tx(), ID: id, Store: "st_b", Event: "e-o3", Webhook: "w3", Status: "queued", Queue: "ws_b",
			})
			b.claim(id)
		}
	}},
	{"plans", "first attempts in another window", func(b *book) {
		for n := range 501 {
			b.s.Deliveries[fmt.Sprint(n)] = deliveryRow{ID: fmt.Sprint(n), Queue: "ws_b"}
			b.s.Steps[fmt.Sprint(n)] = []deliveryRow{{Queue: "ws_b", Status: "queued", Attempts: 1, CountedIn: &noon}}
			b.s.Attempts[fmt.Sprint(n)] = []attemptRow{{Number: 1, At: noon}}
		}
	}},
	{"plans", "late first attempts of healthy webhooks", func(b *book) { b.attemptLate(501, func(*deliveryRow) {}) }},
	{"plans", "late first attempts of bursts", func(b *book) {
		b.attemptLate(501, func(d *deliveryRow) { d.Class, d.Burst = classReplay, new("burst") })
	}},
	{"bursts", "no burst", func(b *book) { b.h.Bursts = burstsAlways }},
	{"bursts", "a burst that is switched off", func(b *book) {
		b.h.Bursts = burstsOff
		b.last("e-o1/w1", func(d *deliveryRow) { d.Burst = new("burst") })
	}},
	{"attempts", "a gap in the numbers", func(b *book) { b.s.Attempts["e-o1/w2"][3].Number = 5 }},
	{"attempts", "an attempt that is not counted", func(b *book) {
		b.last("e-o1/w2", func(d *deliveryRow) { d.Attempts-- })
	}},
	{"attempts", "a delivered delivery without a success", func(b *book) {
		b.s.Attempts["e-o2/w1"][0].Status = "failed"
	}},
	{"attempts", "a retry after the end", func(b *book) { b.s.Attempts["e-o1/w2"][0].Status = "retrying" }},
	{"attempts", "a response that the receiver did not send", func(b *book) {
		b.s.Attempts["e-o1/w2"][0].StatusCode = 418
	}},
	{"attempts", "a success that is recorded as a failure", func(b *book) {
		b.h.Requests[b.of("e-refunded/w1")[1]].Status = 204
		b.s.Attempts["e-refunded/w1"][1].StatusCode = 0
	}},
	{"attempts", "a success that a shutdown records as a failure", func(b *book) {
		b.h.addDisturbance(disturbance{Fault: "rolling-restart", Gentle: true, Begin: noon, End: noon.Add(time.Hour)})
		b.h.Requests[b.of("e-refunded/w1")[1]].Status = 204
		b.s.Attempts["e-refunded/w1"][1].StatusCode = 0
	}},
	{"attempts", "a success that is recorded as a failure, before another success", func(b *book) {
		b.h.Requests[b.of("e-o1/w1")[0]].Status = 204
		b.s.Attempts["e-o1/w1"][0].StatusCode = 0
	}},
	{"attempts", "a success after the timeout", func(b *book) {
		r := &b.h.Requests[b.of("e-o2/w1")[0]]
		r.Answered = r.At.Add(tooLate)
	}},
	{"attempts", "an attempt after a success", func(b *book) { b.attempt("e-o2/w1", 204) }},
	{"attempts", "an attempt after the last one of the schedule", func(b *book) { b.attempt("e-refunded/w1", 500) }},
	{"attempts", "an attempt after the last one of the schedule of a replay", func(b *book) {
		b.replay("e-refunded/w1", "")
		b.deliver("e-refunded/w1", 500, 500, 500, 500)
	}},
	{"workflows", "a workflow that stays open", func(b *book) { b.s.Workflows["delivery/e-o2/w1"] = "open" }},
	{"workflows", "a lost workflow of a dead letter", func(b *book) { delete(b.s.Workflows, "delivery/e-refunded/w1") }},
	{"workflows", "a dead letter whose workflow retries", func(b *book) {
		b.s.Workflows["delivery/e-refunded/w1"] = "retrying"
	}},
	{"workflows", "a burst that stays open", func(b *book) { b.s.Workflows["burst/1"] = "open" }},
}
