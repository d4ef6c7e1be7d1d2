package main

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestCheckersAreSilent checks that no checker finds a violation in a right run.
func TestCheckersAreSilent(t *testing.T) {
	t.Parallel()
	b := rightBook()
	for _, c := range checkers {
		for _, v := range c.check(b.h, b.s) {
			t.Errorf("%s: got %+v, want none", c.name, v)
		}
	}
	if n := duplicates(b.h, b.s); n != 0 {
		t.Errorf("duplicates: got %d, want 0", n)
	}
}

// covered makes an order one that its points cover, with a refunded payment by mistake.
func covered(o *orderRow) { o.Status, o.TotalMinor, o.PaidMinor, o.RefundedMinor = "RECEIVED", 0, 5, 5 }

// TestRightRedemptions checks that points that cover an order stay taken when a payment by mistake is refunded, and
// that an order that is paid after a refund of everything takes its points again, or those that the customer has.
func TestRightRedemptions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*book){
		"covered": func(b *book) {
			b.loseEntry("RETURNED")
			b.order("o2", covered)
		},
		"paid again": func(b *book) {
			b.order("o2", func(o *orderRow) {
				o.Status, o.PaidMinor, o.RefundedMinor, o.CompensatedMinor = "RECEIVED", 2000, 1000, 1000
			})
			b.s.Loyalty = append(b.s.Loyalty, loyaltyRow{Customer: "c-a", Order: "o2", Kind: "REDEEMED", Points: -30})
		},
	} {
		b := rightBook()
		change(b)
		if found := checkRedemptions(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestReplayOfAnUnattemptedDelivery checks that a delivery that ended without an attempt may arrive after the next one
// of its resource: only a replay makes its first request.
func TestReplayOfAnUnattemptedDelivery(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.open("a")
	b.webhook("w1", "a", "resource", nil)
	for _, id := range []string{"e1", "e2"} {
		b.dispatch(b.event(id, "a", "order.updated", "o1", "{}"), "w1")
	}
	b.change("e1/w1", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
	b.deliver("e2/w1", 204)
	b.replay("e1/w1", "")
	b.deliver("e1/w1", 204)
	if found := checkArrivals(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}

// TestRecordOfARequeuedReplay checks that a replay that was claimed, and queued again while its workflow ran, may be
// recorded as what it became, and that one that was never claimed may not.
func TestRecordOfARequeuedReplay(t *testing.T) {
	t.Parallel()
	for claimed, want := range map[bool]int{true: 0, false: 1} {
		b := rightBook()
		b.replay("e-o2/w1", "")
		if claimed {
			b.claim("e-o2/w1")
			b.change("e-o2/w1", func(d *deliveryRow) { d.Status = "queued" })
		}
		b.attempt("e-o2/w1", 204)
		if found := checkSteps(b.h, b.s); len(found) != want {
			t.Errorf("claimed: %t: got %+v, want %d violations", claimed, found, want)
		}
	}
}

// TestClaimBesideChange checks that a claim may begin before a webhook is switched off and be logged after it: before
// the change is committed, shortly after it, and at a fault later. A claim that sees a later activation is right, too.
func TestClaimBesideChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(b *book)
		want   int
	}{
		"long after": {func(b *book) {}, 1},
		"before the commit": {func(b *book) {
			claim := &b.s.Steps["e-product/w3"][1]
			claim.Seen.running = []uint64{b.s.Webhooks["w3"][1].XID}
			claim.Seen.least = claim.Seen.running[0]
		}, 0},
		"shortly after": {func(b *book) { b.s.Webhooks["w3"][1].At = b.at.Add(-claimTime) }, 0},
		"at a fault": {func(b *book) {
			b.h.addDisturbance(disturbance{Begin: noon, End: b.at.Add(-aftermath / 2)})
		}, 0},
		"of an active webhook": {func(b *book) {
			again := b.s.Webhooks["w3"][0]
			again.XID = b.s.Webhooks["w3"][1].XID
			b.s.Webhooks["w3"] = append(b.s.Webhooks["w3"], again)
		}, 0},
	} {
		b := rightBook()
		b.at = b.at.Add(time.Minute)
		b.s.Steps["e-product/w3"] = b.s.Steps["e-product/w3"][:1]
		b.s.Deliveries["e-product/w3"] = b.s.Steps["e-product/w3"][0]
		b.claim("e-product/w3")
		test.change(b)
		if found := checkSteps(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestEndOfInactiveWebhook checks that a run may end with its webhook inactive if the webhook was inactive at a moment
// of the run: when it was queued, later, or in lost time.
func TestEndOfInactiveWebhook(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(b *book, queue func()){
		"reactivated after the queue": func(b *book, queue func()) {
			queue()
			b.webhook("w2", "a", "none", nil)
		},
		"inactive for a moment": func(b *book, queue func()) {
			b.webhook("w2", "a", "none", nil)
			queue()
			b.webhook("w2", "a", "none", func(w *webhookRow) { w.Active = false })
			b.webhook("w2", "a", "none", nil)
		},
		"in lost time": func(b *book, queue func()) {
			b.webhook("w2", "a", "none", nil)
			queue()
			b.s.Losses = []loss{{Comanda: true, Begin: b.at, End: b.at.Add(time.Second)}}
		},
	} {
		b := rightBook()
		between(b, func() { b.replay("e-o2/w2", "") })
		b.change("e-o2/w2", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", app.ReasonInactive })
		if found := checkEnds(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}
