package app_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// vector is an entry of testdata/signatures.json. Receivers in any language can test against it.
type vector struct {
	Name      string      `json:"name"`
	Secret    string      `json:"secret"`
	ID        app.EventID `json:"id"`
	Timestamp int64       `json:"timestamp"`
	Body      string      `json:"body"`
	Signature string      `json:"xWebhookSignature"`
	Standard  string      `json:"webhookSignature"`
}

func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 5 {
		t.Fatalf("%d vectors, want at least 5", len(vectors))
	}
	for _, v := range vectors {
		secret := app.NewSecret(v.Secret)
		if got := app.Sign(secret, v.Timestamp, []byte(v.Body)); got != v.Signature {
			t.Errorf("%s: signature %s, want %s", v.Name, got, v.Signature)
		}
		if got := app.SignStandard(secret, v.ID, v.Timestamp, []byte(v.Body)); got != v.Standard {
			t.Errorf("%s: standard signature %s, want %s", v.Name, got, v.Standard)
		}
	}
}

// A signature changes with the secret, the timestamp and each byte of the body.
func FuzzSign(f *testing.F) {
	f.Add("0123456789abcdef0123456789abcdef", int64(1773489600), []byte(`{"id":"evt_1"}`))
	f.Add("", int64(-1), []byte{})
	f.Fuzz(func(t *testing.T, secret string, timestamp int64, body []byte) {
		key := app.NewSecret(secret)
		signature := app.Sign(key, timestamp, body)
		if len(signature) != 64 || signature != app.Sign(key, timestamp, append([]byte{}, body...)) {
			t.Fatalf("signature %q, want the same 64 characters for the same input", signature)
		}
		if signature == app.Sign(app.NewSecret(secret+"x"), timestamp, body) ||
			signature == app.Sign(key, timestamp+1, body) ||
			signature == app.Sign(key, timestamp, append([]byte{'x'}, body...)) {
			t.Fatal("different requests have the same signature")
		}
	})
}

func TestSignatureTime(t *testing.T) {
	t.Parallel()
	event := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{
		0: 0, time.Minute: 0, time.Minute + time.Millisecond: time.Minute + time.Millisecond,
		8 * time.Hour: 8 * time.Hour,
		// the clock of the event's process is ahead
		-time.Minute: 0, -6 * time.Minute: -6 * time.Minute,
	} {
		if got := app.SignatureTime(event, event.Add(after)); !got.Equal(event.Add(want)) {
			t.Errorf("signature time of an attempt %s after the event: event + %s, want event + %s",
				after, got.Sub(event), want)
		}
	}
}
