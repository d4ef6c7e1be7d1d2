package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestBilling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := func(n int) *int { return &n }
	want := app.PlanUsage{Plan: app.PlanEnterprise, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour))}
	see := func(token, what string, want app.PlanUsage) {
		t.Helper()
		var got app.PlanUsage
		w.do("GET", "/billing", token, nil).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("plan %s (-want +got):\n%s", what, diff)
		}
	}
	change := func(plan app.Plan) {
		t.Helper()
		want.Plan, want.Limit = plan, plan.Limit()
		var got app.PlanUsage
		w.do("PATCH", "/billing", w.tokens["OWNER"], object{"plan": plan}).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("change to %s (-want +got):\n%s", plan, diff)
		}
	}
	see(w.tokens["OWNER"], "at first", want)
	change(app.PlanEnterprise)
	limits := persistencetest.Limits
	_, err := w.db.Claim(t.Context(), noon, limits) // earlier deliveries
	w.must(err)
	change(app.PlanStarter)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).ok(201, nil)
	_, err = w.db.Dispatch(t.Context(), noon, 1000)
	w.must(err)
	want.Queued = 1
	see(w.tokens["OWNER"], "with a delivery that has not started", want)
	_, err = w.db.Claim(t.Context(), noon, limits)
	w.must(err)
	want.Queued, want.Taken = 0, 1
	see(w.tokens["OWNER"], "after a delivery", want)
	see(w.token("OWNER", w.stores["sibling"].id), "in the other store of the website", want)
	see(w.tokens["FOREIGN"], "of another website",
		app.PlanUsage{Plan: app.PlanEnterprise, WindowStart: want.WindowStart, WindowEnd: want.WindowEnd})
	change(app.PlanGrow)
	change(app.PlanGrow)

	// Each change has one entry in the trail of each store of the website.
	for store, token := range map[string]string{"own": w.tokens["OWNER"],
		"sibling": w.token("OWNER", w.stores["sibling"].id)} {
		var trail []app.AuditEntry
		w.do("GET", "/audit?action=plan.changed", token, nil).ok(200, &trail)
		if len(trail) != 2 || trail[0].Actor.ID != string(w.users["OWNER"].ID) ||
			trail[0].Target != string(w.stores["own"].website) {
			t.Fatalf("%s: got entries %+v, want two changes of the website by the OWNER", store, trail)
		}
		seen := map[any]any{
			trail[0].Details["from"]: trail[0].Details["to"], trail[1].Details["from"]: trail[1].Details["to"],
		}
		if diff := cmp.Diff(map[any]any{"ENTERPRISE": "STARTER", "STARTER": "GROW"}, seen); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", store, diff)
		}
	}

	// A sandbox has its own windows with the limit of STARTER. Its plan cannot be changed.
	_, err = w.db.IssueAPIKey(t.Context(), noon, w.stores["own"].id,
		app.NewAPIKey{Name: "test", Scopes: app.Scopes[:], Mode: app.KeyTest})
	w.must(err)
	var sandbox app.StoreID
	w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM stores WHERE sandbox_of = $1",
		w.stores["own"].id).Scan(&sandbox))
	inSandbox := w.token("OWNER", sandbox)
	see(inSandbox, "in the sandbox",
		app.PlanUsage{Plan: app.PlanStarter, Limit: limit(500), WindowStart: want.WindowStart,
			WindowEnd: want.WindowEnd})
	w.do("PATCH", "/billing", inSandbox, object{"plan": "ENTERPRISE"}).refused(app.CodeConflict)
	see(w.tokens["OWNER"], "after a change in the sandbox", want)
}

// GET and PATCH /billing return the limits of the plans (docs/behaviour.md#plan-rate).
func TestPlanLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := func(n int) *int { return &n }
	want := []planLimitOut{
		{app.PlanStarter, limit(500)}, {app.PlanGrow, limit(2_000)}, {app.PlanProfessional, limit(10_000)},
		{app.PlanEnterprise, nil},
	}
	for method, body := range map[string]any{"GET": nil, "PATCH": object{"plan": app.PlanGrow}} {
		var got billingOut
		w.do(method, "/billing", w.tokens["OWNER"], body).ok(200, &got)
		if diff := cmp.Diff(want, got.Plans); diff != "" {
			t.Errorf("%s: plans (-want +got):\n%s", method, diff)
		}
	}
}

func TestBadPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, path := range map[string]string{
		`{}`: "plan", `{"plan":null}`: "plan", `{"plan":""}`: "plan", `{"plan":"starter"}`: "plan",
		`{"plan":"FREE"}`: "plan", `{"plan":["GROW"]}`: "plan",
		`{"plan":"GROW","suspended":false}`: "suspended", `{"plan":"GROW","websiteId":"web_1"}`: "websiteId", `[]`: "",
	} {
		w.run(body, func(t *testing.T) {
			w.do("PATCH", "/billing", w.tokens["OWNER"], json.RawMessage(body)).refused(app.CodeValidationFailed, path)
		})
	}
	w.do("GET", "/billing?plan=GROW", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "plan")
}
