package harness

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TestKnows checks that a program knows a setting if its error names the setting only for the invalid value. A program
// that rejects every unknown variable, and one that ignores them, do not know the setting.
func TestKnows(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		`[ "$SETTING" = off ] || echo "SETTING: neither auto nor off"; exit 1`: true,
		`echo "SETTING: unknown variable"; exit 1`:                             false,
		`echo "DATABASE_URL: is required"; exit 1`:                             false,
	} {
		t.Run(script, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "comanda")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if got := (Programs{Comanda: program}).Knows(t.Context(), "SETTING", "off"); got != want {
				t.Errorf("%s: got %v, want %v", script, got, want)
			}
		})
	}
}

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
