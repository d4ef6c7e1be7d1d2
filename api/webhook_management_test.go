package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// tester is a Tester that notes what it is to send.
type tester struct {
	sync.Mutex
	sent   []app.WebhookTest
	result app.WebhookTestResult
	err    error
}

func (t *tester) TestSubscription(_ context.Context, test app.WebhookTest) (app.WebhookTestResult, error) {
	t.Lock()
	defer t.Unlock()
	t.sent = append(t.sent, test)
	result := t.result
	result.EventID = test.EventID
	return result, t.err
}

func TestPatchWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	patch := func(body any) *answer { t.Helper(); return w.do("PATCH", path, w.tokens["ADMIN"], body) }
	var before, changed app.Subscription
	w.do("GET", path, w.tokens["ADMIN"], nil).ok(200, &before)
	w.now = noon.Add(time.Minute)
	patch(object{"url": before.URL, "events": before.Events, "isActive": true}).ok(200, &changed)
	if diff := cmp.Diff(before, changed); diff != "" {
		t.Error("a patch of nothing:", diff)
	}
	want := before
	want.URL, want.Events, want.IsActive = "https://example.com:8443/a?b=c", []app.EventType{app.EventCustomerCreated, app.EventOrderCreated}, false
	want.Version, want.UpdatedAt = 2, app.At(w.now)
	patch(object{"url": want.URL, "events": want.Events, "isActive": false}).ok(200, &changed)
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Error(diff)
	}
	patch(object{"isActive": true}).ok(200, &changed)
	w.do("PATCH", path, w.tokens["ADMIN"], object{"isActive": false}, header("If-Match", `"2"`)).refused(app.CodeVersionMismatch)
	w.do("PATCH", path, w.tokens["ADMIN"], object{"isActive": false}, header("If-Match", `"3"`)).ok(200, &changed)
	if changed.IsActive || changed.Version != 4 {
		t.Errorf("changed: %+v", changed)
	}
}

func TestBadWebhookChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	var before, after app.Subscription
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &before)
	null, good := json.RawMessage("null"), "https://example.com"
	for name, c := range map[string]struct {
		body  any
		paths string
	}{
		"nothing":              {object{}, ""},
		"no object":            {[]any{}, ""},
		"url null":             {object{"url": null}, "url"},
		"url empty":            {object{"url": ""}, "url"},
		"url http":             {object{"url": "http://example.com"}, "url"},
		"url with a user":      {object{"url": "https://me@example.com"}, "url"},
		"url with a fragment":  {object{"url": "https://example.com/#a"}, "url"},
		"url long":             {object{"url": good + "/" + strings.Repeat("a", 2048)}, "url"},
		"url a number":         {object{"url": 1}, "url"},
		"events null":          {object{"events": null}, "events"},
		"events empty":         {object{"events": []any{}}, "events"},
		"events a string":      {object{"events": "order.created"}, "events"},
		"events twice":         {object{"events": []any{"order.created", "order.created"}}, "events"},
		"an unknown event":     {object{"events": []any{"order.created", "order.eaten"}}, "events[1]"},
		"test.ping":            {object{"events": []any{"test.ping"}}, "events[0]"},
		"isActive null":        {object{"isActive": null}, "isActive"},
		"isActive a string":    {object{"isActive": "true"}, "isActive"},
		"isActive a number":    {object{"isActive": 0}, "isActive"},
		"the secret":           {object{"secret": webhookSecret, "isActive": true}, "secret"},
		"failureCount":         {object{"failureCount": 0, "isActive": true}, "failureCount"},
		"good and bad":         {object{"url": good, "events": []any{"x"}, "isActive": 1}, "isActive|events[0]"},
		"another store's name": {object{"storeId": w.stores["sibling"].id, "isActive": false}, "storeId"},
	} {
		a := w.do("PATCH", path, w.tokens["OWNER"], c.body)
		a.what = name
		a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
	}
	for _, value := range []string{"", "3", `"0"`, `"-1"`, `"x"`, `W/"1"`, `"1", "2"`, "*", `"99999999999999999999"`} {
		for method, request := range map[string]struct {
			path string
			body any
		}{"PATCH": {path, object{"isActive": false}}, "DELETE": {path, nil}, "POST": {path + "/rotate-secret", object{"secret": strings.Repeat("n", 32)}}} {
			w.do(method, request.path, w.tokens["OWNER"], request.body, header("If-Match", value)).refused(app.CodeValidationFailed, "If-Match")
		}
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"isActive": false}, header("If-Match", `"1"`), header("If-Match", `"1"`)).refused(app.CodeValidationFailed, "If-Match")
	w.do("PATCH", path, w.tokens["OWNER"], `{"url":"`+strings.Repeat("a", maxBody)+`"}`).refused(app.CodePayloadTooLarge)
	w.do("DELETE", path, w.tokens["OWNER"], object{"force": true}).refused(app.CodeValidationFailed, "force")
	for name, c := range map[string]struct {
		body  object
		paths string
	}{
		"nothing":          {object{}, "secret"},
		"short":            {object{"secret": strings.Repeat("s", 31)}, "secret"},
		"long":             {object{"secret": strings.Repeat("s", 257)}, "secret"},
		"null":             {object{"secret": null}, "secret"},
		"overlap negative": {object{"secret": webhookSecret, "overlapSeconds": -1}, "overlapSeconds"},
		"overlap too long": {object{"secret": webhookSecret, "overlapSeconds": 604801}, "overlapSeconds"},
		"overlap a string": {object{"secret": webhookSecret, "overlapSeconds": "60"}, "overlapSeconds"},
		"overlap 1.5":      {object{"secret": webhookSecret, "overlapSeconds": 1.5}, "overlapSeconds"},
		"overlap null":     {object{"secret": webhookSecret, "overlapSeconds": null}, "overlapSeconds"},
	} {
		a := w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], c.body)
		a.what = name
		a.refused(app.CodeValidationFailed, c.paths)
	}
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &after)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("refused requests have changed it:", diff)
	}
}

func TestDeleteWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("DELETE", path, w.tokens["OWNER"], nil, header("If-Match", `"2"`)).refused(app.CodeVersionMismatch)
	if a := w.do("DELETE", path, w.tokens["OWNER"], nil, header("If-Match", `"1"`)); a.Code != 204 || a.Body.Len() != 0 {
		t.Errorf("deleted: %d %s", a.Code, a.Body)
	}
	attempt := "/deliveries/att_1"
	for _, gone := range []struct {
		method, path string
		body         any
	}{
		{"GET", "", nil}, {"PATCH", "", object{"isActive": true}}, {"DELETE", "", nil}, {"GET", "/deliveries", nil}, {"GET", attempt, nil},
		{"GET", "/stats", nil}, {"POST", "/test", nil}, {"POST", "/rotate-secret", object{"secret": webhookSecret}},
	} {
		w.do(gone.method, path+gone.path, w.tokens["OWNER"], gone.body).refused(app.CodeNotFound)
	}
	var all []app.Subscription
	if w.do("GET", "/webhooks", w.tokens["OWNER"], nil).ok(200, &all); len(all) != 0 {
		t.Errorf("listed: %+v", all)
	}
	var deliveries []app.Delivery
	if w.do("GET", "/deliveries", w.tokens["OWNER"], nil).ok(200, &deliveries); len(deliveries) != 1 || deliveries[0].SubscriptionID != own.webhook.ID {
		t.Errorf("its deliveries: %+v", deliveries)
	}
}

func TestTestWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"isActive": false}).ok(200, nil)
	w.tester.result = app.WebhookTestResult{StatusCode: 500, ResponseTimeMs: 12, Error: "HTTP 500"}
	var result app.WebhookTestResult
	w.do("POST", path+"/test", w.tokens["OWNER"], nil).ok(200, &result)
	want := app.WebhookTestResult{StatusCode: 500, ResponseTimeMs: 12, Error: "HTTP 500", EventID: w.tester.sent[0].EventID}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	if sent := w.tester.sent[0]; sent.StoreID != own.id || sent.SubscriptionID != own.webhook.ID {
		t.Errorf("sent %+v", sent)
	}
	w.do("POST", path+"/test", w.tokens["OWNER"], object{"url": "https://elsewhere.example"}).refused(app.CodeValidationFailed, "url")
	w.tester.err = fmt.Errorf("%w: Temporal", app.Unavailable(5*time.Second))
	if a := w.do("POST", path+"/test", w.tokens["OWNER"], nil).refused(app.CodeUnavailable); a.Header().Get("Retry-After") != "5" {
		t.Errorf("Retry-After: %q", a.Header().Get("Retry-After"))
	}
	w.tester.err = app.NotFound()
	w.do("POST", path+"/test", w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	if n := len(w.tester.sent); n != 3 {
		t.Errorf("%d tests sent", n)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	const secret = "the one after it, which nobody may see"
	var rotated app.Subscription
	a := w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": secret, "overlapSeconds": 604800}).ok(200, &rotated)
	if rotated.Version != 2 || rotated.PreviousSecretExpiresAt == nil || !rotated.PreviousSecretExpiresAt.Equal(noon.Add(7*24*time.Hour)) {
		t.Errorf("rotated: %+v", rotated)
	}
	w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": webhookSecret}, header("If-Match", `"1"`)).refused(app.CodeVersionMismatch)
	b := w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": webhookSecret}, header("If-Match", `"2"`)).ok(200, nil)
	if strings.Contains(b.Body.String(), "previousSecret") {
		t.Errorf("without an overlap: %s", b.Body)
	}
	for _, shown := range []string{a.Body.String(), b.Body.String(), w.log.String()} {
		if strings.Contains(shown, secret) || strings.Contains(shown, webhookSecret) {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

func TestAttemptInFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	outgoing, err := w.db.Outgoing(t.Context(), own.delivery.ID, 1)
	w.must(err)
	_, err = w.db.RecordAttempt(t.Context(), app.MadeAttempt{
		DeliveryID: own.delivery.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptRetrying, StatusCode: 503, At: noon, Duration: time.Second, RetryIn: time.Minute,
		Sent: map[string][]string{"User-Agent": {"us"}}, Headers: map[string][]string{"Retry-After": {"5", "6"}}, Body: []byte("kitchen on fire"),
	})
	w.must(err)
	// The URL is the one of that time.
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"url": "https://elsewhere.example/"}).ok(200, nil)
	path += "/deliveries/"
	id := string(w.attemptOf(own))
	var detail app.AttemptDetail
	w.do("GET", path+id, w.tokens["OWNER"], nil).ok(200, &detail)
	sent, answer := string(outgoing.Body), "kitchen on fire"
	next := app.At(noon.Add(61 * time.Second))
	want := app.AttemptDetail{
		Attempt: app.Attempt{
			ID: app.AttemptID(id), DeliveryID: own.delivery.ID, EventID: own.delivery.EventID, EventType: app.EventOrderCreated, Status: app.AttemptRetrying,
			StatusCode: 503, ResponseTimeMs: 1000, AttemptNumber: 1, NextRetryAt: &next, DeliveredAt: app.At(noon),
		},
		Request:  app.SentRequest{Method: "POST", URL: "https://hooks.example.com/", Headers: map[string][]string{"User-Agent": {"us"}}, Body: &sent},
		Response: &app.ReceivedAnswer{StatusCode: 503, Headers: map[string][]string{"Retry-After": {"5", "6"}}, Body: &answer, Encoding: app.BodyText},
	}
	if diff := cmp.Diff(want, detail); diff != "" {
		t.Error(diff)
	}
	for _, statement := range []string{"UPDATE outbox SET body = NULL", "UPDATE attempts SET response_headers = NULL, response_body = NULL"} {
		_, err := w.db.System().DB.ExecContext(t.Context(), statement)
		w.must(err)
	}
	a := w.do("GET", path+id, w.tokens["OWNER"], nil).ok(200, nil)
	if n := strings.Count(a.Body.String(), `"body":null`); n != 2 || !strings.Contains(a.Body.String(), `"headers":{}`) {
		t.Errorf("erased: %s", a.Body)
	}
	// An attempt of another webhook, of a sibling's, of nobody.
	sibling := string(w.attemptOf(w.stores["sibling"]))
	other := "/webhooks/" + string(w.addWebhook(own.id)) + "/deliveries/"
	for _, gone := range []string{path + sibling, path + "att_1", path + "%00", path + strings.Repeat("a", 65), other + id} {
		w.do("GET", gone, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	// No answer at all.
	w.record(2, app.AttemptDeadLetter, 0)
	var attempts []app.Attempt
	w.do("GET", path[:len(path)-1]+"?status=dead_letter", w.tokens["OWNER"], nil).ok(200, &attempts)
	if a := w.do("GET", path+string(attempts[0].ID), w.tokens["OWNER"], nil).ok(200, nil); strings.Contains(a.Body.String(), `"response":`) {
		t.Errorf("no answer: %s", a.Body)
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
		"": 4, "status=failed": 3, "status=delivered": 1, "status=dead_letter": 0, "eventType=test.ping": 1, "eventType=order.created": 3,
		"eventType=order.cancelled": 0, "eventId=" + string(own.delivery.EventID): 3, "eventId=evt_x": 0, "from=2026-03-14T12:02:00Z": 2,
		"to=2026-03-14T12:02:00Z": 2, "from=2026-03-14T12:01:00Z&to=2026-03-14T12:02:00Z&status=failed": 1,
	} {
		var rows []app.Attempt
		a := w.do("GET", path+"?limit=2&"+query, w.tokens["OWNER"], nil).ok(200, &rows)
		if len(rows) != min(hits, 2) || a.body.Meta["total"] != float64(hits) || a.body.Meta["totalPages"] != float64((hits+1)/2) {
			t.Errorf("?%s: %d rows, %v", query, len(rows), a.body.Meta)
		}
	}
	for query, at := range map[string]string{
		"status=queued": "status", "eventType=x": "eventType", "eventId=%20": "eventId", "from=yesterday": "from", "from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to",
		"status=": "status", "status=failed&status=failed": "status", "page=0": "page", "cursor=x": "cursor",
	} {
		w.do("GET", path+"?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
	}
}

func TestWebhookStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record(1, app.AttemptRetrying, 503)
	w.record(2, app.AttemptDelivered, 200)
	w.now = noon.Add(2 * time.Hour)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID) + "/stats"
	token := w.token("OWNER", w.stores["own"].id)
	for query, want := range map[string]struct {
		by      app.Granularity
		buckets int
		counted int
	}{
		"": {app.ByHour, 24, 2}, "?granularity=day": {app.ByDay, 2, 2}, "?from=2026-03-14T12:00:00Z": {app.ByHour, 2, 2},
		"?to=2026-03-14T12:02:00Z": {app.ByHour, 25, 1}, "?from=2026-03-01T00:00:00Z": {app.ByDay, 14, 2},
		"?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00Z":                  {app.ByDay, 90, 2},
		"?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00Z&granularity=hour": {app.ByHour, 2160, 2},
		"?from=2025-03-01T00:00:00Z&to=2025-03-01T00:00:01Z":                  {app.ByHour, 1, 0},
		"?to=0001-01-01T01:00:00Z":                                            {app.ByHour, 1, 0}, // a day earlier there is no time
	} {
		var stats app.DeliveryStats
		w.do("GET", path+query, token, nil).ok(200, &stats)
		if stats.Granularity != want.by || len(stats.Buckets) != want.buckets || stats.Totals.Delivered+stats.Totals.Failed != want.counted {
			t.Errorf("%s: by %s, %d buckets, %+v", query, stats.Granularity, len(stats.Buckets), stats.Totals)
		}
	}
	for query, at := range map[string]string{
		"?granularity=minute": "granularity", "?from=2026-03-15T00:00:00Z": "to", "?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00.001Z": "to",
		"?from=1": "from", "?to=2026-02-30T00:00:00Z": "to", "?page=1": "page", "?from=2020-01-01T00:00:00Z": "to",
		"?to=0001-01-01T00:00:00Z": "to",
	} {
		w.do("GET", path+query, token, nil).refused(app.CodeValidationFailed, at)
	}
}
