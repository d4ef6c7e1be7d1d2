package api

import (
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// storeActions returns the actions on stores, store views and websites.
func (w actionMaker) storeActions() map[string]func() auditCase {
	owner, own, ownerLine, platformLine := w.tokens["OWNER"], w.stores["own"], w.ownerLine(), w.platformLine()
	return map[string]func() auditCase{
		"store": func() auditCase {
			return auditCase{func() *response { return w.here("POST", "/stores", owner, storeBody()) }, 201,
				func(a *response) []line {
					var store app.Store
					a.ok(201, &store)
					w.setAside(store.StoreID)
					return in(ownerLine.of(app.AuditStoreCreated, string(store.StoreID),
						`{"storeName": "Trattoria Nord"}`), "own", string(store.StoreID))
				}}
		},
		"store changed": func() auditCase {
			w.exec("UPDATE stores SET country_code = 'DE' WHERE id = $1", own.id)
			return auditCase{func() *response { return w.here("PATCH", "/store", owner, object{"countryCode": "AT"}) }, 200,
				exactly(in(ownerLine.of(app.AuditStoreChanged, string(own.id),
					`{"countryCode": {"to": "AT", "from": "DE"}}`), "own")...)}
		},
		"store as it was": func() auditCase {
			w.exec("UPDATE stores SET country_code = 'DE' WHERE id = $1", own.id)
			return auditCase{func() *response { return w.here("PATCH", "/store", owner, object{"countryCode": "DE"}) }, 200,
				exactly()}
		},
		"ordering paused": func() auditCase {
			until := app.At(w.now.Add(time.Hour))
			return auditCase{func() *response { return w.here("POST", "/store/pause", owner, object{"until": until}) }, 200,
				exactly(in(ownerLine.of(app.AuditOrderingPaused, string(own.id),
					fmt.Sprintf(`{"until": %q}`, until)), "own")...)}
		},
		"ordering resumed": func() auditCase {
			w.exec("UPDATE stores SET ordering_paused_until = $1 WHERE id = $2", w.now.Add(time.Hour), own.id)
			return auditCase{func() *response { return w.here("POST", "/store/resume", owner, nil) }, 200,
				exactly(in(ownerLine.of(app.AuditOrderingResumed, string(own.id), `{}`), "own")...)}
		},
		"ordering not paused": func() auditCase {
			w.exec("UPDATE stores SET ordering_paused_until = $1 WHERE id = $2", w.now, own.id)
			return auditCase{func() *response { return w.here("POST", "/store/resume", owner, nil) }, 200, exactly()}
		},
		"store view": func() auditCase {
			return auditCase{func() *response { return w.here("POST", "/store/views", owner, viewBody("action")) }, 201,
				func(a *response) []line {
					return in(ownerLine.of(app.AuditViewCreated, a.dataID(),
						`{"code": "action", "locale": "it-IT", "currency": "EUR", "isDefault": false}`), "own")
				}}
		},
		"store view changed": func() auditCase {
			id := string(w.addView(own.id))
			w.exec("UPDATE store_views SET code = 'changed' WHERE id = $1", id)
			return auditCase{func() *response {
				return w.here("PATCH", "/store/views/"+id, owner, object{"locale": "it-CH"})
			}, 200, exactly(in(ownerLine.of(app.AuditViewChanged, id,
				`{"code": "changed", "locale": "it-CH", "currency": "EUR", "isDefault": false}`), "own")...)}
		},
		"store view deleted": func() auditCase {
			id := string(w.addView(own.id))
			w.exec("UPDATE store_views SET code = 'deleted' WHERE id = $1", id)
			return auditCase{func() *response { return w.here("DELETE", "/store/views/"+id, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditViewDeleted, id,
					`{"code": "deleted", "locale": "fr-FR", "currency": "EUR", "isDefault": false}`), "own")...)}
		},
		"website": func() auditCase {
			return auditCase{func() *response {
				return w.here("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("three.test"))
			}, 201, func(a *response) []line {
				var out openWebsiteOut
				a.ok(201, &out)
				return append(in(platformLine.of(app.AuditWebsiteOpened, string(out.ID), `{"plan": "GROW"}`),
					string(out.StoreID), "platform"),
					in(platformLine.of(app.AuditUserInvited, string(out.Invitation.ID),
						fmt.Sprintf(`{"role": "OWNER", "email": %q}`, out.Invitation.Email)), string(out.StoreID),
						"platform")...)
			}}
		},
		"plan": func() auditCase {
			w.exec("UPDATE websites SET plan = 'ENTERPRISE'")
			return auditCase{
				w.website(object{"plan": "GROW"}), 200,
				w.changed(app.AuditPlanChanged, `{"to": "GROW", "from": "ENTERPRISE"}`),
			}
		},
		"store of the platform": func() auditCase {
			return auditCase{func() *response {
				return w.here("POST", "/platform/websites/"+string(w.stores["foreign"].website)+"/stores",
					w.tokens["PLATFORM"], storeBody())
			}, 201, func(a *response) []line {
				var store app.Store
				a.ok(201, &store)
				w.setAside(store.StoreID)
				return in(platformLine.of(app.AuditStoreCreated, string(store.StoreID),
					`{"storeName": "Trattoria Nord"}`), string(store.StoreID), "platform")
			}}
		},
		"owner invited by the platform": func() auditCase {
			foreign := w.stores["foreign"]
			return auditCase{func() *response {
				return w.here("POST", "/platform/websites/"+string(foreign.website)+"/invite-owner",
					w.tokens["PLATFORM"], object{"email": "o@example.com", "name": "O", "storeId": foreign.id})
			}, 201, func(a *response) []line {
				return in(platformLine.of(app.AuditUserInvited, a.dataID(),
					`{"role": "OWNER", "email": "o@example.com"}`), "foreign", "platform")
			}}
		},
		"invitation withdrawn by the platform": func() auditCase {
			foreign := w.stores["foreign"]
			id := string(w.addOwnerInvitation(foreign.id))
			return auditCase{func() *response {
				return w.here("DELETE", "/platform/websites/"+string(foreign.website)+"/invitations/"+id,
					w.tokens["PLATFORM"], nil)
			}, 204, exactly(in(platformLine.of(app.AuditInvitationWithdrawn, id,
				fmt.Sprintf(`{"role": "OWNER", "email": "%s@example.com"}`, id)), "foreign", "platform")...)}
		},
		"website changed": func() auditCase {
			w.exec("UPDATE websites SET name = 'Two', plan_managed_by = 'OWNER' WHERE id = $1",
				w.stores["foreign"].website)
			return auditCase{w.website(object{"name": "Three", "planManagedBy": "PLATFORM"}), 200,
				w.changed(app.AuditWebsiteChanged, `{"name": {"to": "Three", "from": "Two"}, `+
					`"planManagedBy": {"to": "PLATFORM", "from": "OWNER"}}`)}
		},
		"suspension": func() auditCase {
			w.exec("UPDATE websites SET suspended_at = NULL")
			return auditCase{w.website(object{"suspended": true}), 200, w.changed(app.AuditWebsiteSuspended, "{}")}
		},
		"the end of a suspension": func() auditCase {
			w.exec("UPDATE websites SET suspended_at = $1 WHERE id = $2", noon, w.stores["foreign"].website)
			return auditCase{w.website(object{"suspended": false}), 200, w.changed(app.AuditWebsiteResumed, "{}")}
		},
		"client ids": func() auditCase {
			w.exec("DELETE FROM website_client_ids")
			body := object{"social": object{"google": []string{"web", "app"}, "apple": []string{}}}
			return auditCase{
				func() *response { return w.here("PATCH", "/website", owner, body) }, 200,
				exactly(in(ownerLine.of(app.AuditClientIDsChanged, string(own.website),
					`{"google": {"added": ["app", "web"]}}`), "own", "sibling", "platform")...),
			}
		},
		"client ids of another website": func() auditCase {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("foreign", "theirs")
			body := object{"social": object{"google": []string{"web", "theirs"}}}
			return auditCase{
				func() *response { return w.here("PATCH", "/website", owner, body) }, 409,
				exactly(in(ownerLine.of(app.AuditClientIDsRefused, string(own.website),
					fmt.Sprintf(`{"google": {"theirs": %q}}`, w.stores["foreign"].website)), "platform")...),
			}
		},
		"client ids that move": func() auditCase {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("own", "web")
			const added, removed = `{"google": {"added": ["web"]}}`, `{"google": {"removed": ["web"]}}`
			moved := func(website app.WebsiteID, details string, stores ...string) []line {
				return in(platformLine.of(app.AuditClientIDsChanged, string(website), details), stores...)
			}
			return auditCase{
				w.website(object{"social": object{"google": []string{"web"}}}), 200,
				exactly(append(moved(own.website, removed, "own", "sibling", "platform"),
					moved(w.stores["foreign"].website, added, "foreign", "platform")...)...),
			}
		},
		"the same client ids": func() auditCase {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("own", "web")
			body := object{"social": object{"google": []string{"web"}}}
			return auditCase{func() *response { return w.here("PATCH", "/website", owner, body) }, 200, exactly()}
		},
		"no change of a website": func() auditCase {
			w.exec("UPDATE websites SET plan = 'GROW', suspended_at = NULL")
			return auditCase{w.website(object{"plan": "GROW", "suspended": false}), 200, exactly()}
		},
	}
}
