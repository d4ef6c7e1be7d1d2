package api

import (
	"github.com/comanda-dev/comanda/app"
)

// userActions returns the actions on users, invitations and API keys.
func (w actionMaker) userActions() map[string]func() auditCase {
	owner, own, ownerLine := w.tokens["OWNER"], w.stores["own"], w.ownerLine()
	return map[string]func() auditCase{
		"invitation": func() auditCase {
			body := altered(grace("MANAGER", own.id, w.stores["sibling"].id), object{"email": "new@example.com"})
			return auditCase{func() *response { return w.here("POST", "/users", owner, body) }, 201, func(a *response) []line {
				return in(ownerLine.of(app.AuditUserInvited, a.dataID(),
					`{"role": "MANAGER", "email": "new@example.com"}`), "own", "sibling")
			}}
		},
		"invitation sent again": func() auditCase {
			w.invited(altered(grace("STAFF"), object{"email": "again@example.com"}))
			id := w.text("SELECT id FROM invitations WHERE email = 'again@example.com'")
			return auditCase{func() *response { return w.here("POST", "/invitations/"+id+"/resend", owner, nil) }, 200,
				exactly(in(ownerLine.of(app.AuditInvitationResent, id,
					`{"role": "STAFF", "email": "again@example.com"}`), "own")...)}
		},
		"invitation withdrawn": func() auditCase {
			w.invited(altered(grace("STAFF"), object{"email": "withdrawn@example.com"}))
			id := w.text("SELECT id FROM invitations WHERE email = 'withdrawn@example.com'")
			return auditCase{func() *response { return w.here("DELETE", "/invitations/"+id, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditInvitationWithdrawn, id,
					`{"role": "STAFF", "email": "withdrawn@example.com"}`), "own")...)}
		},
		"acceptance": func() auditCase {
			token := w.invited(grace("MANAGER", own.id, w.stores["sibling"].id))
			invitation := w.text("SELECT id FROM invitations WHERE email = 'grace@example.com'")
			accepted := func() *response { return w.here("POST", "/auth/accept-invite", "", accept(token, goodPassword)) }
			return auditCase{accepted, 200, func(a *response) []line {
				var data loginOut
				a.ok(200, &data)
				who := line{realm: app.RealmTenant, actor: string(data.User.ID)}
				return append(in(who.of(app.AuditInvitationAccepted, invitation, `{"role": "MANAGER"}`), "own",
					"sibling"),
					in(who.of(app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "own", "sibling")...)
			}}
		},
		"acceptance with a wrong password": func() auditCase {
			token := w.invited(altered(grace("STAFF", w.stores["own"].id), object{"email": "moved@example.com"}))
			guess := accept(token, "the swordfish of another")
			return auditCase{func() *response { return w.here("POST", "/auth/accept-invite", "", guess) }, 401,
				w.failed("moved", app.FaultPassword, "sibling")}
		},
		"role": func() auditCase {
			user := w.member()
			return auditCase{func() *response { return w.here("PATCH", "/users/"+user, owner, object{"role": "ADMIN"}) }, 200,
				exactly(in(ownerLine.of(app.AuditRoleChanged, user, `{"to": "ADMIN", "from": "STAFF"}`), "own")...)}
		},
		"the same role": func() auditCase {
			user := w.member()
			return auditCase{
				func() *response { return w.here("PATCH", "/users/"+user, owner, object{"role": "STAFF"}) }, 200,
				exactly(),
			}
		},
		"removal": func() auditCase {
			user := w.member()
			return auditCase{func() *response { return w.here("DELETE", "/users/"+user, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditUserRemoved, user, `{"role": "STAFF"}`), "own")...)}
		},
		"API key": func() auditCase {
			return auditCase{func() *response { return w.here("POST", "/api-keys", owner, apiKeyBody()) }, 201,
				func(a *response) []line {
					return in(ownerLine.of(app.AuditAPIKeyCreated, a.dataID(),
						`{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")
				}}
		},
		"API key of the sandbox": func() auditCase {
			return auditCase{func() *response {
				return w.here("POST", "/api-keys", owner, altered(apiKeyBody(), object{"mode": "test"}))
			}, 201, func(a *response) []line {
				return in(ownerLine.of(app.AuditAPIKeyCreated, a.dataID(),
					`{"mode": "test", "name": "Till", "scopes": ["read:orders"]}`), "own")
			}}
		},
		"repeated API key": func() auditCase {
			once := header("Idempotency-Key", "once")
			w.do("POST", "/api-keys", owner, apiKeyBody(), once).ok(201, nil)
			return auditCase{
				func() *response { return w.here("POST", "/api-keys", owner, apiKeyBody(), once) }, 201, exactly(),
			}
		},
		"revocation": func() auditCase {
			key, _ := w.createKey(owner, nil)
			return auditCase{func() *response { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) },
				200,
				exactly(in(ownerLine.of(app.AuditAPIKeyRevoked, string(key.ID),
					`{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")...)}
		},
		"repeated revocation": func() auditCase {
			key, _ := w.createKey(owner, nil)
			w.do("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil).ok(200, nil)
			return auditCase{
				func() *response { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) }, 200,
				exactly(),
			}
		},
	}
}
