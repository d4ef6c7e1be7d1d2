package boot

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
)

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	for name, suggestion := range map[string]string{
		"COMANDA_RETRY_SHEDULE":    "COMANDA_RETRY_SCHEDULE",
		"COMANDA_WATCHDOGDAYS":     "COMANDA_WATCHDOG_DAYS",
		"COMANDA_GOOGEL_ISSUER":    "COMANDA_GOOGLE_ISSUER",
		"COMANDA_WEBHOOK_SECRETS":  "COMANDA_WEBHOOK_SECRET",
		"COMANDA_BURST_PORT_8443_": "COMANDA_BURST",
		"COMANDA_":                 "COMANDA_DOCS",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(with(name, ""), API)
			want := "\n" + name + ": unknown variable; the nearest known name is " + suggestion
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestKnownVariables(t *testing.T) {
	t.Parallel()
	environ := with("COMANDA_WEBHOOK_SECRET", "secret", "COMANDA_TEST_DATABASE_URL", "postgres://",
		"COMANDA_SERVE_PASSWORD", "x", "COMANDA_OWNER_PASSWORD", "x", "COMANDAS", "x", "comanda_listen", "x",
		"COMANDA_GOOGLE_ISSUER", "https://google.test")
	for _, name := range []string{ // of services named comanda, comanda-api and comanda-temporal-ui
		"COMANDA_SERVICE_HOST", "COMANDA_SERVICE_PORT", "COMANDA_SERVICE_PORT_HTTPS", "COMANDA_PORT",
		"COMANDA_PORT_8443_TCP", "COMANDA_PORT_8443_TCP_PROTO", "COMANDA_PORT_8443_TCP_PORT",
		"COMANDA_PORT_8443_TCP_ADDR",
		"COMANDA_API_SERVICE_HOST", "COMANDA_API_SERVICE_PORT_HTTPS", "COMANDA_API_PORT",
		"COMANDA_API_PORT_8443_TCP_ADDR", "COMANDA_TEMPORAL_UI_PORT_80_TCP",
	} {
		environ[name] = "x"
	}
	if _, err := Load(environ, API|Worker); err != nil {
		t.Errorf("Load with known variables: %v, want no error", err)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ac", 1},
		{"ac", "abc", 1},
		{"kitten", "sitting", 3}, {"SHEDULE", "SCHEDULE", 1},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// docs/configuration.md lists each variable with its default.
func TestDocumentedVariables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{} // defaults, "" for a variable without a default
	quoted := regexp.MustCompile("`([^`]+)`")
	row := regexp.MustCompile("(?m)^\\| (`[A-Z][^|]*) \\| ([^|]*) \\|")
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		defaults := quoted.FindAllStringSubmatch(row[2], -1)
		for i, name := range quoted.FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = ""
			if i < len(defaults) {
				documented[name[1]] = defaults[i][1]
			}
		}
	}
	fields, err := env.GetFieldParams(&Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if strings.HasPrefix(field.Key, "COMANDA_APPLE_") || strings.HasPrefix(field.Key, "COMANDA_FACEBOOK_") {
			continue // documented as the same as those of Google
		}
		if value, ok := documented[field.Key]; !ok {
			t.Errorf("docs/configuration.md lacks %s", field.Key)
		} else if field.HasDefaultValue && value != field.DefaultValue {
			t.Errorf("docs/configuration.md: %s has the default %q, want %q", field.Key, value, field.DefaultValue)
		}
	}
}
