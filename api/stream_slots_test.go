package api

import (
	"sync"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// A group of websites that uses up the streams of a process leaves slots to websites with few streams.
func TestStreamsOfAProcess(t *testing.T) {
	t.Parallel()
	slots := newStreamSlots(4, 6, 2)
	for i, step := range []struct {
		website app.WebsiteID
		release bool
		want    app.Code
	}{
		{website: "hostile"}, {website: "hostile"}, {website: "accomplice"}, {website: "accomplice"},
		{website: "hostile", want: app.CodeUnavailable},
		{website: "small"}, {website: "small"}, // up to its few
		{website: "small", want: app.CodeUnavailable},
		{website: "late", want: app.CodeUnavailable}, // all slots are used up
		{website: "hostile", release: true},
		{website: "hostile"}, // with one stream, it is a website with few
		{website: "hostile", want: app.CodeUnavailable},
		{website: "small", release: true}, {website: "late"},
	} {
		if step.release {
			slots.release(step.website)
			continue
		}
		err := slots.take(step.website)
		if err != nil && app.CodeOf(err) != step.want || err == nil && step.want != "" {
			t.Errorf("step %d, a stream of %s: got error %v, want code %q", i+1, step.website, err, step.want)
		}
	}
}

// Concurrent streams take no more slots than there are, and free all of them.
func TestStreamSlotsAreExact(t *testing.T) {
	t.Parallel()
	slots := newStreamSlots(10, 10, 0)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			for range 100 {
				if slots.take("website") == nil {
					slots.release("website")
				}
			}
		})
	}
	wait.Wait()
	if slots.open != 0 || len(slots.of) != 0 {
		t.Errorf("after the end of all streams: got %d open of %v, want none", slots.open, slots.of)
	}
}

// A stream takes a slot before the database counts it, and frees it at its end. A refused stream frees it too.
func TestStreamsTakeSlots(t *testing.T) {
	t.Parallel()
	w := newStreamWorld(t)
	server := w.streamsOn(func(s *Server) { s.streams = newStreamSlots(1, 1, 1) })
	first := w.watch(server, w.tokens["STAFF"])
	response := w.request(server, w.token("FOREIGN", w.stores["foreign"].id))
	if retry := response.Header.Get("Retry-After"); response.StatusCode != 503 || retry != "15" {
		t.Errorf("stream beyond the slots: got %d and Retry-After %q, want 503 and 15", response.StatusCode, retry)
	}
	first.close()
	awaitStream(w, server)
}
