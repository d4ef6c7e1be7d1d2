package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// tolerance is how far a request's timestamp may be from now (spec, Signing and verification).
const tolerance = 300 * time.Second

// verify returns why a request is not to be believed, nil if it was signed with the secret a short while ago. The body
// is the raw one, since the signature covers its very bytes.
func verify(header http.Header, body []byte, secret string, now time.Time) error {
	timestamp := header.Get("X-Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return errors.New("X-Webhook-Timestamp is missing or no number")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > tolerance {
		return fmt.Errorf("X-Webhook-Timestamp is %v off, more than %v", age.Abs().Round(time.Second), tolerance)
	}
	signature, err := hex.DecodeString(header.Get("X-Webhook-Signature"))
	if err != nil || len(signature) == 0 {
		return errors.New("X-Webhook-Signature is missing or not hexadecimal")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	if !hmac.Equal(signature, mac.Sum(nil)) {
		return errors.New("X-Webhook-Signature does not match")
	}
	return nil
}
