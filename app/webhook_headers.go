package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// WebhookHeaders are the further request headers of a webhook, by name (docs/behaviour.md#request-headers). Their
// values are secret.
type WebhookHeaders map[string]Secret

// Bounds of [WebhookHeaders].
const (
	MaxWebhookHeaders     = 10
	MaxWebhookHeaderName  = 100
	MaxWebhookHeaderValue = 1000
)

var (
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") // a token of RFC 9110
	headerValue = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	// reservedHeader matches the headers that Comanda or the HTTP client sets, and those of a single connection.
	reservedHeader = regexp.MustCompile(`(?i)^(host|content-.*|user-agent|(x-)?webhook-.*|(x-)?idempotency-key|` +
		`accept-encoding|expect|date|forwarded|x-forwarded-.*|via|traceparent|tracestate|baggage|` +
		`connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|proxy-.*)$`)
)

// Check returns the faults of the headers, with paths below "headers".
func (h WebhookHeaders) Check() []Detail {
	var faults []Detail
	if len(h) > MaxWebhookHeaders {
		faults = append(faults, Detail{Path: "headers", Message: fmt.Sprintf("must have at most %d members",
			MaxWebhookHeaders)})
	}
	seen := map[string]bool{}
	for _, name := range h.Names() {
		fault := checkHeader(name, h[name])
		if lower := strings.ToLower(name); seen[lower] {
			fault = errors.New("must be unique without regard to case")
		} else {
			seen[lower] = true
		}
		if fault != nil {
			faults = append(faults, Detail{Path: "headers." + name, Message: fault.Error()})
		}
	}
	return faults
}

// checkHeader returns an error whose text continues a sentence that begins with the name of the header.
func checkHeader(name string, value Secret) error {
	switch {
	case len(name) > MaxWebhookHeaderName:
		return fmt.Errorf("must have a name of at most %d characters", MaxWebhookHeaderName)
	case !headerName.MatchString(name):
		return errors.New("must have the name of a header: letters, digits and !#$%&'*+-.^_`|~")
	case reservedHeader.MatchString(name):
		return errors.New("is a header that the service sets; choose another name")
	case value.Len() > MaxWebhookHeaderValue:
		return fmt.Errorf("must have a value of at most %d characters", MaxWebhookHeaderValue)
	case !headerValue.MatchString(value.Reveal()):
		return errors.New("must have a value of visible ASCII characters, with spaces only between them")
	}
	return nil
}

// Names returns the names in alphabetical order.
func (h WebhookHeaders) Names() []string {
	return append([]string{}, slices.Sorted(maps.Keys(h))...)
}

// Encode returns the headers as one secret, which [DecodeWebhookHeaders] reads.
func (h WebhookHeaders) Encode() Secret {
	revealed := make(map[string]string, len(h))
	for name, value := range h {
		revealed[name] = value.Reveal()
	}
	text, err := json.Marshal(revealed)
	if err != nil {
		panic(err) // impossible: a map of strings
	}
	return NewSecret(string(text))
}

// DecodeWebhookHeaders returns the headers of the result of Encode.
func DecodeWebhookHeaders(encoded Secret) (WebhookHeaders, error) {
	var headers WebhookHeaders
	if err := json.Unmarshal([]byte(encoded.Reveal()), &headers); err != nil {
		return nil, errors.New("the headers of the webhook are malformed") // without their values
	}
	return headers, nil
}

// SameOrigin reports whether two webhook URLs have the same origin: the scheme, the host and the port.
func SameOrigin(a, b string) bool { return origin(a) == origin(b) }

func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil { // CheckWebhookURL rejects such a URL
		return raw
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
