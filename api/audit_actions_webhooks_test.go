package api

import (
	"time"

	"github.com/comanda-dev/comanda/app"
)

// webhookActions returns the actions on webhooks and deliveries.
func (w actionMaker) webhookActions() map[string]func() auditCase {
	owner, own, ownerLine := w.tokens["OWNER"], w.stores["own"], w.ownerLine()
	return map[string]func() auditCase{
		"webhook": func() auditCase {
			body := altered(webhookBody(), object{"url": "https://example.com:8443/a/secret/path?token=swordfish"})
			return auditCase{func() *response { return w.here("POST", "/webhooks", owner, body) }, 201,
				func(a *response) []line {
					return in(ownerLine.of(app.AuditWebhookCreated, a.dataID(),
						`{"host": "example.com:8443", "events": ["order.created"]}`), "own")
				}}
		},
		"webhook of a key": func() auditCase {
			key, _ := w.createKey(owner, object{"scopes": []string{"webhooks:manage"}})
			w.do("GET", "/webhooks", key.Key, nil).ok(200, nil) // records the use of the key
			return auditCase{func() *response { return w.here("POST", "/webhooks", key.Key, webhookBody()) }, 201,
				func(a *response) []line {
					return in(line{realm: app.RealmAPIKey, actor: string(key.ID)}.of(app.AuditWebhookCreated,
						a.dataID(),
						`{"host": "example.com", "events": ["order.created"]}`), "own")
				}}
		},
		"webhook changed": w.hooked(true, "PATCH", "",
			object{"url": "https://example.com/a/secret/path", "events": []string{"customer.created"}}, 200,
			app.AuditWebhookChanged,
			`{"host": {"to": "example.com", "from": "hooks.example.com"}, `+
				`"events": {"to": ["customer.created"], "from": ["order.created"]}}`),
		"webhook's headers": w.hooked(true, "PATCH", "", object{"headers": object{"X-Key": "swordfish"}}, 200,
			app.AuditWebhookChanged, `{"headers": {"to": ["X-Key"], "from": []}}`),
		"webhook's filter": w.hooked(true, "PATCH", "", object{"filter": "data.totalMinor > 1"}, 200,
			app.AuditWebhookChanged, `{"filter": {"to": "data.totalMinor > 1", "from": null}}`),
		"webhook's ordering": w.hooked(true, "PATCH", "", object{"ordering": "resource"}, 200,
			app.AuditWebhookChanged, `{"ordering": {"to": "resource", "from": "none"}}`),
		"webhook off": w.hooked(true, "PATCH", "", object{"isActive": false}, 200, app.AuditWebhookDeactivated,
			"{}"),
		"webhook on": w.hooked(false, "PATCH", "", object{"isActive": true}, 200, app.AuditWebhookReactivated,
			"{}"),
		"webhook as it was": w.hooked(true, "PATCH", "", object{"isActive": true, "url": own.webhook.URL}, 200, "", ""),
		"webhook's secret": w.hooked(true, "POST", "/rotate-secret",
			object{"secret": "swordfish" + webhookSecret,
				"overlapSeconds": 60}, 200, app.AuditWebhookSecretRotated, `{"overlapSeconds": 60}`),
		"webhook deleted": func() auditCase {
			id := string(w.addWebhook(own.id))
			w.exec("UPDATE subscriptions SET url = 'https://example.com/a/secret/path' WHERE id = $1", id)
			return auditCase{func() *response { return w.here("DELETE", "/webhooks/"+id, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditWebhookDeleted, id, `{"host": "example.com"}`), "own")...)}
		},
		"replay": func() auditCase {
			w.must(w.db.EndDelivery(w.Context(), noon, own.delivery.ID, app.DeliveryDeadLetter, "test"))
			path := "/deliveries/" + string(own.delivery.ID) + "/replay"
			return auditCase{func() *response { return w.here("POST", path, owner, nil) }, 202,
				exactly(in(ownerLine.of(app.AuditWebhookReplayed, string(own.delivery.ID), "{}"), "own")...)}
		},
		"retry": func() auditCase {
			w.recordOf(own.delivery.ID, 1, app.AttemptRetrying, 503)
			w.exec("UPDATE attempts SET attempted_at = $1", noon.Add(-time.Minute))
			w.exec("UPDATE deliveries SET status = 'retrying', attempts = 1 WHERE id = $1", own.delivery.ID)
			w.exec("UPDATE subscriptions SET is_active = true WHERE id = $1", own.webhook.ID)
			w.retrier.attempt = func() { w.recordOf(own.delivery.ID, 2, app.AttemptDelivered, 204) }
			path := "/deliveries/" + string(own.delivery.ID) + "/retry"
			return auditCase{func() *response { return w.here("POST", path, owner, nil) }, 200,
				exactly(in(ownerLine.of(app.AuditWebhookRetried, string(own.delivery.ID), "{}"), "own")...)}
		},
	}
}
