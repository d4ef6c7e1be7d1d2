package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestWebhookHeaderNames(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"Authorization": true, "X-API-Key": true, "x": true, "Cookie": true, "Accept": true, "X-Content-Kind": true,
		"!#$%&'*+-.^_`|~09azAZ": true, strings.Repeat("x", 100): true, "Webhook": true, "X-Forward": true, "Dates": true,
		"": false, "X Y": false, "X:": false, "X\n": false, "Ü": false, strings.Repeat("x", 101): false, ":path": false,
		"Host": false, "content-type": false, "Content-Length": false, "USER-AGENT": false, "X-Webhook-Id": false,
		"webhook-signature": false, "Idempotency-Key": false, "X-Idempotency-Key": false, "Accept-Encoding": false,
		"Expect": false, "Date": false, "Forwarded": false, "X-Forwarded-For": false, "X-Forwarded-Host": false,
		"Via": false, "Traceparent": false, "TraceState": false, "baggage": false, "Connection": false,
		"Keep-Alive": false, "TE": false, "Trailer": false, "Transfer-Encoding": false, "Upgrade": false,
		"Proxy-Authorization": false, "Proxy-Connection": false,
	} {
		t.Run(name, func(t *testing.T) {
			if faults := (app.WebhookHeaders{name: app.NewSecret("value")}).Check(); (len(faults) == 0) != valid {
				t.Errorf("got %v, want valid %t", faults, valid)
			}
		})
	}
}

func TestWebhookHeaderValues(t *testing.T) {
	t.Parallel()
	for value, valid := range map[string]bool{
		"Bearer abc": true, "x": true, "a  b": true, "~!": true, strings.Repeat("x", 1000): true,
		"": false, " x": false, "x ": false, "a\tb": false, "a\r\nX: y": false, "ü": false, "a\x7f": false,
		"a\x00": false, strings.Repeat("x", 1001): false, "x\n": false,
	} {
		t.Run(fmt.Sprintf("%.20q", value), func(t *testing.T) {
			faults := app.WebhookHeaders{"Authorization": app.NewSecret(value)}.Check()
			if (len(faults) == 0) != valid {
				t.Errorf("got %v, want valid %t", faults, valid)
			}
			if text := fmt.Sprint(faults); len(value) > 3 && strings.Contains(text, value) {
				t.Errorf("the faults contain the value: %s", text)
			}
		})
	}
}

func TestWebhookHeadersTogether(t *testing.T) {
	t.Parallel()
	many := app.WebhookHeaders{}
	for i := range 11 {
		many[fmt.Sprint("X-", i)] = app.NewSecret("value")
	}
	for name, c := range map[string]struct {
		headers app.WebhookHeaders
		want    []string // paths of the faults
	}{
		"none":  {nil, nil},
		"many":  {many, []string{"headers"}},
		"cases": {app.WebhookHeaders{"X-Key": app.NewSecret("a"), "x-key": app.NewSecret("b")}, []string{"headers.x-key"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, fault := range c.headers.Check() {
				got = append(got, fault.Path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWebhookHeadersAreEncoded(t *testing.T) {
	t.Parallel()
	want := app.WebhookHeaders{"Authorization": app.NewSecret(`Bearer "<&>"`), "X-Key": app.NewSecret("1")}
	got, err := app.DecodeWebhookHeaders(want.Encode())
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %d headers, %v, want %d", len(got), err, len(want))
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("value of %s: got %q, want %q", name, got[name].Reveal(), value.Reveal())
		}
	}
	if _, err := app.DecodeWebhookHeaders(app.NewSecret("a secret")); err == nil ||
		strings.Contains(err.Error(), "a secret") {
		t.Errorf("malformed headers: got %v, want an error without their text", err)
	}
}

func TestSameOrigin(t *testing.T) {
	t.Parallel()
	const base = "https://example.com/hook"
	for other, same := range map[string]bool{
		base: true, "https://EXAMPLE.com:443/other?x=1": true, "https://example.com:8443/hook": false,
		"https://example.com.evil.example/hook": false, "https://hooks.example.com/hook": false,
	} {
		t.Run(other, func(t *testing.T) {
			if got := app.SameOrigin(base, other); got != same {
				t.Errorf("got %t, want %t", got, same)
			}
		})
	}
}
