package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestPatchWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	patch := func(body any) *response { t.Helper(); return w.do("PATCH", path, w.tokens["ADMIN"], body) }
	var before, changed app.Subscription
	w.do("GET", path, w.tokens["ADMIN"], nil).ok(200, &before)
	w.now = noon.Add(time.Minute)
	patch(object{"url": before.URL, "events": before.Events, "isActive": true}).ok(200, &changed)
	if diff := cmp.Diff(before, changed); diff != "" {
		t.Error("unchanged values (-want +got):", diff)
	}
	want := before
	want.URL, want.Events, want.IsActive = "https://example.com:8443/a?b=c", []app.EventType{app.EventCustomerCreated,
		app.EventOrderCreated}, false
	want.Version, want.UpdatedAt = 2, app.At(w.now)
	patch(object{"url": want.URL, "events": want.Events, "isActive": false}).ok(200, &changed)
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Error("changed webhook (-want +got):", diff)
	}
	described := changed
	described.Description, described.Version = strings.Repeat("é", 200), 3
	patch(object{"description": described.Description}).ok(200, &changed)
	if diff := cmp.Diff(described, changed); diff != "" {
		t.Error("described webhook (-want +got):", diff)
	}
	patch(object{"description": described.Description}).ok(200, &changed)
	patch(object{"description": nil, "isActive": true}).ok(200, &changed)
	if changed.Description != "" || changed.Version != 4 {
		t.Errorf("cleared description: got %q in version %d, want none in 4", changed.Description, changed.Version)
	}
	w.do("PATCH", path, w.tokens["ADMIN"], object{"isActive": false}, header("If-Match", `"3"`)).
		refused(app.CodeVersionMismatch)
	w.do("PATCH", path, w.tokens["ADMIN"], object{"isActive": false}, header("If-Match", `"4"`)).ok(200, &changed)
	if changed.IsActive || changed.Version != 5 {
		t.Errorf("changed with If-Match: got %+v, want version 5, inactive", changed)
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
		"description too long": {object{"description": strings.Repeat("é", 201)}, "description"},
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
		"all types and others": {object{"events": []any{"*", "order.created"}}, "events"},
		"an unknown ordering":  {object{"ordering": "strict"}, "ordering"},
		"ordering empty":       {object{"ordering": ""}, "ordering"},
		"ordering null":        {object{"ordering": null}, "ordering"},
		"ordering a boolean":   {object{"ordering": true}, "ordering"},
		"test.ping":            {object{"events": []any{"test.ping"}}, "events[0]"},
		"isActive null":        {object{"isActive": null}, "isActive"},
		"isActive a string":    {object{"isActive": "true"}, "isActive"},
		"isActive a number":    {object{"isActive": 0}, "isActive"},
		"the secret":           {object{"secret": webhookSecret, "isActive": true}, "secret"},
		"failureCount":         {object{"failureCount": 0, "isActive": true}, "failureCount"},
		"good and bad":         {object{"url": good, "events": []any{"x"}, "isActive": 1}, "isActive|events[0]"},
		"another store's name": {object{"storeId": w.stores["sibling"].id, "isActive": false}, "storeId"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("PATCH", path, w.tokens["OWNER"], c.body).
				refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
		})
	}
	for _, value := range []string{"", "3", `"0"`, `"-1"`, `"x"`, `W/"1"`, `"1", "2"`, "*", `"99999999999999999999"`} {
		for method, request := range map[string]struct {
			path string
			body any
		}{"PATCH": {path, object{"isActive": false}}, "DELETE": {path, nil}, "POST": {path + "/rotate-secret",
			object{"secret": strings.Repeat("n", 32)}}} {
			w.do(method, request.path, w.tokens["OWNER"], request.body, header("If-Match", value)).
				refused(app.CodeValidationFailed, "If-Match")
		}
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"isActive": false}, header("If-Match", `"1"`),
		header("If-Match", `"1"`)).refused(app.CodeValidationFailed, "If-Match")
	w.do("PATCH", path, w.tokens["OWNER"], `{"url":"`+strings.Repeat("a", maxBody)+`"}`).
		refused(app.CodePayloadTooLarge)
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
		w.run("secret "+name, func(t *testing.T) {
			w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], c.body).refused(app.CodeValidationFailed, c.paths)
		})
	}
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &after)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("refused requests changed the webhook (-before +after):", diff)
	}
}

func TestDeleteWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	w.do("DELETE", path, w.tokens["OWNER"], nil, header("If-Match", `"2"`)).refused(app.CodeVersionMismatch)
	if a := w.do("DELETE", path, w.tokens["OWNER"], nil, header("If-Match", `"1"`)); a.Code != 204 ||
		a.Body.Len() != 0 {
		t.Errorf("delete: got %d %s, want 204 without a body", a.Code, a.Body)
	}
	attempt := "/deliveries/att_1"
	for _, gone := range []struct {
		method, path string
		body         any
	}{
		{"GET", "", nil}, {"PATCH", "", object{"isActive": true}}, {"DELETE", "", nil}, {"GET", "/deliveries", nil},
		{"GET", attempt, nil},
		{"GET", "/stats", nil}, {"POST", "/test", nil}, {"POST", "/rotate-secret", object{"secret": webhookSecret}},
	} {
		w.do(gone.method, path+gone.path, w.tokens["OWNER"], gone.body).refused(app.CodeNotFound)
	}
	var all []app.Subscription
	if w.do("GET", "/webhooks", w.tokens["OWNER"], nil).ok(200, &all); len(all) != 0 {
		t.Errorf("list after the deletion: got %+v, want none", all)
	}
	var deliveries []app.Delivery
	if w.do("GET", "/deliveries", w.tokens["OWNER"], nil).ok(200, &deliveries); len(deliveries) != 1 ||
		deliveries[0].SubscriptionID != own.webhook.ID {
		t.Errorf("deliveries after the deletion: got %+v, want one of %s", deliveries, own.webhook.ID)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID)
	const secret = "the one after it, which nobody may see"
	var rotated app.Subscription
	a := w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": secret, "overlapSeconds": 604800}).
		ok(200, &rotated)
	if rotated.Version != 2 || rotated.PreviousSecretExpiresAt == nil ||
		!rotated.PreviousSecretExpiresAt.Equal(noon.Add(7*24*time.Hour)) {
		t.Errorf("rotated: got %+v, want version 2 with an overlap of 7 days", rotated)
	}
	w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": webhookSecret}, header("If-Match", `"1"`)).
		refused(app.CodeVersionMismatch)
	b := w.do("POST", path+"/rotate-secret", w.tokens["OWNER"], object{"secret": webhookSecret},
		header("If-Match", `"2"`)).ok(200, nil)
	if strings.Contains(b.Body.String(), "previousSecret") {
		t.Errorf("rotated without an overlap: got %s, want no previousSecretExpiresAt", b.Body)
	}
	for _, shown := range []string{a.Body.String(), b.Body.String(), w.log.String()} {
		if strings.Contains(shown, secret) || strings.Contains(shown, webhookSecret) {
			t.Errorf("a response or the log contains a secret: %s", shown)
		}
	}
}
