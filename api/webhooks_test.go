package api

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/app"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var created app.Subscription
	a := w.do("POST", "/webhooks", w.tokens["ADMIN"], object{
		"url": "https://example.com/hook", "events": []string{"order.cancelled", "customer.created"}, "secret": webhookSecret,
	}).ok(201, &created)
	want := app.Subscription{
		ID: created.ID, URL: "https://example.com/hook", Events: []app.EventType{app.EventOrderCancelled, app.EventCustomerCreated},
		IsActive: true, CreatedAt: app.At(noon), Version: 1, UpdatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, created); diff != "" || !strings.Contains(a.Body.String(), `"lastDeliveryAt":null`) {
		t.Error(diff, a.Body)
	}
	var shown app.Subscription
	w.do("GET", "/webhooks/"+string(created.ID), w.tokens["ADMIN"], nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	var all []app.Subscription
	a = w.do("GET", "/webhooks", w.tokens["ADMIN"], nil).ok(200, &all)
	if len(all) != 2 || a.body.Meta["total"] != 2. || a.body.Meta["requestId"] != a.Header().Get("X-Request-Id") || len(a.body.Meta) != 3 {
		t.Errorf("list: %s", a.Body)
	}
	for range app.MaxSubscriptions - 2 {
		_, err := w.db.CreateSubscription(t.Context(), noon, w.stores["own"].id, app.Actor{}, app.NewSubscription{URL: "https://example.com", Events: want.Events, Secret: app.NewSecret(webhookSecret)}, nil, nil)
		w.must(err)
	}
	w.do("POST", "/webhooks", w.tokens["ADMIN"], webhookBody()).refused(app.CodeLimitReached)
}

// record makes an attempt of the own store's delivery known.
func (w *world) record(number int, status app.AttemptStatus, code int) {
	w.Helper()
	delivery := w.stores["own"].delivery.ID
	outgoing, err := w.db.Outgoing(w.Context(), delivery, number)
	w.must(err)
	_, err = w.db.RecordAttempt(w.Context(), app.MadeAttempt{
		DeliveryID: delivery, Outgoing: outgoing, Number: number, Status: status, StatusCode: code,
		At: noon.Add(time.Duration(number) * time.Minute), Duration: 123 * time.Millisecond, Error: map[bool]string{true: "503 Service Unavailable"}[code >= 300],
		RetryIn: 30 * time.Second,
	})
	w.must(err)
}

func TestAttemptsInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID) + "/deliveries"
	a := w.do("GET", path, w.tokens["OWNER"], nil).ok(200, nil)
	if string(a.body.Data) != "[]" || a.body.Meta["total"] != 0. || a.body.Meta["totalPages"] != 0. {
		t.Errorf("none: %s", a.Body)
	}
	for n := 1; n <= 5; n++ {
		w.record(n, app.AttemptRetrying, 503)
	}
	var got []string
	for page := 1; page <= 4; page++ {
		var attempts []app.Attempt
		a := w.do("GET", fmt.Sprintf("%s?page=%d&limit=2", path, page), w.tokens["OWNER"], nil).ok(200, &attempts)
		want := map[string]any{"total": 5., "page": float64(page), "limit": 2., "totalPages": 3., "requestId": a.Header().Get("X-Request-Id")}
		if diff := cmp.Diff(want, a.body.Meta); diff != "" {
			t.Error(diff)
		}
		for _, attempt := range attempts {
			got = append(got, fmt.Sprint(attempt.AttemptNumber, " ", attempt.Status))
		}
	}
	if diff := cmp.Diff([]string{"5 retrying", "4 failed", "3 failed", "2 failed", "1 failed"}, got); diff != "" {
		t.Error(diff)
	}
	a = w.do("GET", path+"?limit=1", w.tokens["OWNER"], nil).ok(200, nil)
	for _, want := range []string{
		`"statusCode":503`, `"responseTimeMs":123`, `"attemptNumber":5`, `"error":"503 Service Unavailable"`,
		`"nextRetryAt":"2026-03-14T12:05:30.123Z"`, `"deliveredAt":"2026-03-14T12:05:00.000Z"`, `"eventType":"order.created"`,
	} {
		if !strings.Contains(string(a.body.Data), want) {
			t.Errorf("no %s in %s", want, a.body.Data)
		}
	}
	var health app.Subscription
	w.do("GET", "/webhooks/"+string(w.stores["own"].webhook.ID), w.tokens["OWNER"], nil).ok(200, &health)
	if health.FailureCount != 5 || health.LastDeliveryAt == nil || health.LastDeliveryAt.String() != "2026-03-14T12:05:00.000Z" {
		t.Errorf("the webhook after five failures: %+v", health)
	}
}

func TestDeliveriesAndReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/deliveries/" + string(own.delivery.ID)
	var d app.Delivery
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &d)
	want := app.Delivery{
		ID: own.delivery.ID, SubscriptionID: own.webhook.ID, EventID: own.delivery.EventID, EventType: app.EventOrderCreated,
		Status: app.DeliveryQueued, ScheduledFor: app.At(noon), CreatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeDeliveryInProgress)
	w.record(1, app.AttemptDelivered, 200)
	w.now = noon.Add(time.Hour)
	w.tokens["OWNER"] = w.token("OWNER", own.id)
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).ok(202, &d)
	if d.Status != app.DeliveryQueued || d.Attempts != 1 || d.ScheduledFor != app.At(w.now) || d.EndedAt != nil {
		t.Errorf("replayed: %+v", d)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], object{}).refused(app.CodeDeliveryInProgress)

	change := func(statement string) {
		t.Helper()
		_, err := w.db.System().DB.ExecContext(t.Context(), statement)
		w.must(err)
		w.must(w.db.EndDelivery(t.Context(), w.now, own.delivery.ID, app.DeliveryDeadLetter, "test"))
	}
	change("UPDATE subscriptions SET deleted_at = now()")
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeConflict)
	change("UPDATE outbox SET body = NULL")
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodePayloadErased)
}

func TestDeliveryFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	for query, hit := range map[string]bool{
		"": true, "webhookId=" + string(own.webhook.ID): true, "webhookId=whk_x": false, "eventId=" + string(own.delivery.EventID): true, "eventId=evt_x": false,
		"eventType=order.created": true, "eventType=order.cancelled": false, "status=queued": true, "status=dead_letter": false,
		"from=2026-03-14T12:00:00Z": true, "from=2026-03-14T12:00:00.001Z": false, "to=2026-03-14T12:00:00Z": false, "to=2026-03-14T14:00:00.001%2B02:00": true,
		"webhookId=" + string(w.stores["sibling"].webhook.ID): false, "status=queued&eventType=order.created&limit=100": true,
	} {
		var rows []app.Delivery
		w.do("GET", "/deliveries?"+query, w.tokens["OWNER"], nil).ok(200, &rows)
		if (len(rows) == 1) != hit {
			t.Errorf("?%s: %d rows", query, len(rows))
		}
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.doOn(w.serverOn(w.db.DB, func(c *Config) { c.Metrics = registry }), "GET", "/webhooks", w.tokens["OWNER"], nil).ok(200, nil)
	ready := error(nil)
	admin := Admin(func(context.Context) error { return ready }, registry)
	look := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		admin.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		return recorder.Code, recorder.Body.String()
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := look(path); code != 200 || body != "ok\n" {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body := look("/metrics"); !strings.Contains(body, `comanda_http_request_duration_seconds_count{method="GET",route="/webhooks",status="200"} 1`) {
		t.Errorf("/metrics: %s", body)
	}
	ready = app.Unavailable(0)
	if code, _ := look("/readyz"); code != 503 {
		t.Errorf("/readyz: %d", code)
	}
	if code, _ := look("/healthz"); code != 200 {
		t.Errorf("/healthz: %d", code)
	}
	if code, _ := look("/orders"); code != 404 {
		t.Errorf("the admin address serves /orders: %d", code)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.01"} {
		if code, body := look(path); code != 200 || body == "" {
			t.Errorf("%s: %d", path, code)
		}
		w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
}
