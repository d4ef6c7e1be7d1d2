package api

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// A store that requires one-time passwords refuses members without them, except on /auth/*, from the next request on.
func TestRequireOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	owner, admin, platform := w.tokens["OWNER"], w.tokens["ADMIN"], w.tokens["PLATFORM"]
	key := w.key("own", app.ScopeReadProducts)
	require := func(token string, on bool) *response {
		return w.do("PATCH", "/settings", token, object{"requireOtp": on})
	}
	has := func(name string, on bool) {
		w.exec(`UPDATE users SET otp_enabled_at = CASE WHEN $2 THEN $3::timestamptz END,
			otp_secret = CASE WHEN $2 THEN 'x'::bytea END WHERE id = $1`, w.users[name].ID, on, noon)
	}
	w.createKey(owner, object{"mode": "test"})
	twin := app.StoreID(w.text("SELECT id FROM stores WHERE sandbox_of = '" + string(own) + "'"))

	require(owner, true).refused(app.CodeConflict)
	has("ADMIN", true)
	require(admin, true).refused(app.CodeInsufficientRole)
	require(admin, false).ok(200, nil) // unchanged
	has("ADMIN", false)
	has("OWNER", true)
	require(w.token("OWNER", twin), true).refused(app.CodeConflict)
	var settings app.Settings
	require(owner, true).ok(200, &settings)
	if !settings.RequireOTP {
		t.Error("requireOtp after it was set: got false, want true")
	}
	w.do("GET", "/settings", owner, nil).ok(200, &settings)
	if !settings.RequireOTP {
		t.Error("requireOtp of GET /settings: got false, want true")
	}
	inTwin, adminInTwin := w.token("OWNER", twin), w.token("ADMIN", twin)
	settings.RequireOTP = false
	w.do("GET", "/settings", inTwin, nil).ok(200, &settings)
	if !settings.RequireOTP {
		t.Error("requireOtp of GET /settings in the sandbox: got false, want true")
	}
	require(inTwin, false).refused(app.CodeConflict)
	require(inTwin, true).ok(200, &settings)
	if !settings.RequireOTP {
		t.Error("requireOtp of PATCH /settings in the sandbox: got false, want true")
	}

	for _, rt := range routes() {
		if !rt.byAccessToken() || !rt.accepts(app.RealmTenant) || strings.HasPrefix(rt.Path, "/auth/") {
			continue
		}
		w.attempt(rt, "own", admin).refused(app.CodeOTPSetupRequired)
	}
	w.do("GET", "/orders", adminInTwin, nil).refused(app.CodeOTPSetupRequired)
	w.do("GET", "/orders", w.token("ADMIN", w.stores["sibling"].id), nil).ok(200, nil)
	w.do("GET", "/orders", owner, nil).ok(200, nil)
	w.do("GET", "/products", key, nil).ok(200, nil)
	w.do("GET", "/platform/websites", platform, nil).ok(200, nil)
	w.do("GET", "/customers", w.addCustomer("own", "c@example.com").AccessToken, nil).ok(200, nil)
	w.do("GET", "/auth/me", admin, nil).ok(200, nil)
	w.do("GET", "/auth/stores", admin, nil).ok(200, nil)
	w.do("POST", "/auth/switch-store", admin, object{"storeId": own}).ok(200, nil)

	has("ADMIN", true)
	w.do("GET", "/orders", admin, nil).ok(200, nil)
	w.do("GET", "/orders", adminInTwin, nil).ok(200, nil)
	require(owner, false).ok(200, nil)
	has("ADMIN", false)
	w.do("GET", "/orders", admin, nil).ok(200, nil)
	w.do("GET", "/orders", adminInTwin, nil).ok(200, nil)
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=settings.changed", owner, nil).ok(200, &trail)
	if len(trail) != 2 {
		t.Errorf("entries settings.changed: got %+v, want 2", trail)
	}
}

// An OWNER without one-time passwords can invite users to a store that requires them from no other store, either.
func TestInviteFromAStoreThatDoesNotRequireOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, sibling, owner := w.stores["own"].id, w.stores["sibling"].id, w.tokens["OWNER"]
	var pending struct{ ID app.InvitationID }
	w.do("POST", "/users", owner, grace("STAFF", own, sibling)).ok(201, &pending)
	resend := "/invitations/" + string(pending.ID) + "/resend"

	w.exec("UPDATE stores SET require_otp = true WHERE id = $1", sibling)
	w.do("POST", "/users", owner, grace("OWNER", sibling)).refused(app.CodeOTPSetupRequired)
	w.do("POST", "/users", owner, grace("OWNER", own, sibling)).refused(app.CodeOTPSetupRequired)
	w.do("POST", "/users", w.tokens["LONER"], grace("STAFF", sibling)).refused(app.CodeStoreMismatch)
	w.do("POST", resend, owner, nil).refused(app.CodeOTPSetupRequired)

	w.exec(`UPDATE users SET otp_enabled_at = $2, otp_secret = 'x' WHERE id = $1`, w.users["OWNER"].ID, noon)
	w.do("POST", resend, owner, nil).ok(200, nil)
	w.do("POST", "/users", owner, grace("OWNER", sibling)).ok(201, nil)
}

// A platform administrator without one-time passwords is refused, except on /auth/*, from the next request on.
func TestPlatformRequiresOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := otpUser{account: w.otpAccounts()["platform administrator"]}
	optional := w.server
	w.server = w.serverOn(w.db.DB, func(c *Config) { c.OptionalOTP = false })
	u.token = u.logIn(password)
	for _, rt := range routes() {
		if rt.accepts(app.RealmPlatform) && strings.HasPrefix(rt.Path, "/platform/") {
			w.attempt(rt, "own", u.token).refused(app.CodeOTPSetupRequired)
		}
	}
	w.do("GET", "/orders", w.tokens["OWNER"], nil).ok(200, nil) // users of stores are not affected
	w.do("GET", "/auth/me", u.token, nil).ok(200, nil)
	w.do("GET", "/auth/sessions", u.token, nil).ok(200, nil)
	w.doOn(optional, "GET", "/platform/websites", u.token, nil).ok(200, nil)

	u = u.enroll()
	w.do("GET", "/platform/websites", u.token, nil).ok(200, nil)
	w.do("DELETE", "/auth/otp", u.token, object{"password": password}).ok(204, nil)
	w.do("GET", "/platform/websites", u.token, nil).refused(app.CodeOTPSetupRequired)
}
