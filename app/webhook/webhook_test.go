package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/webhook"
)

const (
	secret = "a secret of 32 characters or more"
	other  = "another secret, just as long as that"
	body   = `{"id":"evt_1","type":"order.created","storeId":"sto_1",` +
		`"timestamp":"2026-03-14T12:00:00.250Z","data":{"totalMinor":1900}}`
)

var now = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func verifier(t testing.TB, secrets ...string) *webhook.Verifier {
	t.Helper()
	v, err := webhook.New(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	v.Now = func() time.Time { return now }
	return v
}

// spec returns headers with X-Webhook-Signature.
func spec(secret string, at time.Time, body string) http.Header {
	return http.Header{
		"X-Webhook-Id":        {"evt_1"},
		"X-Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"X-Webhook-Signature": {app.Sign(app.NewSecret(secret), at.Unix(), []byte(body))},
	}
}

// standard returns headers with a signature of Standard Webhooks.
func standard(secret string, at time.Time, body string) http.Header {
	return http.Header{
		"Webhook-Id":        {"evt_1"},
		"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {app.SignStandard(app.NewSecret(secret), "evt_1", at.Unix(), []byte(body))},
	}
}

// with returns a copy of header with the given pairs of name and value. The value "-" removes the header.
func with(header http.Header, pairs ...string) http.Header {
	header = header.Clone()
	for pair := range slices.Chunk(pairs, 2) {
		header.Set(pair[0], pair[1])
		if pair[1] == "-" {
			header.Del(pair[0])
		}
	}
	return header
}

func join(a, b http.Header) http.Header {
	a = a.Clone()
	for name, values := range b {
		a[name] = values
	}
	return a
}

func TestVerify(t *testing.T) {
	t.Parallel()
	ours, std := spec(secret, now, body), standard(secret, now, body)
	hex, signature := ours.Get("X-Webhook-Signature"), std.Get("Webhook-Signature")
	const id, at = "X-Webhook-Id", "X-Webhook-Timestamp"
	const unknownType = `{"id":"evt_1","type":"new.type"}`
	unknown := strings.Repeat("x", 32) // a secret that the verifier does not have
	nextSecond := strconv.FormatInt(now.Unix()+1, 10)
	for name, test := range map[string]struct {
		header http.Header
		body   string
		want   error
	}{
		"genuine":                   {ours, body, nil},
		"second secret":             {spec(other, now, body), body, nil},
		"upper-case signature":      {with(ours, "X-Webhook-Signature", strings.ToUpper(hex)), body, nil},
		"unknown secret":            {spec(unknown, now, body), body, webhook.ErrSignature},
		"empty secret":              {spec("", now, body), body, webhook.ErrSignature},
		"modified body":             {ours, body + " ", webhook.ErrSignature},
		"modified timestamp":        {with(ours, at, nextSecond), body, webhook.ErrSignature},
		"truncated signature":       {with(ours, "X-Webhook-Signature", hex[:32]), body, webhook.ErrSignature},
		"signature not hexadecimal": {with(ours, "X-Webhook-Signature", "zz"), body, webhook.ErrSignature},
		"empty signature":           {with(ours, "X-Webhook-Signature", ""), body, webhook.ErrSignature},
		"300 s old":                 {spec(secret, now.Add(-300*time.Second), body), body, nil},
		"301 s old":                 {spec(secret, now.Add(-301*time.Second), body), body, webhook.ErrStale},
		"300 s early":               {spec(secret, now.Add(300*time.Second), body), body, nil},
		"301 s early":               {spec(secret, now.Add(301*time.Second), body), body, webhook.ErrStale},
		"largest timestamp":         {spec(secret, time.Unix(1<<62, 0), body), body, webhook.ErrStale},
		"forged and old":            {spec("", now.Add(-time.Hour), body), body, webhook.ErrSignature},
		"no headers":                {http.Header{}, body, webhook.ErrMissingHeader},
		"no timestamp":              {with(ours, at, "-"), body, webhook.ErrMissingHeader},
		"timestamp not a number":    {with(ours, at, "noon"), body, webhook.ErrMissingHeader},
		"no id header":              {with(ours, id, "-"), body, nil},
		"empty body":                {spec(secret, now, ""), "", webhook.ErrMalformed},
		"not JSON":                  {spec(secret, now, "hello"), "hello", webhook.ErrMalformed},
		"not an event":              {spec(secret, now, "{}"), "{}", webhook.ErrMalformed},
		"two events":                {spec(secret, now, body+body), body + body, webhook.ErrMalformed},
		"unknown type":              {spec(secret, now, unknownType), unknownType, nil},
		"standard":                  {std, body, nil},
		"standard, second secret":   {standard(other, now, body), body, nil},
		"standard, many signatures": {with(std, "Webhook-Signature", "v1a,AAAA v1,AAAA "+signature+" v1,"), body, nil},
		"standard, no match": {
			with(std, "Webhook-Signature", "v1,AAAA "+strings.Replace(signature, "v1,", "v2,", 1)), body,
			webhook.ErrSignature,
		},
		"standard, modified id":   {with(std, "Webhook-Id", "evt_2"), body, webhook.ErrSignature},
		"standard, no id":         {with(std, "Webhook-Id", "-"), body, webhook.ErrMissingHeader},
		"standard, no timestamp":  {with(std, "Webhook-Timestamp", "-"), body, webhook.ErrMissingHeader},
		"standard, no signature":  {with(std, "Webhook-Signature", "-"), body, webhook.ErrMissingHeader},
		"standard, too old":       {standard(secret, now.Add(-301*time.Second), body), body, webhook.ErrStale},
		"standard, too early":     {standard(secret, now.Add(301*time.Second), body), body, webhook.ErrStale},
		"standard, modified body": {std, body + " ", webhook.ErrSignature},
		"both":                    {join(ours, std), body, nil},
		"both, only standard matches": {
			join(spec(unknown, now, body), with(std, "Webhook-Signature", "v1,AAAA "+signature)), body, nil,
		},
		"both, ours is empty":     {with(join(ours, std), "X-Webhook-Signature", ""), body, nil},
		"both, no match":          {join(spec("", now, body), standard("", now, body)), body, webhook.ErrSignature},
		"both, only ours matches": {join(ours, standard("", now, body)), body, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verifier(t, secret, other)
			event, err := v.VerifyBody(test.header, []byte(test.body))
			if !errors.Is(err, test.want) || (err == nil) != (event.ID == "evt_1") {
				t.Errorf("VerifyBody: %+v, %v, want %v", event, err, test.want)
			}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			r.Header = test.header
			if _, again := v.Verify(r); fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("Verify: %v, want %v as from VerifyBody", again, err)
			}
			if raw, err := io.ReadAll(r.Body); err != nil || string(raw) != test.body {
				t.Errorf("body after Verify: %q, %v, want %q", raw, err, test.body)
			}
		})
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	event, err := verifier(t, secret).VerifyBody(spec(secret, now, body), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := webhook.Event{
		ID: "evt_1", Type: webhook.OrderCreated, StoreID: "sto_1", Timestamp: now.Add(250 * time.Millisecond),
		Data: json.RawMessage(`{"totalMinor":1900}`),
	}
	if diff := cmp.Diff(want, event); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// The tests of the signing code use the same vectors.
func TestVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Secret, ID, Body              string
		Timestamp                           int64
		XWebhookSignature, WebhookSignature string
	}
	if err := json.Unmarshal(file, &vectors); err != nil || len(vectors) < 5 {
		t.Fatalf("%d vectors, %v, want at least 5", len(vectors), err)
	}
	for _, vector := range vectors {
		v := verifier(t, other, vector.Secret)
		v.Now = func() time.Time { return time.Unix(vector.Timestamp, 0) }
		timestamp := []string{strconv.FormatInt(vector.Timestamp, 10)}
		for _, header := range []http.Header{
			{"X-Webhook-Timestamp": timestamp, "X-Webhook-Signature": {vector.XWebhookSignature}},
			{"Webhook-Timestamp": timestamp, "Webhook-Id": {vector.ID}, "Webhook-Signature": {vector.WebhookSignature}},
		} {
			// Some bodies are not events. ErrMalformed implies that the signature matched.
			if _, err := v.VerifyBody(header, []byte(vector.Body)); err != nil &&
				!errors.Is(err, webhook.ErrMalformed) {
				t.Errorf("%s: %v, want a matching signature", vector.Name, err)
			}
			if _, err := v.VerifyBody(header, []byte(vector.Body+"x")); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, modified body: %v, want %v", vector.Name, err, webhook.ErrSignature)
			}
		}
	}
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	var want []webhook.EventType
	for _, eventType := range app.EventTypes {
		want = append(want, webhook.EventType(eventType))
	}
	if diff := cmp.Diff(want, webhook.EventTypes[:]); diff != "" {
		t.Errorf("event types (-want +got):\n%s", diff)
	}
}

func TestNewChecksSecrets(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string][]string{
		"no secret": nil, "empty secret": {""}, "31 characters": {strings.Repeat("é", 31)},
		"second secret too short": {secret, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := webhook.New(secrets...); err == nil || v != nil {
				t.Errorf("%s: %v, %v, want an error", name, v, err)
			}
		})
	}
	if _, err := webhook.New(strings.Repeat("é", 32)); err != nil {
		t.Errorf("32 characters: %v, want no error", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	v := verifier(t, secret)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for _, value := range []any{v, *v, struct{ V *webhook.Verifier }{v}} {
			printed := fmt.Sprintf(format, value)
			for _, leak := range []string{
				secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%d", []byte(secret)),
				base64.StdEncoding.EncodeToString([]byte(secret)),
			} {
				if strings.Contains(printed, leak) {
					t.Errorf("format %s prints the secret: %s", format, printed)
				}
			}
		}
	}
}

func TestVerifyReadErrors(t *testing.T) {
	t.Parallel()
	v := verifier(t, secret)
	v.MaxBody = int64(len(body))
	post := func(body io.Reader, header http.Header) error {
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.Header = header
		_, err := v.Verify(r)
		return err
	}
	if err := post(strings.NewReader(body), spec(secret, now, body)); err != nil {
		t.Errorf("body of MaxBody bytes: %v, want no error", err)
	}
	err := post(strings.NewReader(body+" "), spec(secret, now, body+" "))
	if !errors.Is(err, webhook.ErrTooLarge) {
		t.Errorf("body of MaxBody+1 bytes: %v, want %v", err, webhook.ErrTooLarge)
	}
	err = post(iotest.ErrReader(io.ErrUnexpectedEOF), spec(secret, now, body))
	if !errors.Is(err, io.ErrUnexpectedEOF) || webhook.Status(err) != 400 {
		t.Errorf("incomplete body: %v with status %d, want %v with 400", err, webhook.Status(err), io.ErrUnexpectedEOF)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		header http.Header
		body   string
		failed error
		want   int
		called bool
	}{
		"genuine":        {"POST", spec(secret, now, body), body, nil, 204, true},
		"receive fails":  {"POST", spec(secret, now, body), body, errors.New("the disk is full"), 500, true},
		"forged":         {"POST", spec(other, now, body), body, nil, 401, false},
		"too old":        {"POST", spec(secret, now.Add(-time.Hour), body), body, nil, 401, false},
		"unsigned":       {"POST", http.Header{}, body, nil, 401, false},
		"not an event":   {"POST", spec(secret, now, "[]"), "[]", nil, 400, false},
		"too large":      {"POST", http.Header{}, strings.Repeat("x", 1<<20+1), nil, 413, false},
		"another method": {"PUT", spec(secret, now, body), body, nil, 405, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []webhook.Event
			handler := verifier(t, secret).Handler(func(_ context.Context, e webhook.Event) error {
				got = append(got, e)
				return test.failed
			})
			r := httptest.NewRequest(test.method, "/", strings.NewReader(test.body))
			r.Header = test.header
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != test.want || (len(got) == 1) != test.called {
				t.Errorf("status %d, events %v, want status %d and receive called: %v",
					w.Code, got, test.want, test.called)
			}
			if response := w.Body.String(); strings.Contains(response, "disk") || strings.Contains(response, secret) {
				t.Errorf("the response %q contains internal details", response)
			}
		})
	}
}

// The verifier accepts a request exactly if it was signed with the secret.
func FuzzVerify(f *testing.F) {
	signature := app.Sign(app.NewSecret(other), now.Unix(), []byte(body))
	f.Add(strconv.FormatInt(now.Unix(), 10), signature, "evt_1", "v1,AAAA", []byte(body))
	f.Add("-9223372036854775808", "", "", "", []byte("{}"))
	f.Fuzz(func(t *testing.T, timestamp, signature, id, signatures string, body []byte) {
		v := verifier(t, secret)
		for _, header := range []http.Header{
			{"X-Webhook-Timestamp": {timestamp}, "X-Webhook-Signature": {signature}},
			{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signatures}},
		} {
			_, err := v.VerifyBody(header, body)
			if !errors.Is(err, webhook.ErrSignature) && !errors.Is(err, webhook.ErrMissingHeader) {
				t.Fatalf("unsigned request with %q: %v, want %v or %v",
					header, err, webhook.ErrSignature, webhook.ErrMissingHeader)
			}
		}
		for _, header := range []http.Header{spec(secret, now, string(body)), standard(secret, now, string(body))} {
			if _, err := v.VerifyBody(header, body); err != nil && !errors.Is(err, webhook.ErrMalformed) {
				t.Fatalf("signed request: %v, want no error or %v", err, webhook.ErrMalformed)
			}
		}
	})
}
