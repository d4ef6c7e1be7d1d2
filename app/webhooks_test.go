package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	schedule, err := app.ParseRetrySchedule("30s,5m, 30m,2h,6h")
	if err != nil {
		t.Fatal(err)
	}
	want := app.RetrySchedule{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
	if diff := cmp.Diff(want, schedule); diff != "" || schedule.Attempts() != 6 {
		t.Errorf("schedule with %d attempts, want 6 (-want +got):\n%s", schedule.Attempts(), diff)
	}
	for attempt, want := range map[int]time.Duration{0: 0, 1: 30 * time.Second, 5: 6 * time.Hour, 6: 0, 7: 0} {
		if got, more := schedule.Delay(attempt); got != want || more != (want > 0) {
			t.Errorf("delay after attempt %d: %s, %v, want %s, %v", attempt, got, more, want, want > 0)
		}
	}
	for _, bad := range []string{"", "30", "0s", "-1s", "30s,,5m", "soon", strings.Repeat("1s,", 20) + "1s"} {
		if _, err := app.ParseRetrySchedule(bad); err == nil {
			t.Errorf("ParseRetrySchedule(%q) succeeded, want an error", bad)
		}
	}
}

func TestCheckWebhookURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com":                        "",
		"https://example.com:8443/a/b?c=d":           "",
		"https://[2001:db8::1]/hook":                 "",
		"HTTPS://EXAMPLE.COM/":                       "",
		"http://example.com":                         "must be an https URL",
		"ftp://example.com":                          "must be an https URL",
		"":                                           "must be an https URL",
		"example.com":                                "must be an https URL",
		"https://":                                   "must have a host",
		"https:example.com":                          "must have a host",
		"https://:443/":                              "must have a host",
		"https://user@example.com":                   "must not contain a user name or password",
		"https://user:password@example.com":          "must not contain a user name or password",
		"https://example.com/#fragment":              "must not have a fragment",
		"https://example.com/#":                      "must not have a fragment",
		"https://example.com/a b":                    "must be a URL",
		"https://example.com/\r\nX-Evil: 1":          "must be a URL",
		"https://exa%mple.com":                       "must be a URL",
		"https://example.com:port/":                  "must be a URL",
		"https://example.com:0/":                     "must have no port or a port from 1 to 65535",
		"https://example.com:65536/":                 "must have no port or a port from 1 to 65535",
		"https://example.com:65535/":                 "",
		"https://example.com:/":                      "",
		"https://e.com/" + strings.Repeat("a", 2048): "must have at most 2048 characters",
	} {
		got := ""
		if err := app.CheckWebhookURL(url); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", url, got, want)
		}
	}
}
