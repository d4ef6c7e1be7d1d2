package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// fileWith writes a file and returns its path.
func fileWith(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadFiles(t *testing.T) {
	t.Parallel()
	smtp := "smtps://user:pass@mail.example:465?from=orders@example.com"
	for name, end := range map[string]string{"no line break": "", "a line break": "\n", "Windows": "\r\n", "two": "\n\n"} {
		t.Run(name, func(t *testing.T) {
			config, err := Load(with("DATABASE_URL", "", "COMANDA_SECRET_KEYS", "", "COMANDA_BASE_URL", "https://a.example",
				"DATABASE_URL_FILE", fileWith(t, minimal["DATABASE_URL"]+end),
				"COMANDA_SECRET_KEYS_FILE", fileWith(t, strings.Repeat("f", 32)+" ,"+strings.Repeat("g", 32)+end),
				"COMANDA_SMTP_URL_FILE", fileWith(t, smtp+end)), API|Worker)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				got  app.Secret
				want string
			}{
				{config.DatabaseURL, minimal["DATABASE_URL"]}, {config.SMTPURL, smtp},
				{config.SecretKeys, strings.Repeat("f", 32) + " ," + strings.Repeat("g", 32)},
			} {
				if c.got.Reveal() != c.want {
					t.Errorf("got %q, want %q", c.got.Reveal(), c.want)
				}
			}
		})
	}
	// Compose sets a variable without a value to "".
	if _, err := Load(with("COMANDA_SMTP_URL_FILE", "", "DATABASE_URL_FILE", ""), API|Worker); err != nil {
		t.Errorf("variables without a value: got %v, want no error", err)
	}
}

func TestLoadNamesFaultsOfFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ map[string]string
		want    string
	}{
		"both": {
			with("COMANDA_SECRET_KEYS_FILE", fileWith(t, "x")),
			"COMANDA_SECRET_KEYS, COMANDA_SECRET_KEYS_FILE: set one of them, not both",
		},
		"no such file": {
			with("DATABASE_URL", "", "DATABASE_URL_FILE", "/does/not/exist"),
			"DATABASE_URL_FILE: open /does/not/exist: no such file or directory",
		},
		"a directory": {with("COMANDA_SMTP_URL_FILE", "/"), "COMANDA_SMTP_URL_FILE: read /: is a directory"},
		"empty": {
			with("COMANDA_SECRET_KEYS", "", "COMANDA_SECRET_KEYS_FILE", fileWith(t, "\n")), "COMANDA_SECRET_KEYS_FILE: /",
		},
		"two lines": {
			with("COMANDA_SECRET_KEYS", "", "COMANDA_SECRET_KEYS_FILE", fileWith(t, strings.Repeat("k", 32)+",\nsecond\n")),
			"COMANDA_SECRET_KEYS_FILE: /",
		},
		"weak key in a file": {
			with("COMANDA_SECRET_KEYS", "", "COMANDA_SECRET_KEYS_FILE", fileWith(t, "short")),
			"COMANDA_SECRET_KEYS: each key must have at least 32 bytes",
		},
		"misspelt": {
			with("COMANDA_SECRET_KEY_FILE", "x"),
			"COMANDA_SECRET_KEY_FILE: unknown variable; the nearest known name is COMANDA_SECRET_KEYS_FILE",
		},
		"a variable that has none": {
			with("COMANDA_BASE_URL_FILE", "x"), "COMANDA_BASE_URL_FILE: unknown variable; the nearest known name is",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.environ, API|Worker)
			if err == nil || !strings.Contains(err.Error(), "\n"+c.want) || strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("got %v, want one line that begins with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "second") {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}
