package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/trigger"
	"github.com/comanda-dev/comanda/app/webhook"
)

// Each event type that `comanda trigger` supports is caused by the API, in the sandbox only. `comanda listen` receives
// the events and forwards them with a valid signature.
func TestTriggeredEventsAreFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.streamsOn(func(*Server) {})
	base, err := url.Parse(server.URL)
	w.must(err)
	issued, err := w.db.IssueAPIKey(t.Context(), w.now, w.stores["own"].id,
		app.NewAPIKey{Name: "Tests", Scopes: app.Scopes[:], Mode: app.KeyTest})
	w.must(err)
	key := issued.Key.Reveal()

	verifier, err := webhook.New(webhookSecret)
	w.must(err)
	verifier.Now = func() time.Time { return noon }
	arrived := make(chan string, 100)
	target := httptest.NewServer(verifier.Handler(func(_ context.Context, e webhook.Event) error {
		arrived <- string(e.Type)
		return nil
	}))
	t.Cleanup(target.Close)
	to, err := url.Parse(target.URL)
	w.must(err)
	notes, written := io.Pipe()
	follower := listen.Follower{
		API: base, Key: key, Client: server.Client(), Target: to, Out: io.Discard, Notes: written, Now: time.Now,
		Headers: func(event listen.Event) http.Header {
			return activities.Headers(app.Outgoing{
				EventID: app.EventID(event.ID), EventAt: event.Timestamp, Body: event.Body,
				Secret: app.NewSecret(webhookSecret),
			}, noon)
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follower.Follow(ctx) }()
	first := make([]byte, len("connected"))
	if _, err := io.ReadFull(notes, first); err != nil || !bytes.Equal(first, []byte("connected")) {
		t.Fatalf("first note: got %q and error %v, want connected", first, err)
	}
	go io.Copy(io.Discard, notes) //nolint:errcheck // ends with the test

	live := w.text("SELECT count(*) FROM outbox WHERE store_id = '" + string(w.stores["own"].id) + "'")
	now := noon
	caller := trigger.Client{API: base, Key: key, HTTP: server.Client(), Now: func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}}
	sunday := object{"sun": []object{{"from": "18:00", "to": "22:00"}}} // noon is on a Saturday
	for name, hours := range map[string]object{
		"open": {"PICKUP": nil, "DINE_IN": nil}, "closed": {"PICKUP": sunday, "DINE_IN": sunday},
	} {
		w.do("PATCH", "/settings", w.token("OWNER", issued.StoreID), object{"openingHours": hours}).ok(200, nil)
		for _, kind := range trigger.Supported() {
			w.run(kind+", "+name, func(t *testing.T) {
				text, err := caller.Trigger(t.Context(), kind)
				if err != nil || !strings.Contains(text, " ") {
					t.Fatalf("%s: got %q and error %v, want a description", kind, text, err)
				}
				w.dispatch()
				for got := ""; got != kind; {
					select {
					case got = <-arrived:
					case <-time.After(30 * time.Second):
						t.Fatalf("events within 30 s: got none of the type %s, want one", kind)
					}
				}
			})
		}
	}
	if n := w.text("SELECT count(*) FROM products WHERE name = 'Demo dish'"); n != "3" {
		t.Errorf("products named %s: got %s, want one, and two of product.created", trigger.DishName, n)
	}
	after := w.text("SELECT count(*) FROM outbox WHERE store_id = '" + string(w.stores["own"].id) + "'")
	if after != live {
		t.Errorf("events of the live store: got %s, want %s", after, live)
	}
	stop()
	w.must(<-ended)
}
