package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestInit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".env")
	none := &persistencetest.Database{}
	code, stdout, stderr := comanda(t, none, "", "init", "--base-url", "https://orders.example.com", path)
	if code != 0 || strings.Contains(stdout, "SECRET") {
		t.Fatalf("init: exit status %d, %q, %q; want 0 and no secret on the standard output", code, stdout, stderr)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v, want -rw-------", info.Mode(), err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.+)$`).FindAllStringSubmatch(string(written), -1) {
		values[match[1]] = match[2]
	}
	if _, err := app.NewKeyring(app.NewSecret(values["COMANDA_SECRET_KEYS"])); err != nil {
		t.Errorf("COMANDA_SECRET_KEYS: %v, want a valid keyring", err)
	}
	if got := values["COMANDA_BASE_URL"]; got != "https://orders.example.com" {
		t.Errorf("COMANDA_BASE_URL: %q, want that of the flag", got)
	}
	seen := map[string]string{}
	for name, value := range values {
		if other := seen[value]; other != "" {
			t.Errorf("%s and %s have the same value, want different ones", name, other)
		}
		seen[value] = name
	}
	code, _, stderr = comanda(t, none, "", "init", path)
	if code != 1 || !strings.Contains(stderr, "exists") {
		t.Errorf("init of an existing file: exit status %d, %q, want 1 and an error that it exists", code, stderr)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(written) {
		t.Errorf("init changed the existing file (%v), want it unchanged", err)
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"plain-http":   {[]string{"init", "--base-url", "http://localhost", "/missing/.env"}, 1, "https URL"},
		"no-directory": {[]string{"init", "/missing/.env"}, 1, "/missing/.env"},
		"two-files":    {[]string{"init", "a", "b"}, 2, ""},
		"unknown-flag": {[]string{"init", "--force"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := comanda(t, &persistencetest.Database{}, "", c.args...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("got exit status %d, %q, %q; want %d, an error with %q", code, stdout, stderr, c.code, c.want)
			}
		})
	}
}
