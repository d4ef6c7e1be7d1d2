package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var created app.Subscription
	a := w.do("POST", "/webhooks", w.tokens["ADMIN"], object{
		"url": "https://example.com/hook", "events": []string{"order.cancelled", "customer.created"},
		"secret": webhookSecret,
	}).ok(201, &created)
	want := app.Subscription{
		ID: created.ID, URL: "https://example.com/hook",
		Events:   []app.EventType{app.EventOrderCancelled, app.EventCustomerCreated},
		Ordering: app.OrderingNone, HeaderNames: []string{}, IsActive: true, CreatedAt: app.At(noon), Version: 1,
		UpdatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, created); diff != "" || !strings.Contains(a.Body.String(), `"lastDeliveryAt":null`) {
		t.Errorf("created webhook in %s, want lastDeliveryAt null (-want +got):\n%s", a.Body, diff)
	}
	var shown app.Subscription
	w.do("GET", "/webhooks/"+string(created.ID), w.tokens["ADMIN"], nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("webhook (-want +got):\n%s", diff)
	}
	var all []app.Subscription
	a = w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).ok(200, &all)
	if len(all) != 2 || a.body.Meta["total"] != 2. || a.body.Meta["requestId"] != a.Header().Get("X-Request-Id") ||
		len(a.body.Meta) != 3 {
		t.Errorf("list: got %s, want two webhooks, the total and the request id", a.Body)
	}
	for range app.MaxSubscriptions - 2 {
		_, err := w.db.CreateSubscription(t.Context(), noon, w.stores["own"].id, app.Actor{},
			app.NewSubscription{URL: "https://example.com", Events: want.Events,
				Secret: app.NewSecret(webhookSecret)}, nil)
		w.must(err)
	}
	w.do("POST", "/webhooks", w.tokens["ADMIN"], webhookBody()).refused(app.CodeLimitReached)
}

func TestWebhookOrdering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var created, changed app.Subscription
	w.do("POST", "/webhooks", w.tokens["ADMIN"], altered(webhookBody(), object{"ordering": "resource"})).
		ok(201, &created)
	if created.Ordering != app.OrderingResource {
		t.Errorf("created webhook: got %+v, want the ordering resource", created)
	}
	path := "/webhooks/" + string(created.ID)
	patch := func(body object, want app.Ordering, version int64) {
		t.Helper()
		w.do("PATCH", path, w.tokens["ADMIN"], body).ok(200, &changed)
		if changed.Ordering != want || changed.Version != version {
			t.Errorf("webhook after %v: got %+v, want the ordering %s in version %d", body, changed, want, version)
		}
	}
	patch(object{"description": "Till"}, app.OrderingResource, 2)
	patch(object{"ordering": "resource"}, app.OrderingResource, 2)
	patch(object{"ordering": "none"}, app.OrderingNone, 3)
	var all []app.Subscription
	w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).ok(200, &all)
	if got := all[0].Ordering; got != app.OrderingNone {
		t.Errorf("ordering in the list: got %q, want none", got)
	}
}
