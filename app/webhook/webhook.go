package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Why a request is refused. Errors are compared with [errors.Is]; they say more, and never
// a secret.
var (
	ErrTooLarge      = errors.New("webhook: the body is too large")
	ErrMissingHeader = errors.New("webhook: a header is missing or unreadable")
	ErrSignature     = errors.New("webhook: the signature does not match")
	// ErrStale is about a request with a matching signature: somebody sends it again, or
	// one of the clocks is wrong.
	ErrStale = errors.New("webhook: the timestamp is too far from now")
	// ErrMalformed is about a genuine request whose body is no event.
	ErrMalformed = errors.New("webhook: the body is not an event")
)

// minSecret is how many characters a webhook's secret has at least.
const minSecret = 32

// Verifier tells genuine requests from others. Its fields may be changed before its first
// use; after that it is safe for concurrent use.
type Verifier struct {
	Tolerance time.Duration    // how far a timestamp may be from now, both ways: 300 s
	MaxBody   int64            // how many bytes a body may have: 1 MiB
	Now       func() time.Time // the clock: time.Now

	secrets [][]byte
}

// New makes a verifier for what is signed with any of the secrets. While a secret is being
// changed, give the new one and the old one. It refuses to go without a secret and with
// one of fewer than 32 characters, which no webhook has: what an unset variable holds
// would let everybody sign.
func New(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("webhook: there is no secret")
	}
	v := &Verifier{Tolerance: 300 * time.Second, MaxBody: 1 << 20, Now: time.Now}
	for i, secret := range secrets {
		if utf8.RuneCountInString(secret) < minSecret {
			return nil, fmt.Errorf("webhook: secret %d of %d has fewer than %d characters", i+1, len(secrets), minSecret)
		}
		v.secrets = append(v.secrets, []byte(secret))
	}
	return v, nil
}

// Format keeps the secrets out of whatever a verifier is printed to.
func (v Verifier) Format(f fmt.State, _ rune) { io.WriteString(f, "webhook.Verifier") }

// Verify reads a request's body and returns its event if the request is genuine. The body
// can be read once more afterwards, unless it was too large or broke off. Besides this
// package's errors it returns those of reading.
func (v *Verifier) Verify(r *http.Request) (Event, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, v.MaxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Event{}, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, v.MaxBody)
	}
	if err != nil {
		return Event{}, fmt.Errorf("webhook: read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return v.VerifyBody(r.Header, body)
}

// VerifyBody returns the event of a request if it is genuine: its timestamp is close to
// now and its signature is that of the timestamp and the body's very bytes.
//
// A request is signed with X-Webhook-Signature, with the headers of Standard Webhooks
// (webhook-id, webhook-timestamp, webhook-signature), or with both, of which one must
// match: while a secret is being changed, only the latter know the old one, too.
func (v *Verifier) VerifyBody(header http.Header, body []byte) (Event, error) {
	claim, err := v.match(header, body)
	if err != nil {
		return Event{}, err
	}
	if off := v.Now().Sub(claim.at).Abs(); off > v.Tolerance {
		return Event{}, fmt.Errorf("%w: %v, more than %v", ErrStale, off.Round(time.Second), v.Tolerance)
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if event.ID == "" || event.Type == "" {
		return Event{}, fmt.Errorf("%w: it has no id or no type", ErrMalformed)
	}
	return event, nil
}

// claim is what a request says of its signature.
type claim struct {
	at         time.Time
	prefix     string   // what is signed before the body
	signatures [][]byte // any of them may match
}

// match returns the claim of a request that a signature proves.
func (v *Verifier) match(header http.Header, body []byte) (claim, error) {
	c, err := read(header)
	if err == nil && !v.signed(c, body) {
		err = ErrSignature
	}
	if err == nil || header.Get("Webhook-Signature") == "" {
		return c, err
	}
	standard, other := readStandard(header)
	if other == nil && v.signed(standard, body) {
		return standard, nil
	}
	if _, ok := header["X-Webhook-Signature"]; !ok && other != nil {
		err = other
	}
	return claim{}, err
}

func read(header http.Header) (claim, error) {
	if _, ok := header["X-Webhook-Signature"]; !ok {
		if header.Get("Webhook-Signature") == "" {
			return claim{}, fmt.Errorf("%w: X-Webhook-Signature", ErrMissingHeader)
		}
		return claim{}, ErrSignature
	}
	timestamp, at, err := timestamp(header, "X-Webhook-Timestamp")
	if err != nil {
		return claim{}, err
	}
	signature, err := hex.DecodeString(header.Get("X-Webhook-Signature"))
	if err != nil {
		return claim{}, fmt.Errorf("%w: X-Webhook-Signature is not hexadecimal", ErrSignature)
	}
	return claim{at, timestamp + ".", [][]byte{signature}}, nil
}

func readStandard(header http.Header) (claim, error) {
	timestamp, at, err := timestamp(header, "Webhook-Timestamp")
	if err != nil {
		return claim{}, err
	}
	id := header.Get("Webhook-Id")
	if id == "" {
		return claim{}, fmt.Errorf("%w: webhook-id", ErrMissingHeader)
	}
	c := claim{at: at, prefix: id + "." + timestamp + "."}
	for part := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		encoded, ok := strings.CutPrefix(part, "v1,")
		if signature, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil {
			c.signatures = append(c.signatures, signature)
		}
	}
	return c, nil
}

// timestamp returns a header of Unix seconds as it stands there, and its time.
func timestamp(header http.Header, name string) (string, time.Time, error) {
	text := header.Get(name)
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("%w: %s", ErrMissingHeader, strings.ToLower(name))
	}
	return text, time.Unix(seconds, 0), nil
}

// signed compares every signature with that of every secret, each in constant time.
func (v *Verifier) signed(c claim, body []byte) bool {
	match := false
	for _, secret := range v.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(c.prefix))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, signature := range c.signatures {
			match = hmac.Equal(signature, want) || match
		}
	}
	return match
}

// Handler receives events: it verifies each POST and calls receive with what is genuine.
// It answers 204 when receive returns nil, 500 otherwise, so that the event comes again
// later, and the [Status] of the error to what it refuses, saying why. Receive should
// return within 5 seconds, and nil for types it does not know.
func (v *Verifier) Handler(receive func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "webhook: send a POST", http.StatusMethodNotAllowed)
			return
		}
		event, err := v.Verify(r)
		if err != nil {
			http.Error(w, err.Error(), Status(err))
			return
		}
		if receive(r.Context(), event) != nil {
			http.Error(w, "webhook: it was not received", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// Status returns what to answer to a request that [Verifier.Verify] refused: 413 for
// [ErrTooLarge], 401 for [ErrMissingHeader], [ErrSignature] and [ErrStale], else 400.
func Status(err error) int {
	switch {
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrMissingHeader), errors.Is(err, ErrSignature), errors.Is(err, ErrStale):
		return http.StatusUnauthorized
	}
	return http.StatusBadRequest
}
