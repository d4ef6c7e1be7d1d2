package app

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Subscription is a webhook: a URL to which events of a store are delivered. It never contains the secret.
type Subscription struct {
	ID          SubscriptionID `json:"id"`
	URL         string         `json:"url"`
	Description string         `json:"description"`
	Events      []EventType    `json:"events" validate:"dive,subscribable"` // or AllEvents alone
	Filter      *string        `json:"filter"`                              // see package filter
	Ordering    Ordering       `json:"ordering"`
	// names of the further request headers, in alphabetical order
	HeaderNames    []string `json:"headerNames"`
	IsActive       bool     `json:"isActive"`
	CreatedAt      Time     `json:"createdAt"`
	LastDeliveryAt *Time    `json:"lastDeliveryAt"`         // time of the last attempt
	FailureCount   int64    `json:"failureCount"`           // consecutive failed attempts
	FailingSince   *Time    `json:"failingSince,omitempty"` // time of the first of these attempts
	// days with failed attempts since failingSince; after too many of them, the webhook is deactivated
	FailingDays int   `json:"failingDays"`
	Version     int64 `json:"version"` // increases with every change; for If-Match
	UpdatedAt   Time  `json:"updatedAt"`
	// end of the overlap during which deliveries are also signed with the previous secret
	PreviousSecretExpiresAt *Time        `json:"previousSecretExpiresAt,omitempty"`
	FilterError             *FilterError `json:"filterError,omitempty"`
}

// Ordering is the order in which a subscription's deliveries are made (docs/behaviour.md#ordered-webhooks).
type Ordering string

const (
	OrderingNone     Ordering = "none"     // as soon as possible
	OrderingResource Ordering = "resource" // those of one resource one at a time, by position
)

// Orderings lists all orderings.
var Orderings = [...]Ordering{OrderingNone, OrderingResource}

// FilterError is the last failed evaluation of a subscription's filter. The event was delivered.
type FilterError struct {
	Message string  `json:"message"`
	EventID EventID `json:"eventId"`
	At      Time    `json:"at"`
}

// NewSubscription is the input for creating a subscription. URL has passed [CheckWebhookURL].
type NewSubscription struct {
	URL         string
	Description string
	Events      []EventType
	Filter      *string        // has passed a check; nil = none
	Ordering    Ordering       // "" = OrderingNone
	Headers     WebhookHeaders // have passed Check
	Secret      Secret
}

// SubscriptionChange is a requested change of a subscription. A nil field is not changed. URL has passed
// [CheckWebhookURL].
type SubscriptionChange struct {
	URL         *string
	Description *string
	Events      []EventType
	Filter      **string // has passed a check; a pointer to nil removes the filter
	Ordering    *Ordering
	Headers     *WebhookHeaders // replace all headers; have passed Check
	IsActive    *bool
}

// MaxSecretOverlap is the maximum time for which deliveries are also signed with the previous secret.
const MaxSecretOverlap = 7 * 24 * time.Hour

// JobTeardown is the kind of a job that cancels the open deliveries of a deleted subscription. Its subject is the
// subscription's id.
const JobTeardown JobKind = "teardown"

// JobDeactivation is the kind of a job that ends the queued deliveries of an inactive subscription. Its subject is the
// subscription's id.
const JobDeactivation JobKind = "deactivation"

// MaxSubscriptions is the maximum number of subscriptions per store.
const MaxSubscriptions = 100

// CheckWebhookURL returns an error unless raw is a valid webhook URL: https, with a host, without userinfo and
// fragment, at most 2,048 characters (docs/behaviour.md#subscriptions). The error's text continues a sentence that
// begins with the URL: "must be an https URL".
func CheckWebhookURL(raw string) error {
	if len(raw) > 2048 {
		return errors.New("must have at most 2048 characters")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("must be a URL")
	case u.Scheme != "https":
		return errors.New("must be an https URL")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("must have a host")
	case u.User != nil:
		return errors.New("must not contain a user name or password")
	case strings.Contains(raw, "#"):
		return errors.New("must not have a fragment")
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return errors.New("must have no port or a port from 1 to 65535")
	}
	return nil
}

// RetrySchedule lists the delays after the first, second, … failed attempt. A delivery has one attempt more than its
// schedule has delays.
type RetrySchedule []time.Duration

// ParseRetrySchedule parses up to 20 comma-separated positive durations: "30s,5m,30m,2h,6h".
func ParseRetrySchedule(s string) (RetrySchedule, error) {
	var schedule RetrySchedule
	for part := range strings.SplitSeq(s, ",") {
		delay, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || delay <= 0 {
			return nil, fmt.Errorf("%q is not a positive duration such as 30s or 5m", part)
		}
		schedule = append(schedule, delay)
	}
	if len(schedule) > 20 {
		return nil, errors.New("must have at most 20 durations")
	}
	return schedule, nil
}

// Attempts returns the maximum number of attempts of a delivery.
func (s RetrySchedule) Attempts() int { return len(s) + 1 }

// Delay returns the delay after a failed attempt. Attempts of the current schedule are numbered from 1. It returns
// false if no attempt follows.
func (s RetrySchedule) Delay(attempt int) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s) {
		return 0, false
	}
	return s[attempt-1], true
}

// SlowResponse is the response time from which a receiver counts as slow. Deliveries to slow receivers do not use the
// fast lane.
const SlowResponse = time.Second
