package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestAttemptDetail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	outgoing, err := w.db.Outgoing(t.Context(), own.delivery.ID, 1)
	w.must(err)
	_, err = w.db.RecordAttempt(t.Context(), app.MadeAttempt{
		DeliveryID: own.delivery.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptRetrying, StatusCode: 503,
		At: noon, Duration: time.Second, RetryIn: time.Minute,
		Sent:    map[string][]string{"User-Agent": {"us"}, "Authorization": {}}, // its value is secret
		Headers: map[string][]string{"Retry-After": {"5", "6"}}, Body: []byte("kitchen on fire"),
	})
	w.must(err)
	// An attempt keeps the URL that it used.
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"url": "https://elsewhere.example/"}).ok(200, nil)
	path += "/deliveries/"
	id := string(w.attemptOf(own))
	var detail app.AttemptDetail
	w.do("GET", path+id, w.tokens["OWNER"], nil).ok(200, &detail)
	sent, body := string(outgoing.Body), "kitchen on fire"
	next := app.At(noon.Add(61 * time.Second))
	want := app.AttemptDetail{
		Attempt: app.Attempt{
			ID: app.AttemptID(id), DeliveryID: own.delivery.ID, EventID: own.delivery.EventID,
			EventType: app.EventOrderCreated, OrderID: own.order.ID, Status: app.AttemptRetrying,
			StatusCode: 503, ResponseTimeMs: 1000, AttemptNumber: 1, NextRetryAt: &next, DeliveredAt: app.At(noon),
		},
		Request: app.SentRequest{
			Method: "POST", URL: "https://hooks.example.com/",
			Headers: map[string][]string{"User-Agent": {"us"}, "Authorization": {}}, Body: &sent,
		},
		Response: &app.ReceivedResponse{
			StatusCode: 503, Headers: map[string][]string{"Retry-After": {"5", "6"}}, Body: &body,
			Encoding: app.BodyText,
		},
	}
	if diff := cmp.Diff(want, detail); diff != "" {
		t.Error("attempt (-want +got):", diff)
	}
	for _, statement := range []string{"UPDATE outbox SET body = NULL",
		"UPDATE attempts SET response_headers = NULL, response_body = NULL"} {
		_, err := w.db.System().DB.ExecContext(t.Context(), statement)
		w.must(err)
	}
	a := w.do("GET", path+id, w.tokens["OWNER"], nil).ok(200, nil)
	if n := strings.Count(a.Body.String(), `"body":null`); n != 2 ||
		!strings.Contains(a.Body.String(), `"headers":{}`) {
		t.Errorf("attempt after erasure: got %s, want null bodies and no headers", a.Body)
	}
	// Attempts of another store, unknown attempts, and an attempt of another webhook.
	sibling := string(w.attemptOf(w.stores["sibling"]))
	other := "/webhooks/" + string(w.addWebhook(own.id)) + "/deliveries/"
	for _, gone := range []string{path + sibling, path + "att_1", path + "%00", path + strings.Repeat("a", 65),
		other + id} {
		w.do("GET", gone, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	// An attempt without a response.
	w.record(2, app.AttemptDeadLetter, 0)
	var attempts []app.Attempt
	w.do("GET", path[:len(path)-1]+"?status=dead_letter", w.tokens["OWNER"], nil).ok(200, &attempts)
	if a := w.do("GET", path+string(attempts[0].ID), w.tokens["OWNER"], nil).ok(200,
		nil); strings.Contains(a.Body.String(), `"response":`) {
		t.Errorf("attempt without a response: got %s, want no member response", a.Body)
	}
}

func TestAttemptFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.attemptOf(own) // a test, failed at noon
	w.record(1, app.AttemptRetrying, 503)
	w.record(2, app.AttemptRetrying, 503)
	w.record(3, app.AttemptDelivered, 200)
	path := "/webhooks/" + string(own.webhook.ID) + "/deliveries"
	for query, hits := range map[string]int{
		"": 4, "status=failed": 3, "status=delivered": 1, "status=dead_letter": 0, "eventType=test.ping": 1,
		"eventType=order.created":   3,
		"eventType=order.cancelled": 0, "eventId=" + string(own.delivery.EventID): 3, "eventId=evt_x": 0,
		"from=2026-03-14T12:02:00Z": 2,
		"to=2026-03-14T12:02:00Z":   2, "from=2026-03-14T12:01:00Z&to=2026-03-14T12:02:00Z&status=failed": 1,
	} {
		w.run("?"+query, func(t *testing.T) {
			var rows []app.Attempt
			a := w.do("GET", path+"?limit=2&"+query, w.tokens["OWNER"], nil).ok(200, &rows)
			if len(rows) != min(hits, 2) || a.body.Meta["total"] != float64(hits) ||
				a.body.Meta["totalPages"] != float64((hits+1)/2) {
				t.Errorf("?%s: got %d rows and %v, want %d of %d", query, len(rows), a.body.Meta, min(hits, 2), hits)
			}
		})
	}
	for query, at := range map[string]string{
		"status=queued": "status", "eventType=x": "eventType", "eventId=%20": "eventId", "from=yesterday": "from",
		"from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to",
		"status=": "status", "status=failed&status=failed": "status", "page=0": "page", "cursor=x": "cursor",
	} {
		w.run(query, func(t *testing.T) {
			w.do("GET", path+"?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
		})
	}
}

// record records an attempt of the delivery of the store "own".
func (w *world) record(number int, status app.AttemptStatus, code int) {
	w.Helper()
	w.recordOf(w.stores["own"].delivery.ID, number, status, code)
}

// recordOf records an attempt of a delivery. Its time is as many minutes after noon as its number.
func (w *world) recordOf(delivery app.DeliveryID, number int, status app.AttemptStatus, code int) {
	w.Helper()
	outgoing, err := w.db.Outgoing(w.Context(), delivery, number)
	w.must(err)
	_, err = w.db.RecordAttempt(w.Context(), app.MadeAttempt{
		DeliveryID: delivery, Outgoing: outgoing, Number: number, Status: status, StatusCode: code,
		At: noon.Add(time.Duration(number) * time.Minute), Duration: 123 * time.Millisecond,
		Error:   map[bool]string{true: "503 Service Unavailable"}[code >= 300],
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
		t.Errorf("got %s, want no attempts", a.Body)
	}
	for n := 1; n <= 5; n++ {
		w.record(n, app.AttemptRetrying, 503)
	}
	var got []string
	for page := 1; page <= 4; page++ {
		var attempts []app.Attempt
		a := w.do("GET", fmt.Sprintf("%s?page=%d&limit=2", path, page), w.tokens["OWNER"], nil).ok(200, &attempts)
		want := map[string]any{
			"total": 5., "page": float64(page), "limit": 2., "totalPages": 3.,
			"requestId": a.Header().Get("X-Request-Id"),
		}
		if diff := cmp.Diff(want, a.body.Meta); diff != "" {
			t.Errorf("meta of page %d (-want +got): %s", page, diff)
		}
		for _, attempt := range attempts {
			got = append(got, fmt.Sprint(attempt.AttemptNumber, " ", attempt.Status))
		}
	}
	if diff := cmp.Diff([]string{"5 retrying", "4 failed", "3 failed", "2 failed", "1 failed"}, got); diff != "" {
		t.Error("attempts (-want +got):", diff)
	}
	a = w.do("GET", path+"?limit=1", w.tokens["OWNER"], nil).ok(200, nil)
	for _, want := range []string{
		`"statusCode":503`, `"responseTimeMs":123`, `"attemptNumber":5`, `"error":"503 Service Unavailable"`,
		`"nextRetryAt":"2026-03-14T12:05:30.123Z"`, `"deliveredAt":"2026-03-14T12:05:00.000Z"`,
		`"eventType":"order.created"`,
	} {
		if !strings.Contains(string(a.body.Data), want) {
			t.Errorf("got %s, want %s in it", a.body.Data, want)
		}
	}
	var health app.Subscription
	w.do("GET", "/webhooks/"+string(w.stores["own"].webhook.ID), w.tokens["OWNER"], nil).ok(200, &health)
	if health.FailureCount != 5 || health.LastDeliveryAt == nil ||
		health.LastDeliveryAt.String() != "2026-03-14T12:05:00.000Z" {
		t.Errorf("webhook: got %+v, want five failures, the last delivery at 12:05", health)
	}
}
