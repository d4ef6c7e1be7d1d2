package receiver

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/webhook"
)

const (
	secret = "0123456789abcdef0123456789abcdef"
	event  = `{"id":"evt_1","type":"order.created","storeId":"sto_1","data":{"totalMinor":1850}}`
)

// post sends an event signed with a key. It returns the status of the response and the printed line.
func post(t *testing.T, r *http.Request, key string) (status int, line string) {
	t.Helper()
	verifier, err := webhook.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	r.Header.Set("X-Webhook-Timestamp", strconv.FormatInt(now, 10))
	r.Header.Set("X-Webhook-Signature", app.Sign(app.NewSecret(key), now, []byte(event)))
	var out bytes.Buffer
	recorder := httptest.NewRecorder()
	Handler(listen.Options{Verifier: verifier, Out: &out}).ServeHTTP(recorder, r)
	return recorder.Code, out.String()
}

func TestSimulatedFailures(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]int{
		"": 204, "?fail=503": 503, "?fail=200": 200, "?fail=99": 400, "?fail=": 400,
		"?hang=1ms": 204, "?hang=1ms&fail=500": 500, "?hang=long": 400,
	} {
		t.Run("?"+query, func(t *testing.T) {
			status, line := post(t, httptest.NewRequest(http.MethodPost, Path+query, strings.NewReader(event)), secret)
			if status != want || !strings.Contains(line, "order.created          evt_1  totalMinor=1850  ✓ verified") {
				t.Errorf("%s: got status %d and line %q, want status %d", query, status, line, want)
			}
			if shown := strings.HasSuffix(line, " "+strconv.Itoa(want)+"\n"); shown != (want != http.StatusNoContent) {
				t.Errorf("%s: got line %q, want it to end with the status unless that is 204", query, line)
			}
		})
	}
}

func TestWrongSignature(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest(http.MethodPost, Path+"?fail=503", strings.NewReader(event))
	status, line := post(t, request, strings.Repeat("x", 32))
	if status != http.StatusUnauthorized || !strings.Contains(line, "✗ the signature does not match") {
		t.Errorf("got status %d and line %q, want 401", status, line)
	}
}

func TestHangEndsWithConnection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, Path+"?hang=1h", strings.NewReader(event))
	if status, line := post(t, request, secret); status != http.StatusNoContent {
		t.Errorf("got status %d and line %q, want 204", status, line)
	}
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, Path, http.StatusMethodNotAllowed},
		{http.MethodPost, "/", http.StatusNotFound},
	} {
		status, line := post(t, httptest.NewRequest(test.method, test.path, strings.NewReader(event)), secret)
		if status != test.want || line != "" {
			t.Errorf("%s %s: got status %d and line %q, want %d", test.method, test.path, status, line, test.want)
		}
	}
}
