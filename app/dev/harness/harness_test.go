package harness

import (
	"os"
	"path/filepath"
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
