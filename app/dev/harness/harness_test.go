package harness

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

func TestHealthy(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(int(status.Load()))
		}
	}))
	for code, want := range map[int32]bool{http.StatusOK: true, http.StatusServiceUnavailable: false} {
		status.Store(code)
		if got := healthy(t.Context(), process.URL); got != want {
			t.Errorf("a process that responds with %d: got %t, want %t", code, got, want)
		}
	}
	process.Close()
	if healthy(t.Context(), process.URL) {
		t.Error("a process that has ended: got healthy, want not")
	}
}
