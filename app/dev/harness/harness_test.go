package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// A program knows a setting if it refuses the wrong value alone. One that refuses every setting that it
// does not know, and one that ignores them, do not know it.
func TestKnows(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		`[ "$SETTING" = off ] || echo "SETTING: neither auto nor off"; exit 1`: true,
		`echo "SETTING: unknown variable"; exit 1`:                             false,
		`echo "DATABASE_URL: is required"; exit 1`:                             false,
	} {
		program := filepath.Join(t.TempDir(), "comanda")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := (Programs{Comanda: program}).Knows(t.Context(), "SETTING", "off"); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}
