package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// Sign returns the value of X-Webhook-Signature: the hex HMAC-SHA256 of
// "{timestamp}.{body}" keyed with the subscription's secret (spec, Signing and
// verification). The timestamp is in Unix seconds.
func Sign(secret Secret, timestamp int64, body []byte) string {
	return hex.EncodeToString(digest(secret, strconv.FormatInt(timestamp, 10), body))
}

// SignStandard returns the value of webhook-signature as Standard Webhooks define it:
// "v1," and the base64 HMAC-SHA256 of "{id}.{timestamp}.{body}", keyed with the bytes of
// the same secret (contract §4).
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

// SignatureTime returns the time that an attempt is signed with: the event's for an
// attempt that begins at most a minute after it, else the attempt's own, since a
// receiver refuses what is older than 300 s (contract §0, deviation 1).
func SignatureTime(event, attempt time.Time) time.Time {
	if attempt.Sub(event) <= time.Minute {
		return event
	}
	return attempt
}
