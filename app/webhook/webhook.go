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

// Errors of [Verifier.Verify] and [Verifier.VerifyBody]. Compare them with [errors.Is]: the returned errors wrap them
// and add details, but never a secret.
var (
	ErrTooLarge      = errors.New("webhook: the body is too large")
	ErrMissingHeader = errors.New("webhook: a header is missing or malformed")
	ErrSignature     = errors.New("webhook: the signature does not match")
	// ErrStale means that the signature matches but the timestamp is outside the tolerance: the request is a copy of an
	// earlier one, or a clock is wrong.
	ErrStale = errors.New("webhook: the timestamp is outside the tolerance")
	// ErrMalformed means that the signature matches but the body is not an event.
	ErrMalformed = errors.New("webhook: the body is not an event")
)

// minSecret is the minimum length of a webhook's secret in characters.
const minSecret = 32

// Verifier verifies requests. Its fields may be changed before the first use. After that, it is safe for concurrent
// use.
type Verifier struct {
	Tolerance time.Duration    // maximum difference between a timestamp and now, in both directions; default 300 s
	MaxBody   int64            // maximum size of a body in bytes; default 1 MiB
	Now       func() time.Time // clock; default time.Now

	secrets [][]byte
}

// New returns a verifier that accepts requests signed with any of the secrets. While you rotate a secret, pass the new
// and the previous one. New returns an error if there is no secret, or if a secret has fewer than 32 characters. This
// prevents the use of an unset variable, with which anyone could sign.
func New(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("webhook: no secret was given")
	}
	v := &Verifier{Tolerance: 300 * time.Second, MaxBody: 1 << 20, Now: time.Now}
	for i, secret := range secrets {
		if utf8.RuneCountInString(secret) < minSecret {
			return nil, fmt.Errorf("webhook: secret %d of %d has fewer than %d characters",
				i+1, len(secrets), minSecret)
		}
		v.secrets = append(v.secrets, []byte(secret))
	}
	return v, nil
}

// Format prints "webhook.Verifier" for every verb, so that the secrets do not appear in logs.
func (v Verifier) Format(f fmt.State, _ rune) { io.WriteString(f, "webhook.Verifier") }

// Verify reads the body of a request, verifies the request and returns its event. Afterwards, r.Body can be read again,
// unless the body was too large or could not be read. Verify returns the errors of this package and of reading the
// body.
func (v *Verifier) Verify(r *http.Request) (Event, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, v.MaxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Event{}, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, v.MaxBody)
	}
	if err != nil {
		return Event{}, fmt.Errorf("webhook: cannot read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return v.VerifyBody(r.Header, body)
}

// VerifyBody verifies a request with a body that has already been read, and returns its event. A request is genuine if
// a signature of the timestamp and the exact bytes of the body matches, and the timestamp is within the tolerance.
//
// The signature is in X-Webhook-Signature or in the headers of Standard Webhooks (webhook-id, webhook-timestamp,
// webhook-signature). If a request has both, one must match: during the rotation of a secret, only the headers of
// Standard Webhooks also carry a signature with the previous secret.
func (v *Verifier) VerifyBody(header http.Header, body []byte) (Event, error) {
	claim, err := v.match(header, body)
	if err != nil {
		return Event{}, err
	}
	if off := v.Now().Sub(claim.at).Abs(); off > v.Tolerance {
		return Event{}, fmt.Errorf("%w: %v, limit %v", ErrStale, off.Round(time.Second), v.Tolerance)
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if event.ID == "" || event.Type == "" {
		return Event{}, fmt.Errorf("%w: id or type is missing", ErrMalformed)
	}
	position, err := strconv.ParseUint(header.Get("X-Webhook-Position"), 10, 53)
	if err == nil {
		event.Position = int64(position)
	}
	event.Resource = header.Get("X-Webhook-Resource")
	return event, nil
}

// claim is the content of a request's signature headers.
type claim struct {
	at         time.Time
	prefix     string   // signed bytes before the body
	signatures [][]byte // one of them must match
}

// match returns the claim of a request if one of its signatures matches. The error is about X-Webhook-Signature unless
// the request has only the headers of Standard Webhooks.
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

// timestamp returns a header with Unix seconds as text, which is part of the signed bytes, and as a time.
func timestamp(header http.Header, name string) (string, time.Time, error) {
	text := header.Get(name)
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("%w: %s", ErrMissingHeader, strings.ToLower(name))
	}
	return text, time.Unix(seconds, 0), nil
}

// signed reports whether a signature of the claim matches a secret. It compares all of them in constant time.
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

// Handler returns a receiver: it verifies each POST and calls receive with the event. The response is 204 if receive
// returns nil, otherwise 500, so that the event is delivered again later. A request that cannot be verified gets the
// [Status] and the text of the error. receive should return within 5 seconds, and it should return nil for unknown
// event types.
func (v *Verifier) Handler(receive func(context.Context, Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "webhook: the method must be POST", http.StatusMethodNotAllowed)
			return
		}
		event, err := v.Verify(r)
		if err != nil {
			http.Error(w, err.Error(), Status(err))
			return
		}
		if receive(r.Context(), event) != nil {
			http.Error(w, "webhook: the event could not be processed", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// Status returns the HTTP status for an error of [Verifier.Verify]: 413 for [ErrTooLarge], 401 for [ErrMissingHeader],
// [ErrSignature] and [ErrStale], otherwise 400.
func Status(err error) int {
	switch {
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrMissingHeader), errors.Is(err, ErrSignature), errors.Is(err, ErrStale):
		return http.StatusUnauthorized
	}
	return http.StatusBadRequest
}
