package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// The test repeats, by hand, the budgets that do not belong to the caller (docs/behaviour.md#rate-limits).
func TestQuotasOfRoutes(t *testing.T) {
	t.Parallel()
	type budget struct {
		name         string
		per          owner
		most, factor int
		window       time.Duration
	}
	changes := []budget{{"changes", "customer", 30, 0, time.Hour}}
	invitations := []budget{
		{"invitations", "store", 20, 0, time.Hour}, {"invitations", "website", 100, 0, time.Hour},
	}
	registrations := []budget{{"registrations", "store and network", 0, 10, time.Hour}}
	want := map[string][]budget{
		"POST /webhooks/{id}/test": {
			{"tests", "webhook", 6, 0, time.Minute}, {"tests", "store", 30, 0, time.Minute},
			{"tests", "website", 60, 0, time.Minute},
		},
		"POST /customer-auth/register":                 registrations,
		"POST /customer-auth/social":                   registrations,
		"POST /customer-auth/email":                    {{"email changes", "customer", 5, 0, time.Hour}},
		"PATCH /customers/{id}":                        changes,
		"POST /customers/{id}/addresses":               changes,
		"PATCH /customers/{id}/addresses/{addressId}":  changes,
		"DELETE /customers/{id}/addresses/{addressId}": changes,
		"POST /users":                                  invitations,
		"POST /invitations/{id}/resend":                invitations,
		"POST /platform/websites/{id}/invite-owner":    invitations,
		"PATCH /website":                               {{"website changes", "website", 30, 0, time.Hour}},
		"PATCH /billing":                               {{"website changes", "website", 30, 0, time.Hour}},
		"GET /customers/lookup":                        {{"lookups", "credential", 60, 0, time.Minute}},
	}
	got := map[string][]budget{}
	for _, rt := range routes() {
		for _, q := range rt.Limit.quotas {
			operation := rt.Method + " " + rt.Path
			got[operation] = append(got[operation], budget(q))
		}
		want := identity.StreamLimits{}
		if _, stream := rt.Handler.response.(eventStream); stream {
			want = identity.StreamLimits{Store: 50, Website: 100}
		}
		if rt.Limit.streams != want {
			t.Errorf("%s: got the limits of streams %+v, want %+v", rt.Path, rt.Limit.streams, want)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(budget{})); diff != "" {
		t.Errorf("quotas (-want +got):\n%s", diff)
	}
}

// While the database is unavailable, each kind of limit refuses requests with 503, and they have no effect.
func TestLimitsDoNotFailOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wire := newWire(t, w.db)
	server := w.serverOn(wire.db, func(*Config) {})
	customer := w.addCustomer("own", "ada@example.com")
	account, webhook := "/customers/"+string(customer.Customer.ID), "/webhooks/"+string(w.stores["own"].webhook.ID)
	owner, unknown := w.tokens["OWNER"], "svc_live_sk_"+strings.Repeat("0f", 16)
	for name, c := range map[string]struct {
		method, path, token string
		body                any
	}{
		"address":     {"POST", "/auth/login", "", credentials("owner@example.com", password)},
		"no cookie":   {"POST", "/auth/refresh", "", nil},
		"unknown key": {"GET", "/orders", unknown, nil},
		"session":     {"POST", "/auth/switch-store", owner, object{"storeId": w.stores["sibling"].id}},
		"webhook":     {"POST", webhook + "/test", owner, nil},
		"own change":  {"PATCH", account, customer.AccessToken, object{"firstName": "Eve"}},
		"invitations": {"POST", "/users", owner, grace("STAFF")},
		"register":    {"POST", "/customer-auth/register", "", registration(w.stores["own"].id)},
	} {
		t.Run(name, func(t *testing.T) {
			server.Close() // waits for the audit entries of the last case
			before := w.state()
			wire.lose("take_rate_limits")
			a := w.doOn(server, c.method, c.path, c.token, c.body).refused(app.CodeUnavailable)
			wire.lose("")
			if a.Header().Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			server.Close()
			if diff := cmp.Diff(before, w.state()); diff != "" {
				t.Errorf("a refused request changed data (-before +after):\n%s", diff)
			}
			if a := w.doOn(server, c.method, c.path, c.token, c.body); a.Code == 503 {
				t.Errorf("with the database again: got %d", a.Code)
			}
		})
	}
}
