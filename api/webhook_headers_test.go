package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// sentHeaders returns the further headers that a test of a webhook would send.
func (w *world) sentHeaders(id app.SubscriptionID) map[string]string {
	w.Helper()
	test, err := w.db.CreateTest(w.Context(), w.now, w.stores["own"].id, id)
	w.must(err)
	out, err := w.db.OutgoingTest(w.Context(), test)
	w.must(err)
	values := map[string]string{}
	for name, value := range out.Headers {
		values[name] = value.Reveal()
	}
	return values
}

// The values of further headers are never returned, and a change of the origin does not carry them over.
func TestWebhookHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	once := header("Idempotency-Key", "headers")
	body := altered(webhookBody(), object{"headers": object{"X-Key": "swordfish-1", "Authorization": "swordfish 2"}})
	var hook app.Subscription
	for range 2 {
		a := w.do("POST", "/webhooks", owner, body, once).ok(201, &hook)
		if strings.Contains(a.Body.String(), "swordfish") {
			t.Fatalf("the response contains a value: %s", a.Body)
		}
	}
	path := "/webhooks/" + string(hook.ID)
	check := func(version int64, names []string, sent map[string]string) {
		t.Helper()
		a := w.do("GET", path, owner, nil).ok(200, &hook)
		if diff := cmp.Diff(names, hook.HeaderNames); diff != "" || hook.Version != version {
			t.Errorf("got version %d, want %d; names (-want +got):\n%s", hook.Version, version, diff)
		}
		if diff := cmp.Diff(sent, w.sentHeaders(hook.ID)); diff != "" {
			t.Errorf("sent headers (-want +got):\n%s", diff)
		}
		if all := a.Body.String() + w.do("GET", "/webhooks", owner, nil).ok(200, nil).Body.String(); strings.Contains(
			all, "swordfish") {
			t.Errorf("the response contains a value: %s", all)
		}
	}
	both := map[string]string{"X-Key": "swordfish-1", "Authorization": "swordfish 2"}
	check(1, []string{"Authorization", "X-Key"}, both)
	w.do("PATCH", path, owner, object{"headers": body["headers"]}).ok(200, nil)
	w.do("PATCH", path, owner, object{"url": hook.URL + "/other"}).ok(200, nil)
	check(2, []string{"Authorization", "X-Key"}, both)

	elsewhere := "https://elsewhere.example/hook"
	w.do("PATCH", path, owner, object{"url": elsewhere}).refused(app.CodeValidationFailed, "headers")
	check(2, []string{"Authorization", "X-Key"}, both)
	w.do("PATCH", path, owner, object{"url": elsewhere, "headers": object{"x-key": "swordfish-3"}}).ok(200, nil)
	check(3, []string{"x-key"}, map[string]string{"x-key": "swordfish-3"})
	w.do("PATCH", path, owner, object{"headers": object{"x-key": "swordfish-4"}}).ok(200, nil)
	check(4, []string{"x-key"}, map[string]string{"x-key": "swordfish-4"})
	w.do("PATCH", path, owner, object{"headers": json.RawMessage("null")}).ok(200, nil)
	check(5, []string{}, map[string]string{})
	w.do("PATCH", path, owner, object{"headers": object{"A": "swordfish-5"}}).ok(200, nil)
	w.do("PATCH", path, owner, object{"headers": object{}, "url": "https://third.example/"}).ok(200, nil)
	check(7, []string{}, map[string]string{})
	w.do("PATCH", path, owner, object{"headers": object{}}).ok(200, nil)
	w.do("PATCH", path, owner, object{"url": "https://fourth.example/"}).ok(200, nil)
	check(8, []string{}, map[string]string{})
	w.do("PATCH", path, owner, object{"headers": object{"A": "swordfish-6"}}).ok(200, nil)
	w.do("DELETE", path, owner, nil)
	if n := persistencetest.Count(t, w.db, `SELECT count(*) FROM subscriptions
		WHERE id = $1 AND headers IS NULL AND header_names = '{}'`, hook.ID); n != 1 {
		t.Error("the headers of a deleted webhook are kept")
	}
	const audited = "SELECT count(*) FROM audit WHERE details::text LIKE '%swordfish%'"
	if n := persistencetest.Count(t, w.db, audited); n != 0 {
		t.Errorf("got %d audit entries with values, want none", n)
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Error("the log contains a value")
	}
}

func TestBadWebhookHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := object{}
	for _, name := range strings.Split("abcdefghijk", "") {
		many[name] = "value"
	}
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	for name, c := range map[string]struct {
		headers any
		path    string
	}{
		"a list":           {[]any{"X-Key"}, "headers"},
		"a text":           {"X-Key: value", "headers"},
		"eleven":           {many, "headers"},
		"a number":         {object{"X-Key": 1}, "headers.X-Key"},
		"a null":           {object{"X-Key": nil}, "headers.X-Key"},
		"an empty value":   {object{"X-Key": ""}, "headers.X-Key"},
		"a long value":     {object{"X-Key": strings.Repeat("x", 1001)}, "headers.X-Key"},
		"a line break":     {object{"X-Key": "a\r\nHost: b"}, "headers.X-Key"},
		"no ASCII":         {object{"X-Key": "é"}, "headers.X-Key"},
		"an edge of space": {object{"X-Key": " a"}, "headers.X-Key"},
		"a long name":      {object{strings.Repeat("x", 101): "a"}, "headers." + strings.Repeat("x", 101)},
		"no token":         {object{"X Key": "a"}, "headers.X Key"},
		"forbidden":        {object{"webhook-ID": "a"}, "headers.webhook-ID"},
		"twice":            {object{"X-Key": "a", "x-key": "b"}, "headers.x-key"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), object{"headers": c.headers})).
				refused(app.CodeValidationFailed, c.path)
			w.do("PATCH", path, w.tokens["OWNER"], object{"headers": c.headers}).
				refused(app.CodeValidationFailed, c.path)
		})
	}
}
