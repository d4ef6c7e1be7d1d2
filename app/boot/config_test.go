package boot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
)

var good = map[string]string{
	"DATABASE_URL": "postgres://comanda@localhost/comanda", "COMANDA_SECRET_KEYS": strings.Repeat("k", 32),
	"COMANDA_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
}

func with(changes ...string) map[string]string {
	environ := map[string]string{}
	for k, v := range good {
		environ[k] = v
	}
	for i := 0; i < len(changes); i += 2 {
		environ[changes[i]] = changes[i+1]
	}
	return environ
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	config, err := Load(with(), API|Worker)
	if err != nil {
		t.Fatal(err)
	}
	if config.DeliveryTimeout != 10*time.Second || config.PlanWindow != time.Hour || !slices.Equal(config.RetrySchedule, retrySchedule(app.DefaultRetrySchedule())) ||
		config.DeadLetterRetention != 30*24*time.Hour || config.AccessTokenTTL != 15*time.Minute || config.RefreshTokenTTL != 7*24*time.Hour ||
		config.RefreshReuseLeeway != 0 || config.SessionMaxAge != 30*24*time.Hour ||
		config.AuthRateLimit != 10 || config.AuthRateWindow != time.Minute || len(config.EgressAllow) != 0 || len(config.TrustedProxies) != 2 ||
		config.Burst != burstAuto || config.ReconcileAfter != 3*time.Minute {
		t.Errorf("%+v", config)
	}
}

func TestEveryFaultIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ map[string]string
		want    []string // one for each line of the message
	}{
		"nothing set": {map[string]string{}, []string{"COMANDA_SECRET_KEYS: is required", "COMANDA_TLS_CERT, COMANDA_TLS_KEY: must be set", "DATABASE_URL: is required"}},
		"all wrong": {with("COMANDA_SECRET_KEYS", "short", "COMANDA_RETRY_SCHEDULE", "soon", "COMANDA_DELIVERY_TIMEOUT", "-1s", "COMANDA_EGRESS_ALLOW", "10.0.0.0/99",
			"COMANDA_LOG_LEVEL", "chatty", "COMANDA_BASE_URL", "http://localhost", "COMANDA_EGRESS_CA_FILE", "/does/not/exist", "COMANDA_ACCESS_TOKEN_TTL", "soon", "COMANDA_APPLE_JWKS_URL", "http://localhost/keys"),
			[]string{"COMANDA_ACCESS_TOKEN_TTL", "COMANDA_APPLE_JWKS_URL: must be an https URL", "COMANDA_BASE_URL: must be an https URL", "COMANDA_DELIVERY_TIMEOUT: must be a positive duration", "COMANDA_EGRESS_ALLOW: \"10.0.0.0/99\"", "COMANDA_EGRESS_CA_FILE", "COMANDA_LOG_LEVEL", "COMANDA_RETRY_SCHEDULE: \"soon\"", "COMANDA_SECRET_KEYS: each key must have at least 32 bytes"}},
		"no limit":           {with("COMANDA_AUTH_RATE_LIMIT", "0", "COMANDA_AUTH_RATE_WINDOW", "0s"), []string{"COMANDA_AUTH_RATE_LIMIT: must be from 1 to 10000", "COMANDA_AUTH_RATE_WINDOW: must be a positive duration"}},
		"less than no limit": {with("COMANDA_AUTH_RATE_LIMIT", "-1"), []string{"COMANDA_AUTH_RATE_LIMIT: must be from 1 to 10000"}},
		"an endless limit":   {with("COMANDA_AUTH_RATE_LIMIT", "10001"), []string{"COMANDA_AUTH_RATE_LIMIT: must be from 1 to 10000"}},
		"less than nothing": {with("COMANDA_REFRESH_REUSE_LEEWAY", "-1s", "COMANDA_SESSION_MAX_AGE", "-1h"),
			[]string{"COMANDA_REFRESH_REUSE_LEEWAY: must not be negative", "COMANDA_SESSION_MAX_AGE: must not be negative"}},
		"mails without an address to link to": {with("COMANDA_SMTP_URL", "smtp://localhost"), []string{"COMANDA_BASE_URL: must be set where COMANDA_SMTP_URL is", "COMANDA_SMTP_URL: must say who sends"}},
		"a short log":                         {with("COMANDA_LOG_RETENTION", "719h"), []string{"COMANDA_LOG_RETENTION: must not be shorter than"}},
		"a long day":                          {with("COMANDA_WATCHDOG_DAY", "2161h"), []string{"COMANDA_LOG_RETENTION: must not be shorter than"}},
		"no day":                              {with("COMANDA_WATCHDOG_DAY", "0", "COMANDA_WATCHDOG_DAYS", "0"), []string{"COMANDA_WATCHDOG_DAY: must be a positive duration", "COMANDA_WATCHDOG_DAYS: must be from 1 to 365"}},
		"a UI nowhere":                        {with("COMANDA_TEMPORAL_UI_URL", "localhost:8080"), []string{"COMANDA_TEMPORAL_UI_URL: must be an http or https URL"}},
		"half a certificate":                  {with("COMANDA_TLS_CERT", "x.pem"), []string{"COMANDA_TLS_CERT, COMANDA_TLS_KEY: both or neither"}},
		"no window":                           {with("COMANDA_PLAN_WINDOW", "0s"), []string{"COMANDA_PLAN_WINDOW: must be whole seconds from 1s to 24h"}},
		"a broken window":                     {with("COMANDA_PLAN_WINDOW", "1500ms"), []string{"COMANDA_PLAN_WINDOW: must be whole seconds from 1s to 24h"}},
		"a burst of its own":                  {with("COMANDA_BURST", "on"), []string{`COMANDA_BURST: "on" is neither auto nor off`}},
		"at once":                             {with("COMANDA_RECONCILE_AFTER", "999ms"), []string{"COMANDA_RECONCILE_AFTER: must be from 1s to 24h"}},
		"never":                               {with("COMANDA_RECONCILE_AFTER", "24h1s"), []string{"COMANDA_RECONCILE_AFTER: must be from 1s to 24h"}},
		"a week's window":                     {with("COMANDA_PLAN_WINDOW", "168h"), []string{"COMANDA_PLAN_WINDOW: must be whole seconds from 1s to 24h"}},
	} {
		_, err := Load(test.environ, API|Worker)
		if err == nil {
			t.Errorf("%s: no fault", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), "\n"+want) {
				t.Errorf("%s: no line begins with %q in:\n%v", name, want, err)
			}
		}
		if got := strings.Count(err.Error(), "\n"); got != len(test.want) {
			t.Errorf("%s: %d faults, want %d:\n%v", name, got, len(test.want), err)
		}
	}
}

// A worker that stopped before its attempts could end would repeat their POSTs. By default a
// process stops within 25 s, of which its relay may take 5 s.
func TestAStopWaitsForAttempts(t *testing.T) {
	t.Parallel()
	for _, timeout := range []string{"1s", "10s", "30s", "1m"} {
		config, err := Load(with("COMANDA_DELIVERY_TIMEOUT", timeout), Worker)
		if err != nil {
			t.Fatal(err)
		}
		policy := activities.DefaultDeliveryPolicy(config.DeliveryTimeout)
		stop, limit := config.stopTimeout(policy), policy.AttemptLimit()
		if limit <= config.DeliveryTimeout || stop <= limit || timeout == "10s" && stop > 20*time.Second {
			t.Errorf("timeout %s, attempt limit %s, stop timeout %s", timeout, limit, stop)
		}
		config.StopTimeout = 4 * time.Second
		if got := config.stopTimeout(policy); got != 4*time.Second {
			t.Errorf("%s, want the given stop timeout", got)
		}
	}
}

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	config, err := Load(with("COMANDA_REFRESH_REUSE_LEEWAY", "10s", "COMANDA_SESSION_MAX_AGE", "0"), API)
	if err != nil || config.RefreshReuseLeeway != 10*time.Second || config.SessionMaxAge != 0 {
		t.Errorf("%v, %v, %v", config.RefreshReuseLeeway, config.SessionMaxAge, err)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	before := app.ClaimLimits{Burst: 32, BurstAfter: time.Second}
	for word, want := range map[string]app.ClaimLimits{
		"auto": before, "": before, "off": {BurstAfter: time.Second}, "always": {Burst: 32},
	} {
		config, err := Load(with("COMANDA_BURST", word, "COMANDA_RECONCILE_AFTER", "1s"), Worker)
		if err != nil || config.ReconcileAfter != time.Second {
			t.Errorf("%q: %v, %v", word, config.ReconcileAfter, err)
		}
		if diff := cmp.Diff(want, config.Burst.limit(before)); diff != "" {
			t.Errorf("%q: %s", word, diff)
		}
	}
}

func TestAWorkerNeedsNoCertificate(t *testing.T) {
	t.Parallel()
	environ := with()
	delete(environ, "COMANDA_TRUSTED_PROXIES")
	if _, err := Load(environ, Worker); err != nil {
		t.Error(err)
	}
	if _, err := Load(environ, API); err == nil {
		t.Error("an API without certificate and proxy starts")
	}
	config, err := Load(with("COMANDA_EGRESS_ALLOW", "none"), Worker)
	if err != nil || len(config.EgressAllow) != 0 {
		t.Errorf("%v, %v", config.EgressAllow, err)
	}
	if diff := cmp.Diff("10.0.0.0/8", config.TrustedProxies[0].String()); diff != "" {
		t.Error(diff)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	config, err := Load(with("COMANDA_CORS_ORIGINS", "https://shop.example.com, https://shop.example.com:8443,http://localhost:5173"), API)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(originList{"https://shop.example.com", "https://shop.example.com:8443", "http://localhost:5173"}, config.CORSOrigins); diff != "" {
		t.Error(diff)
	}
	for _, origin := range []string{
		"*", "null", "https://*", "https://*.example.com", "http://shop.example.com", "https://", "https://:8443", "https://shop.example.com/", "https://shop.example.com/menu",
		"https://shop.example.com:443", "https://shop.example.com:", "http://localhost:80", "http://localhost.example.com", "https://Shop.example.com", "https://user@shop.example.com",
		"https://shop.example.com?x", "https://shop.example.com#x", "shop.example.com", "ftp://localhost", "https://a.test,,https://b.test",
	} {
		if _, err := Load(with("COMANDA_CORS_ORIGINS", origin), API); err == nil || !strings.Contains(err.Error(), "\nCOMANDA_CORS_ORIGINS: ") || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	config, err := Load(with("COMANDA_GOOGLE_CLIENT_IDS", "web.example, ,app.example", "COMANDA_APPLE_ISSUER", "https://apple.test", "COMANDA_APPLE_JWKS_URL", "https://apple.test/keys"), API)
	if err != nil {
		t.Fatal(err)
	}
	want := map[app.Provider]api.Provider{
		app.ProviderGoogle:   {ClientIDs: []string{"web.example", "app.example"}},
		app.ProviderApple:    {Issuer: "https://apple.test", JWKSURL: "https://apple.test/keys"},
		app.ProviderFacebook: {},
	}
	if diff := cmp.Diff(want, config.providers()); diff != "" {
		t.Error(diff)
	}
}

// Both parts need to know of the mail server, and no fault shows its password.
func TestMailServer(t *testing.T) {
	t.Parallel()
	const address = "smtp://comanda:geheim@smtp.example.com?from=noreply@example.com"
	for _, parts := range []Part{API, Worker} {
		config, err := Load(with("COMANDA_SMTP_URL", address, "COMANDA_BASE_URL", "https://comanda.example"), parts)
		if err != nil || config.smtp == nil || strings.Contains(fmt.Sprintf("%+v", config), "geheim") {
			t.Errorf("%v: %v", parts, err)
		}
		if config, err = Load(with("COMANDA_SMTP_URL", ""), parts); err != nil || config.smtp != nil {
			t.Errorf("%v without: %v", parts, err)
		}
		for _, environ := range []map[string]string{
			with("COMANDA_SMTP_URL", address), with("COMANDA_SMTP_URL", address, "COMANDA_BASE_URL", "http://comanda.example"),
			with("COMANDA_SMTP_URL", address+"&tls=none", "COMANDA_BASE_URL", "https://comanda.example"),
		} {
			if _, err := Load(environ, parts); err == nil || strings.Contains(err.Error(), "geheim") || strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("%v: %v", parts, err)
			}
		}
	}
}
