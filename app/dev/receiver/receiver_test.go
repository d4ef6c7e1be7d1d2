package receiver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

const event = `{"id":"evt_1","type":"order.created","storeId":"sto_1","data":{"orderId":"1042","totalMinor":1850,"currency":"EUR","reason":"","items":[]}}`

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sign returns the spec's signature, written out once more.
func sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return hex.EncodeToString(mac.Sum(nil))
}

// post sends a request to a receiver that knows a secret and returns its answer and the line it printed.
func post(t *testing.T, target, timestamp, signature, body string) (status int, line string) {
	t.Helper()
	var out bytes.Buffer
	handler := Handler(Options{
		Secret: "secret",
		Out:    &out,
		Now:    func() time.Time { return now },
	})
	request := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	request.Header.Set("X-Webhook-Timestamp", timestamp)
	request.Header.Set("X-Webhook-Signature", signature)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed %q, want one line", out.String())
	}
	return recorder.Code, out.String()
}

func TestVerification(t *testing.T) {
	t.Parallel()
	at := func(offset time.Duration) string { return strconv.FormatInt(now.Add(offset).Unix(), 10) }
	for name, test := range map[string]struct {
		timestamp, secret, body string
		status                  int
		line                    string
	}{
		"genuine":           {at(0), "secret", event, 204, "order.created          evt_1  orderId=1042  totalMinor=1850  currency=EUR  ✓ verified"},
		"unknown secret":    {at(0), "guess", event, 401, "✗ X-Webhook-Signature does not match"},
		"just old enough":   {at(-300 * time.Second), "secret", event, 204, "✓"},
		"too old":           {at(-301 * time.Second), "secret", event, 401, "✗ X-Webhook-Timestamp is 5m1s off"},
		"just early enough": {at(300 * time.Second), "secret", event, 204, "✓"},
		"too early":         {at(301 * time.Second), "secret", event, 401, "✗ X-Webhook-Timestamp is 5m1s off"},
		"no timestamp":      {"", "secret", event, 401, "✗ X-Webhook-Timestamp is missing"},
		"not JSON":          {at(0), "secret", "hello", 204, "a body of 5 bytes that is no event  ✓"},
		"steering":          {at(0), "secret", "{\"type\":\"\\u001b[2Jx\"}", 204, "[2Jx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, line := post(t, Path, test.timestamp, sign(test.secret, test.timestamp, test.body), test.body)
			if status != test.status || !strings.Contains(line, test.line) || strings.ContainsRune(line, '\x1b') {
				t.Errorf("answered %d %q, want %d %q", status, line, test.status, test.line)
			}
		})
	}
}

func TestForgeries(t *testing.T) {
	t.Parallel()
	timestamp := strconv.FormatInt(now.Unix(), 10)
	genuine := sign("secret", timestamp, event)
	for name, test := range map[string]struct{ timestamp, signature, body string }{
		"no signature":      {timestamp, "", event},
		"not hexadecimal":   {timestamp, "zz", event},
		"cut short":         {timestamp, genuine[:32], event},
		"another body":      {timestamp, genuine, event + " "},
		"another timestamp": {strconv.FormatInt(now.Unix()+1, 10), genuine, event},
		"unsigned":          {timestamp, sign("", timestamp, event), event},
	} {
		if status, line := post(t, Path, test.timestamp, test.signature, test.body); status != http.StatusUnauthorized {
			t.Errorf("%s: answered %d %q", name, status, line)
		}
	}
}

func TestTroubleOnRequest(t *testing.T) {
	t.Parallel()
	timestamp := strconv.FormatInt(now.Unix(), 10)
	for query, want := range map[string]int{
		"?fail=503": 503, "?fail=200": 200, "?fail=99": 400, "?fail=": 400, "?hang=1ms": 204, "?hang=1ms&fail=500": 500, "?hang=long": 400,
	} {
		if status, line := post(t, Path+query, timestamp, sign("secret", timestamp, event), event); status != want {
			t.Errorf("%s: answered %d %q, want %d", query, status, line, want)
		}
	}
}

func TestHangEndsWithTheSender(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, Path+"?hang=1h", nil)
	if _, err := misbehave(request); err != nil {
		t.Error(err)
	}
}

func TestLargeBody(t *testing.T) {
	t.Parallel()
	if status, _ := post(t, Path, "", "", strings.Repeat("x", maxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d", status)
	}
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	handler := Handler(Options{})
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, Path, http.StatusMethodNotAllowed},
		{http.MethodPost, "/", http.StatusNotFound},
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(test.method, test.path, nil))
		if recorder.Code != test.want {
			t.Errorf("%s %s answered %d, want %d", test.method, test.path, recorder.Code, test.want)
		}
	}
}
