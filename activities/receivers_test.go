package activities

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/webhook"
)

// Package webhook and the library of Standard Webhooks verify requests. The library expects keys in base64 with the
// prefix "whsec_". Both reject other secrets and bodies.
func TestReceiversVerifyRequests(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{
		"plain":             "a secret of 32 characters or more",
		"every script":      "ключ-مفتاح-鍵-kkkkkkkkkkkkkkkkkkkk",
		"with their prefix": "whsec_0123456789abcdef0123456789abcdef",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var header http.Header
			var body []byte
			e, url := receiver(t, time.Minute, func(_ http.ResponseWriter, r *http.Request) {
				header = r.Header
				var err error
				if body, err = io.ReadAll(r.Body); err != nil {
					t.Error(err)
				}
			})
			data := map[string]string{"name": "Zoë <3 寿司"}
			event, err := app.NewEvent(app.EventOrderCreated, "sto_1", time.Now(), data)
			if err != nil {
				t.Fatal(err)
			}
			out := outgoing(url)
			out.EventID, out.EventAt, out.Body, out.Secret = event.ID, time.Now(), event.Body, app.NewSecret(secret)
			d := newDeliveries(e, &memory{outgoing: out})
			d.now = time.Now
			result, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1})
			if err != nil || result.Outcome != OutcomeDelivered {
				t.Fatalf("Deliver: %+v, %v, want %s", result, err, OutcomeDelivered)
			}

			theirs := func(secret string) *standardwebhooks.Webhook {
				key := "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))
				library, err := standardwebhooks.NewWebhook(key)
				if err != nil {
					t.Fatal(err)
				}
				return library
			}
			ours := func(secret string) *webhook.Verifier {
				verifier, err := webhook.New(secret)
				if err != nil {
					t.Fatal(err)
				}
				return verifier
			}
			foreign, tampered := strings.Repeat("x", 32), append(body[:len(body):len(body)], ' ')
			if err := theirs(secret).Verify(body, header); err != nil {
				t.Errorf("the library rejects a genuine request: %v", err)
			}
			if theirs(foreign).Verify(body, header) == nil || theirs(secret).Verify(tampered, header) == nil {
				t.Error("the library accepts another secret or body")
			}
			// both kinds of headers, then Standard Webhooks only
			for _, only := range []string{"", "X-Webhook-Signature"} {
				header.Del(only)
				got, err := ours(secret).VerifyBody(header, body)
				if err != nil || got.ID != string(event.ID) || got.Type != webhook.OrderCreated ||
					got.StoreID != "sto_1" || !got.Timestamp.Equal(event.At.Time) {
					t.Errorf("verification without %q: %+v, %v, want the event", only, got, err)
				}
				if _, err := ours(foreign).VerifyBody(header, body); err == nil {
					t.Error("verification with another secret succeeded")
				}
				if _, err := ours(secret).VerifyBody(header, tampered); err == nil {
					t.Error("verification of another body succeeded")
				}
			}
		})
	}
}

// During an overlap, receivers with the new or with the previous secret accept a request.
func TestReceiversVerifyDuringRotation(t *testing.T) {
	t.Parallel()
	out := outgoing("")
	out.EventAt, out.PreviousSecret, out.Secret = time.Now(), out.Secret, app.NewSecret(strings.Repeat("n", 32))
	header := Headers(out, time.Now())
	for secret, verifies := range map[string]bool{
		out.Secret.Reveal(): true, out.PreviousSecret.Reveal(): true, strings.Repeat("x", 32): false,
	} {
		library, err := standardwebhooks.NewWebhook(base64.StdEncoding.EncodeToString([]byte(secret)))
		if err != nil {
			t.Fatal(err)
		}
		if err := library.Verify(out.Body, header); (err == nil) != verifies {
			t.Errorf("secret %.1s…: %v, want accepted: %v", secret, err, verifies)
		}
	}
}
