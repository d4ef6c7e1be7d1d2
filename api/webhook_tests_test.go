package api

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// tester is a Tester that records the requested tests.
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

func TestTestWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"isActive": false}).ok(200, nil)
	w.tester.result = app.WebhookTestResult{StatusCode: 500, ResponseTimeMs: 12, Error: "HTTP 500"}
	var result app.WebhookTestResult
	w.do("POST", path+"/test", w.tokens["OWNER"], nil).ok(200, &result)
	want := app.WebhookTestResult{
		StatusCode: 500, ResponseTimeMs: 12, Error: "HTTP 500", EventID: w.tester.sent[0].EventID,
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error("result (-want +got):", diff)
	}
	if sent := w.tester.sent[0]; sent.StoreID != own.id || sent.SubscriptionID != own.webhook.ID {
		t.Errorf("test: got %+v, want one of %s", sent, own.webhook.ID)
	}
	w.do("POST", path+"/test", w.tokens["OWNER"], object{"url": "https://elsewhere.example"}).
		refused(app.CodeValidationFailed, "url")
	w.tester.err = fmt.Errorf("%w: Temporal", app.Unavailable(5*time.Second))
	if a := w.do("POST", path+"/test", w.tokens["OWNER"],
		nil).refused(app.CodeUnavailable); a.Header().Get("Retry-After") != "5" {
		t.Errorf("Retry-After: got %q, want 5", a.Header().Get("Retry-After"))
	}
	w.tester.err = app.NotFound()
	w.do("POST", path+"/test", w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	if n := len(w.tester.sent); n != 3 {
		t.Errorf("got %d tests, want 3", n)
	}
}
