package api

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The dashboard is one page for every path below /dashboard, and its files; nothing of it
// comes from elsewhere, and no script stands in it.
func TestDashboardIsServed(t *testing.T) {
	t.Parallel()
	server := New(Config{Keyring: persistencetest.Keyring(), Issuer: issuer})
	for _, path := range []string{"/dashboard", "/dashboard/", "/dashboard/webhooks/whk_1", "/dashboard/index.html"} {
		a := get(server, path)
		page := a.Body.String()
		if a.Code != 200 || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/html") || !strings.Contains(page, `<div id="root">`) {
			t.Fatalf("%s: %d, %s", path, a.Code, page)
		}
		policy := a.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(page, "<script>") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for part := range strings.SplitSeq(page, `src="`) {
			if name, _, found := strings.Cut(part, `"`); found && strings.HasPrefix(name, "/") {
				if script := get(server, name); script.Code != 200 || !strings.HasPrefix(script.Header().Get("Content-Type"), "text/javascript") {
					t.Errorf("%s: %d, %q", name, script.Code, script.Header().Get("Content-Type"))
				}
			}
		}
	}
	for _, path := range []string{"/dashboardx", "/dashboard/assets/index-old.js"} {
		if a := get(server, path); a.Code != 404 || !strings.Contains(a.Body.String(), `"code":"NOT_FOUND"`) {
			t.Errorf("%s: %d %s", path, a.Code, a.Body)
		}
	}
}
