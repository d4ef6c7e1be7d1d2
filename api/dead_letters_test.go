package api

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	var groups []app.DeadLetters
	w.do("GET", "/dead-letters", w.tokens["OWNER"], nil).ok(200, &groups)
	if groups == nil || len(groups) > 0 {
		t.Errorf("got %v, want an empty list", groups)
	}
	w.record(1, app.AttemptDeadLetter, 500)
	w.do("GET", "/dead-letters", w.tokens["OWNER"], nil).ok(200, &groups)
	if len(groups) != 1 || groups[0].SubscriptionID != own.webhook.ID || groups[0].Count != 1 ||
		groups[0].Reason == "" {
		t.Fatalf("got %+v, want one dead letter of %s with a reason", groups, own.webhook.ID)
	}
	var found []app.Delivery
	w.do("GET", "/deliveries?status=dead_letter&reason="+url.QueryEscape(groups[0].Reason), w.tokens["OWNER"], nil).
		ok(200, &found)
	if len(found) != 1 || found[0].ID != own.delivery.ID || found[0].Reason != groups[0].Reason {
		t.Errorf("deliveries with the reason: got %+v, want %s", found, own.delivery.ID)
	}
	w.do("GET", "/deliveries?reason=another", w.tokens["OWNER"], nil).ok(200, &found)
	if len(found) > 0 {
		t.Errorf("deliveries with another reason: got %+v, want none", found)
	}
	w.do("GET", "/dead-letters?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", w.tokens["OWNER"], nil).
		refused(app.CodeValidationFailed, "to")
	w.do("GET", "/dead-letters?limit=1", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "limit")
}

// If the URL of Temporal's UI is set, a delivery links to its workflow. The list of webhooks shows how long the
// watchdog waits.
func TestOperatorLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	persistencetest.Claim(t, w.db)
	path := "/deliveries/" + string(own.delivery.ID)
	var d app.Delivery
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &d)
	id := "delivery/" + string(d.EventID) + "/" + string(own.webhook.ID)
	if d.WorkflowURL != "" || d.WorkflowID != id {
		t.Errorf("got the workflow %q and the URL %q, want %q and no URL", d.WorkflowID, d.WorkflowURL, id)
	}
	configured := w.serverOn(w.db.DB, func(c *Config) {
		c.WorkflowURL, c.WatchdogDays = "https://temporal.example/namespaces/default/workflows/", 7
	})
	w.doOn(configured, "GET", path, w.tokens["OWNER"], nil).ok(200, &d)
	want := "https://temporal.example/namespaces/default/workflows/delivery%2F" + string(d.EventID) + "%2F" +
		string(own.webhook.ID)
	if diff := cmp.Diff(want, d.WorkflowURL); diff != "" {
		t.Error("workflowUrl (-want +got):", diff)
	}
	meta := w.doOn(configured, "GET", "/webhooks", w.tokens["OWNER"], nil).ok(200, nil).body.Meta
	if meta["total"] != 1.0 || meta["watchdogDays"] != 7.0 || meta["requestId"] == nil {
		t.Errorf("meta: got %v, want total 1 and watchdogDays 7", meta)
	}
}
