package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/app"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.doOn(w.serverOn(w.db.DB, func(c *Config) { c.Metrics = registry }), "GET", "/webhooks", w.tokens["OWNER"], nil).
		ok(200, nil)
	ready := error(nil)
	check := func(context.Context) error { return ready }
	admin, plain := Admin(check, registry, true), Admin(check, registry, false)
	look := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		admin.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		return recorder.Code, recorder.Body.String()
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := look(path); code != 200 || body != "ok\n" {
			t.Errorf("%s: got %d %s, want 200 ok", path, code, body)
		}
	}
	if _, body := look("/metrics"); !strings.Contains(body,
		`comanda_http_request_duration_seconds_count{method="GET",route="/webhooks",status="200"} 1`) {
		t.Errorf("/metrics: got %s, want one request of GET /webhooks", body)
	}
	ready = app.Unavailable(0)
	if code, _ := look("/readyz"); code != 503 {
		t.Errorf("/readyz: got %d, want 503", code)
	}
	if code, _ := look("/healthz"); code != 200 {
		t.Errorf("/healthz: got %d, want 200", code)
	}
	if code, _ := look("/orders"); code != 404 {
		t.Errorf("/orders on the admin address: got %d, want 404", code)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1",
		"/debug/pprof/trace?seconds=0.01"} {
		if code, body := look(path); code != 200 || body == "" {
			t.Errorf("%s: got %d and %d bytes, want 200 with a body", path, code, len(body))
		}
		without := httptest.NewRecorder()
		plain.ServeHTTP(without, httptest.NewRequest("GET", path, nil))
		if without.Code != 404 {
			t.Errorf("%s without profiles: got %d, want 404", path, without.Code)
		}
		w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
}
