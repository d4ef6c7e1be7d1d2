package api

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// The log contains paths only with ids, not with text that a client put there by mistake.
func TestLoggedPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	order := "/orders/" + string(w.stores["own"].order.ID)
	key := "svc_live_sk_" + strings.Repeat("0f", 16)
	for path, want := range map[string]string{
		order:                          order,
		"/auth/me":                     "/auth/me",
		"/orders/" + key:               "/orders/…",
		"/orders/correct-horse":        "/orders/…",
		"/orders/" + w.tokens["OWNER"]: "/orders/…",
		"/correct-horse" + order + "/": "/…" + order + "/",
		"/orders%2Fcorrect-horse":      "/orders/…",
	} {
		before := len(w.log.String())
		w.do("GET", path, w.tokens["OWNER"], nil)
		if log := w.log.String()[before:]; !strings.Contains(log, `"path":"`+want+`"`) {
			t.Errorf("log of %s: got %s, want the path %s", path, log, want)
		}
	}
	for name, id := range map[string]string{"a view": string(app.NewID[app.StoreViewID](noon)),
		"a request": string(app.NewID[app.RequestID](noon))} {
		w.run(name, func(t *testing.T) {
			if !idForm.MatchString(id) {
				t.Errorf("id %s: got no match of the form of logged ids, want one", id)
			}
		})
	}
}
