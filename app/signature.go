package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// Sign returns the value of X-Webhook-Signature: the hex HMAC-SHA256 of "{timestamp}.{body}", keyed with the
// subscription's secret (docs/behaviour.md#signatures). The timestamp is in Unix seconds.
func Sign(secret Secret, timestamp int64, body []byte) string {
	return hex.EncodeToString(digest(secret, strconv.FormatInt(timestamp, 10), body))
}

// SignStandard returns one signature for the header webhook-signature of Standard Webhooks: "v1," and the base64
// HMAC-SHA256 of "{id}.{timestamp}.{body}", keyed with the bytes of the secret (docs/behaviour.md#signatures). The
// timestamp is in Unix seconds.
func SignStandard(secret Secret, id EventID, timestamp int64, body []byte) string {
	prefix := string(id) + "." + strconv.FormatInt(timestamp, 10)
	return "v1," + base64.StdEncoding.EncodeToString(digest(secret, prefix, body))
}

func digest(secret Secret, prefix string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(prefix + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// SignatureTime returns the timestamp with which an attempt is signed: the event's time if the attempt begins at most a
// minute before or after it, otherwise the attempt's own time. Receivers reject timestamps that are more than 300 s old
// or in the future (docs/behaviour.md#timestamp-of-retries). The clock of the process that made the event can be ahead.
func SignatureTime(event, attempt time.Time) time.Time {
	if attempt.Sub(event).Abs() <= time.Minute {
		return event
	}
	return attempt
}
