package main

import (
	"slices"
	"testing"
	"time"
)

// readerMutants are defects of the lists and streams that are read during a run.
var readerMutants = []mutant{
	{"readers", "a stream that skips an event", func(b *book) {
		b.reads(byStream, func(ids []string) []string { return ids[1:] })
	}},
	{"readers", "a stream that ends early", func(b *book) {
		b.reads(byStream, func(ids []string) []string { return ids[:len(ids)-1] })
	}},
	{"readers", "a stream that repeats an event", func(b *book) {
		b.reads(byStream, func(ids []string) []string { return append(ids, ids[len(ids)-1]) })
	}},
	{"readers", "a list in another order", func(b *book) {
		b.reads(byList, func(ids []string) []string { return append([]string{ids[1], ids[0]}, ids[2:]...) })
	}},
	{"readers", "a list that omits an erased event", func(b *book) {
		b.omit(byList, "e-paid")
	}},
	{"readers", "an event that was rolled back", func(b *book) {
		b.reads(byStream, func(ids []string) []string { return append(ids, "e-unknown") })
	}},
	{"readers", "a list that is refused", func(b *book) { b.h.Readings[0].Failed = "400" }},
	{"readers", "a stream that is refused before a loss", func(b *book) {
		b.h.Readings[0].Lost = []time.Time{noon}
		b.s.Losses = []loss{{Comanda: true, Begin: noon.Add(time.Second), End: noon.Add(time.Minute)}}
	}},
	{"readers", "an internal error", func(b *book) { b.h.Readings[0].Internal = 1 }},
	{"watchers", "an internal error", func(b *book) {
		b.h.Watchings = append(b.h.Watchings, watching{Site: "a", Internal: true})
	}},
	{"watchers", "an order that no stream shows", func(b *book) {
		b.h.Watchings[0].Shown = b.h.Watchings[0].Shown[:3]
	}},
	{"watchers", "versions in another order", func(b *book) {
		shown := b.h.Watchings[0].Shown
		shown[0], shown[2] = shown[2], shown[0]
	}},
}

// reads changes what the first reader of a manner has read.
func (b *book) reads(manner string, change func([]string) []string) {
	i := slices.IndexFunc(b.h.Readings, func(r reading) bool { return r.Manner == manner })
	b.h.Readings[i].Events = change(b.h.Readings[i].Events)
}

// omit erases an event, which a reader then omits.
func (b *book) omit(manner, event string) {
	b.s.Erased[event] = true
	b.reads(manner, func(ids []string) []string {
		return slices.DeleteFunc(ids, func(id string) bool { return id == event })
	})
}

// TestReadersMayOmit checks that a stream may omit erased events and be refused after a loss, and that a stream of
// orders may break before it shows a change.
func TestReadersMayOmit(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.omit(byStream, "e-paid")
	b.h.Readings[0].Lost = []time.Time{noon.Add(time.Hour)}
	b.s.Losses = []loss{{Comanda: true, Begin: noon.Add(time.Minute), End: noon.Add(time.Hour)}}
	b.h.Watchings[0].Shown, b.h.Watchings[0].End = nil, b.at.Add(time.Second)
	b.h.addDisturbance(disturbance{Fault: "kill-serve", Begin: noon, End: b.at.Add(time.Minute)})
	for _, v := range append(checkReaders(b.h, b.s), checkWatchers(b.h, b.s)...) {
		t.Errorf("got %+v, want none", v)
	}
}
