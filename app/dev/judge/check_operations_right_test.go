package main

import (
	"testing"
	"time"
)

// TestUnknownAdjustment checks that an adjustment of a stock without a response may be made or not.
func TestUnknownAdjustment(t *testing.T) {
	t.Parallel()
	for _, made := range []int64{5, 12} {
		b := rightBook()
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 5})
		b.did(operation{planned: planned{Site: "a", Kind: "change stock"}, Subject: "p1", Amount: 7, Result: unknown})
		b.stock(b.tx(), made)
		if found := checkStock(b.h, b.s); len(found) > 0 {
			t.Errorf("%d: got %+v, want none", made, found)
		}
	}
}

// TestChangedWebhook checks that the version of a response has the value, or another secret, and that a repeated
// rotation may return the version of a later change.
func TestChangedWebhook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, detail string
		tries        int
		change       func(*webhookRow)
	}{
		{"change filter", noFilter, 1, nil},
		{"change filter", expressions[0], 1, func(w *webhookRow) { w.Filter = &expressions[0] }},
		{"change events", "[order.created order.updated]", 1, func(w *webhookRow) {
			w.Events = []string{"order.created", "order.updated"}
		}},
		{"move webhook", "/a/w7, responds", 1, func(w *webhookRow) { w.URL = "https://localhost:8443/a/w7" }},
		{"rotate secret", "", 1, nil},
		{"rotate secret", "", 2, func(w *webhookRow) { w.Active = false }},
	} {
		b := rightBook()
		b.webhook("w1", "a", "resource", test.change)
		b.webhook("w1", "a", "none", nil) // a later change
		b.did(operation{
			planned: planned{Site: "a", Kind: test.kind}, Webhook: "w1", Version: 2, Tries: test.tries, Detail: test.detail,
		})
		if found := checkOperations(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", test.kind, found)
		}
	}
}

// TestChangedPlan checks that a website may get another plan before the response of an operation, and that a stepped
// clock hides the time of the change.
func TestChangedPlan(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *book, o *operation){
		"replaced before the response": func(b *book, o *operation) {
			o.End = b.at.Add(time.Minute)
			for _, plan := range []string{"GROW", "STARTER"} {
				b.s.Websites["ws_a"] = append(b.s.Websites["ws_a"], websiteRow{logged: b.tx(), Plan: plan})
			}
		},
		"stepped clock": func(b *book, _ *operation) {
			b.h.addDisturbance(disturbance{Fault: "clock-postgres", Begin: b.at, End: b.at.Add(time.Second)})
		},
	} {
		b := rightBook()
		b.did(operation{planned: planned{Site: "a", Kind: "change plan"}, Detail: "GROW"})
		change(b, &b.h.Operations[len(b.h.Operations)-1])
		if found := checkOperations(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}

// TestErasedVersions checks that erasures may increase the version of a customer or of a reservation without an event.
func TestErasedVersions(t *testing.T) {
	t.Parallel()
	b := rightBook()
	c := b.s.Customers["c-a"]
	c.Version, c.ErasedAt = 3, &noon
	b.s.Customers["c-a"] = c
	b.s.Booked[0].Version, b.s.Booked[0].ErasedAt = 2, &noon
	if found := checkChanges(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}
