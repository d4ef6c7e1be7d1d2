package api

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Every path below /dashboard serves the same page or one of its files. The page has no inline script and loads nothing
// from other hosts.
func TestDashboardIsServed(t *testing.T) {
	t.Parallel()
	server := New(Config{Keyring: persistencetest.Keyring(), Issuer: issuer})
	for _, path := range []string{"/dashboard", "/dashboard/", "/dashboard/webhooks/whk_1", "/dashboard/index.html"} {
		a := get(server, path)
		page := a.Body.String()
		if a.Code != 200 || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/html") ||
			!strings.Contains(page, `<div id="root">`) {
			t.Fatalf("%s: got %d %s, want 200 and the page of the dashboard", path, a.Code, page)
		}
		policy := a.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			strings.Contains(page, "<script>") || !strings.Contains(policy, "img-src 'self' data: https:;") ||
			a.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: got policy %q, want default-src 'none' without unsafe sources, and no inline script", path, policy)
		}
		for part := range strings.SplitSeq(page, `src="`) {
			if name, _, found := strings.Cut(part, `"`); found && strings.HasPrefix(name, "/") {
				script := get(server, name)
				if script.Code != 200 || !strings.HasPrefix(script.Header().Get("Content-Type"), "text/javascript") {
					t.Errorf("%s: got %d with %q, want 200 with text/javascript", name, script.Code,
						script.Header().Get("Content-Type"))
				}
				want := "no-store"
				if strings.HasPrefix(name, "/dashboard/assets/") {
					want = "public, max-age=31536000, immutable"
				}
				if got := script.Header().Get("Cache-Control"); got != want {
					t.Errorf("%s: got Cache-Control %q, want %q", name, got, want)
				}
			}
		}
	}
	for _, path := range []string{"/dashboardx", "/dashboard/assets/index-old.js"} {
		a := get(server, path)
		if a.Code != 404 || !strings.Contains(a.Body.String(), `"code":"NOT_FOUND"`) {
			t.Errorf("%s: got %d %s, want 404", path, a.Code, a.Body)
		}
		if got := a.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: got Cache-Control %q, want no-store", path, got)
		}
	}
}
