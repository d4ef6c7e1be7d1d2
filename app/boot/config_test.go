package boot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
)

// minimal is the smallest valid environment.
var minimal = map[string]string{
	"DATABASE_URL": "postgres://comanda@localhost/comanda", "COMANDA_SECRET_KEYS": strings.Repeat("k", 32),
	"COMANDA_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
}

// with returns the minimal environment with changes, given as pairs of name and value.
func with(changes ...string) map[string]string {
	environ := maps.Clone(minimal)
	for i := 0; i < len(changes); i += 2 {
		environ[changes[i]] = changes[i+1]
	}
	return environ
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	config, err := Load(with(), API|Worker)
	if err != nil {
		t.Fatal(err)
	}
	if config.DeliveryTimeout != 10*time.Second || config.PlanWindow != time.Hour ||
		!slices.Equal(config.RetrySchedule, retrySchedule{30 * time.Second, 5 * time.Minute, 30 * time.Minute,
			2 * time.Hour, 6 * time.Hour}) ||
		config.DeadLetterRetention != 30*24*time.Hour || config.AccessTokenTTL != 15*time.Minute ||
		config.RefreshTokenTTL != 7*24*time.Hour || config.RefreshReuseLeeway != 0 ||
		config.SessionMaxAge != 30*24*time.Hour || config.AuthRateLimit != 10 ||
		config.AuthRateWindow != time.Minute || len(config.EgressAllow) != 0 || len(config.TrustedProxies) != 2 ||
		config.Burst != burstAuto || config.ReconcileAfter != 3*time.Minute ||
		config.AuditRetention != 400*24*time.Hour || config.PlatformOTP != required {
		t.Errorf("configuration of the minimal environment: %+v, want the documented defaults", config)
	}
}

func TestLoadNamesEveryFault(t *testing.T) {
	t.Parallel()
	const (
		apiRate        = "COMANDA_API_RATE: must be from 1 to 100000"
		apiBurst       = "COMANDA_API_BURST: must be from 1 to 100000"
		rateLimit      = "COMANDA_AUTH_RATE_LIMIT: must be from 1 to 10000"
		logRetention   = "COMANDA_LOG_RETENTION: must not be shorter than"
		auditRetention = "COMANDA_AUDIT_RETENTION: must be at least 720h"
		planWindow     = "COMANDA_PLAN_WINDOW: must be whole seconds from 1s to 24h"
		reconcileAfter = "COMANDA_RECONCILE_AFTER: must be from 1s to 24h"
		connections    = "COMANDA_DATABASE_CONNECTIONS: must be from 24 to 10000"
	)
	for name, test := range map[string]struct {
		environ map[string]string
		want    []string // prefixes of the lines of the error
	}{
		"empty environment": {map[string]string{}, []string{
			"COMANDA_SECRET_KEYS: is required", "COMANDA_TLS_CERT, COMANDA_TLS_KEY: must be set",
			"DATABASE_URL: is required",
		}},
		"many faults": {
			with(
				"COMANDA_SECRET_KEYS", "short", "COMANDA_RETRY_SCHEDULE", "soon", "COMANDA_DELIVERY_TIMEOUT", "-1s",
				"COMANDA_EGRESS_ALLOW", "10.0.0.0/99", "COMANDA_LOG_LEVEL", "chatty",
				"COMANDA_BASE_URL", "http://localhost", "COMANDA_EGRESS_CA_FILE", "/does/not/exist",
				"COMANDA_ACCESS_TOKEN_TTL", "soon", "COMANDA_APPLE_JWKS_URL", "http://localhost/keys"),
			[]string{
				"COMANDA_ACCESS_TOKEN_TTL", "COMANDA_APPLE_JWKS_URL: must be an https URL",
				"COMANDA_BASE_URL: must be an https URL", "COMANDA_DELIVERY_TIMEOUT: must be a positive duration",
				`COMANDA_EGRESS_ALLOW: "10.0.0.0/99"`, "COMANDA_EGRESS_CA_FILE", "COMANDA_LOG_LEVEL",
				`COMANDA_RETRY_SCHEDULE: "soon"`, "COMANDA_SECRET_KEYS: each key must have at least 32 bytes",
			},
		},
		"rate limit 0":        {with("COMANDA_AUTH_RATE_LIMIT", "0"), []string{rateLimit}},
		"rate limit -1":       {with("COMANDA_AUTH_RATE_LIMIT", "-1"), []string{rateLimit}},
		"rate limit too high": {with("COMANDA_AUTH_RATE_LIMIT", "10001"), []string{rateLimit}},
		"API rate 0":          {with("COMANDA_API_RATE", "0"), []string{apiRate}},
		"API rate too high":   {with("COMANDA_API_RATE", "100001"), []string{apiRate}},
		"website rate 0": {
			with("COMANDA_WEBSITE_RATE", "0"), []string{"COMANDA_WEBSITE_RATE: must be from 1 to 100000"},
		},
		"website burst 0": {
			with("COMANDA_WEBSITE_BURST", "0"), []string{"COMANDA_WEBSITE_BURST: must be from 1 to 100000"},
		},
		"API burst 0":        {with("COMANDA_API_BURST", "0"), []string{apiBurst}},
		"API burst too high": {with("COMANDA_API_BURST", "100001"), []string{apiBurst}},
		"rate window 0": {
			with("COMANDA_AUTH_RATE_WINDOW", "0s"), []string{"COMANDA_AUTH_RATE_WINDOW: must be a positive duration"},
		},
		"platform OTP": {
			with("COMANDA_PLATFORM_OTP", "on"), []string{`COMANDA_PLATFORM_OTP: "on" must be required or optional`},
		},
		"negative session settings": {
			with("COMANDA_REFRESH_REUSE_LEEWAY", "-1s", "COMANDA_SESSION_MAX_AGE", "-1h"),
			[]string{
				"COMANDA_REFRESH_REUSE_LEEWAY: must not be negative", "COMANDA_SESSION_MAX_AGE: must not be negative",
			},
		},
		"mails without base URL and sender": {with("COMANDA_SMTP_URL", "smtp://localhost"), []string{
			"COMANDA_BASE_URL: must be set if COMANDA_SMTP_URL is set", "COMANDA_SMTP_URL: must name the sender",
		}},
		"log shorter than dead letters": {with("COMANDA_LOG_RETENTION", "719h"), []string{logRetention}},
		"log shorter than watchdog day": {with("COMANDA_WATCHDOG_DAY", "2161h"), []string{logRetention}},
		"audit retention 0":             {with("COMANDA_AUDIT_RETENTION", "0"), []string{auditRetention}},
		"negative audit retention":      {with("COMANDA_AUDIT_RETENTION", "-9600h"), []string{auditRetention}},
		"audit retention too short":     {with("COMANDA_AUDIT_RETENTION", "719h59m59s"), []string{auditRetention}},
		"watchdog 0": {with("COMANDA_WATCHDOG_DAY", "0", "COMANDA_WATCHDOG_DAYS", "0"), []string{
			"COMANDA_WATCHDOG_DAY: must be a positive duration", "COMANDA_WATCHDOG_DAYS: must be from 1 to 365",
		}},
		"UI without scheme": {
			with("COMANDA_TEMPORAL_UI_URL", "localhost:8080"),
			[]string{"COMANDA_TEMPORAL_UI_URL: must be an http or https URL"},
		},
		"certificate without key": {
			with("COMANDA_TLS_CERT", "x.pem"), []string{"COMANDA_TLS_CERT, COMANDA_TLS_KEY: both or neither"},
		},
		"plan window 0":               {with("COMANDA_PLAN_WINDOW", "0s"), []string{planWindow}},
		"plan window with a fraction": {with("COMANDA_PLAN_WINDOW", "1500ms"), []string{planWindow}},
		"plan window of a week":       {with("COMANDA_PLAN_WINDOW", "168h"), []string{planWindow}},
		"unknown burst setting": {
			with("COMANDA_BURST", "on"), []string{`COMANDA_BURST: "on" must be auto or off`},
		},
		"too few connections":          {with("COMANDA_DATABASE_CONNECTIONS", "23"), []string{connections}},
		"reconcile after less than 1s": {with("COMANDA_RECONCILE_AFTER", "999ms"), []string{reconcileAfter}},
		"reconcile after a day":        {with("COMANDA_RECONCILE_AFTER", "24h1s"), []string{reconcileAfter}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(test.environ, API|Worker)
			if err == nil {
				t.Errorf("%s: no error, want %q", name, test.want)
				return
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), "\n"+want) {
					t.Errorf("%s: no line begins with %q in:\n%v", name, want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n"); got != len(test.want) {
				t.Errorf("%s: %d faults, want %d:\n%v", name, got, len(test.want), err)
			}
		})
	}
}

// The stop timeout exceeds the duration of an attempt. Otherwise, another worker would repeat its POST. With the
// default timeout, it is at most 20 s, so that a process with its relay stops within 25 s.
func TestStopTimeoutExceedsAttempt(t *testing.T) {
	t.Parallel()
	for _, timeout := range []string{"1s", "10s", "30s", "1m"} {
		config, err := Load(with("COMANDA_DELIVERY_TIMEOUT", timeout), Worker)
		if err != nil {
			t.Fatal(err)
		}
		policy := activities.DefaultDeliveryPolicy(config.DeliveryTimeout)
		stop, limit := config.stopTimeout(policy), policy.AttemptLimit()
		if limit <= config.DeliveryTimeout || stop <= limit || timeout == "10s" && stop > 20*time.Second {
			t.Errorf("delivery timeout %s, attempt limit %s, stop timeout %s, want ascending values, at most 20s",
				timeout, limit, stop)
		}
		config.StopTimeout = 4 * time.Second
		if got := config.stopTimeout(policy); got != 4*time.Second {
			t.Errorf("configured stop timeout: %s, want 4s", got)
		}
	}
}

func TestLoadSessions(t *testing.T) {
	t.Parallel()
	config, err := Load(with("COMANDA_REFRESH_REUSE_LEEWAY", "10s", "COMANDA_SESSION_MAX_AGE", "0"), API)
	if err != nil || config.RefreshReuseLeeway != 10*time.Second || config.SessionMaxAge != 0 {
		t.Errorf("leeway %v, maximum age %v, %v, want 10s and 0", config.RefreshReuseLeeway, config.SessionMaxAge, err)
	}
}

func TestLoadPlatformOTP(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]requirement{"": required, "required": required, "optional": optional} {
		config, err := Load(with("COMANDA_PLATFORM_OTP", word), API)
		if err != nil || config.PlatformOTP != want {
			t.Errorf("COMANDA_PLATFORM_OTP=%q: got %q, %v, want %q", word, config.PlatformOTP, err, want)
		}
	}
}

func TestLoadBurst(t *testing.T) {
	t.Parallel()
	before := app.ClaimLimits{Burst: 32, BurstAfter: time.Second}
	for word, want := range map[string]app.ClaimLimits{
		"auto": before, "": before, "off": {BurstAfter: time.Second}, "always": {Burst: 32},
	} {
		config, err := Load(with("COMANDA_BURST", word, "COMANDA_RECONCILE_AFTER", "1s"), Worker)
		if err != nil || config.ReconcileAfter != time.Second {
			t.Errorf("COMANDA_BURST=%q: reconcile after %v, %v, want 1s", word, config.ReconcileAfter, err)
		}
		if diff := cmp.Diff(want, config.Burst.limit(before)); diff != "" {
			t.Errorf("COMANDA_BURST=%q: limits (-want +got):\n%s", word, diff)
		}
	}
}

func TestLoadRequiresCertificateForAPI(t *testing.T) {
	t.Parallel()
	environ := with()
	delete(environ, "COMANDA_TRUSTED_PROXIES")
	if _, err := Load(environ, Worker); err != nil {
		t.Errorf("worker without certificate and proxy: %v, want no error", err)
	}
	if _, err := Load(environ, API); err == nil {
		t.Error("API without certificate and proxy: no error, want one")
	}
}

func TestLoadPrefixLists(t *testing.T) {
	t.Parallel()
	config, err := Load(with("COMANDA_EGRESS_ALLOW", "none"), Worker)
	if err != nil || len(config.EgressAllow) != 0 {
		t.Errorf("COMANDA_EGRESS_ALLOW=none: %v, %v, want no prefixes", config.EgressAllow, err)
	}
	if diff := cmp.Diff("10.0.0.0/8", config.TrustedProxies[0].String()); diff != "" {
		t.Errorf("first trusted proxy (-want +got):\n%s", diff)
	}
}

func TestProxiesAreNotAllAddresses(t *testing.T) {
	t.Parallel()
	for list, ok := range map[string]bool{
		"10.0.0.0/8, fd00::/8": true, "0.0.0.0/0": false, "10.0.0.1, ::/0": false, "10.0.0.1/0": false,
	} {
		for _, name := range []string{"COMANDA_PROXY_PROTOCOL", "COMANDA_TRUSTED_PROXIES"} {
			_, err := Load(with(name, list), API)
			named := err != nil && strings.Contains(err.Error(), name+": must not contain all addresses")
			if named == ok || ok && err != nil {
				t.Errorf("%s=%s: got error %v, want none: %t", name, list, err, ok)
			}
		}
	}
}

func TestLoadOrigins(t *testing.T) {
	t.Parallel()
	const list = "https://shop.example.com, https://shop.example.com:8443,http://localhost:5173"
	config, err := Load(with("COMANDA_CORS_ORIGINS", list), API)
	if err != nil {
		t.Fatal(err)
	}
	want := originList{"https://shop.example.com", "https://shop.example.com:8443", "http://localhost:5173"}
	if diff := cmp.Diff(want, config.CORSOrigins); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
	for _, origin := range []string{
		"*", "null", "https://*", "https://*.example.com", "http://shop.example.com", "https://", "https://:8443",
		"https://shop.example.com/", "https://shop.example.com/menu", "https://shop.example.com:443",
		"https://shop.example.com:", "http://localhost:80", "http://localhost.example.com", "https://Shop.example.com",
		"https://user@shop.example.com", "https://shop.example.com?x", "https://shop.example.com#x",
		"shop.example.com", "ftp://localhost", "https://a.test,,https://b.test",
	} {
		_, err := Load(with("COMANDA_CORS_ORIGINS", origin), API)
		if err == nil || !strings.Contains(err.Error(), "\nCOMANDA_CORS_ORIGINS: ") ||
			strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("COMANDA_CORS_ORIGINS=%s: %v, want one fault of that variable", origin, err)
		}
	}
}

func TestLoadProviders(t *testing.T) {
	t.Parallel()
	config, err := Load(with(
		"COMANDA_APPLE_ISSUER", "https://apple.test", "COMANDA_APPLE_JWKS_URL", "https://apple.test/keys"), API)
	if err != nil {
		t.Fatal(err)
	}
	want := map[app.Provider]api.Provider{
		app.ProviderGoogle:   {},
		app.ProviderApple:    {Issuer: "https://apple.test", JWKSURL: "https://apple.test/keys"},
		app.ProviderFacebook: {},
	}
	if diff := cmp.Diff(want, config.providers()); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// The API and the worker read the mail server's URL, and no error contains its password.
func TestLoadSMTP(t *testing.T) {
	t.Parallel()
	const address = "smtp://comanda:geheim@smtp.example.com?from=noreply@example.com"
	for _, parts := range []Part{API, Worker} {
		config, err := Load(with("COMANDA_SMTP_URL", address, "COMANDA_BASE_URL", "https://comanda.example"), parts)
		if err != nil || config.smtp == nil || strings.Contains(fmt.Sprintf("%+v", config), "geheim") {
			t.Errorf("part %v: %v, want a mail server and no visible password", parts, err)
		}
		if config, err = Load(with("COMANDA_SMTP_URL", ""), parts); err != nil || config.smtp != nil {
			t.Errorf("part %v without COMANDA_SMTP_URL: %v, want no mail server", parts, err)
		}
		for _, environ := range []map[string]string{
			with("COMANDA_SMTP_URL", address),
			with("COMANDA_SMTP_URL", address, "COMANDA_BASE_URL", "http://comanda.example"),
			with("COMANDA_SMTP_URL", address+"&tls=none", "COMANDA_BASE_URL", "https://comanda.example"),
		} {
			_, err := Load(environ, parts)
			if err == nil || strings.Contains(err.Error(), "geheim") || strings.Count(err.Error(), "\n") != 1 {
				t.Errorf("part %v: %v, want one fault without the password", parts, err)
			}
		}
	}
}

// Each part of a process needs at least twelve connections. Together the pools have the configured number.
func TestDatabaseConnections(t *testing.T) {
	t.Parallel()
	for _, parts := range []Part{API, Worker} {
		if _, err := Load(with("COMANDA_DATABASE_CONNECTIONS", "11"), parts); err == nil ||
			!strings.Contains(err.Error(), "COMANDA_DATABASE_CONNECTIONS: must be from 12 to 10000") {
			t.Errorf("11 connections: got error %v, want the minimum of 12", err)
		}
		if _, err := Load(with("COMANDA_DATABASE_CONNECTIONS", "12"), parts); err != nil {
			t.Errorf("12 connections: got error %v", err)
		}
	}
	for _, parts := range []Part{API, Worker, API | Worker} {
		config, err := Load(with(), parts)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, pools := range config.pools() {
			for _, pool := range pools {
				sum += pool.Conns
			}
		}
		if sum != 24 {
			t.Errorf("connections of all pools of part %d: got %d, want 24", parts, sum)
		}
	}
}
