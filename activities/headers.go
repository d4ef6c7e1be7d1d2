package activities

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Headers returns the headers of an attempt that begins at at: Comanda's, those of Standard Webhooks
// (docs/behaviour.md#signatures) and the webhook's own, which cannot replace others. A test has no position and no
// resource.
func Headers(outgoing app.Outgoing, at time.Time) http.Header {
	seconds := app.SignatureTime(outgoing.EventAt, at).Unix()
	timestamp := strconv.FormatInt(seconds, 10)
	headers := http.Header{}
	for name, value := range outgoing.Headers {
		headers.Set(name, value.Reveal())
	}
	maps.Copy(headers, http.Header{
		"Content-Type":        {"application/json"},
		"User-Agent":          {UserAgent},
		"X-Webhook-Id":        {string(outgoing.EventID)},
		"X-Webhook-Timestamp": {timestamp},
		"X-Webhook-Signature": {app.Sign(outgoing.Secret, seconds, outgoing.Body)},
		"Webhook-Id":          {string(outgoing.EventID)},
		"Webhook-Timestamp":   {timestamp},
		"Webhook-Signature":   {standardSignatures(outgoing, seconds)},
	})
	if outgoing.Position != 0 {
		headers.Set("X-Webhook-Position", strconv.FormatInt(outgoing.Position, 10))
	}
	if outgoing.Resource != "" {
		headers.Set("X-Webhook-Resource", outgoing.Resource)
	}
	return headers
}

// standardSignatures returns the value of webhook-signature: the signature with the secret and, during an overlap, the
// signature with the previous secret.
func standardSignatures(outgoing app.Outgoing, seconds int64) string {
	signatures := app.SignStandard(outgoing.Secret, outgoing.EventID, seconds, outgoing.Body)
	if outgoing.PreviousSecret.Len() > 0 {
		signatures += " " + app.SignStandard(outgoing.PreviousSecret, outgoing.EventID, seconds, outgoing.Body)
	}
	return signatures
}
