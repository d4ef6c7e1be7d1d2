package app

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Subscription is a receiver of a store's events (spec, Webhook subscription). Its
// secret is never part of it.
type Subscription struct {
	ID             SubscriptionID `json:"id"`
	URL            string         `json:"url"`
	Events         []EventType    `json:"events"`
	IsActive       bool           `json:"isActive"`
	CreatedAt      Time           `json:"createdAt"`
	LastDeliveryAt *Time          `json:"lastDeliveryAt"`         // the last attempt
	FailureCount   int64          `json:"failureCount"`           // failed attempts in a row
	FailingSince   *Time          `json:"failingSince,omitempty"` // the first of them
	FailingDays    int            `json:"failingDays"`            // days with failed attempts since then that have ended; after too many it is deactivated
	Version        int64          `json:"version"`                // counts its changes; for If-Match
	UpdatedAt      Time           `json:"updatedAt"`
	// Until then deliveries are signed with the secret before the present one as well.
	PreviousSecretExpiresAt *Time `json:"previousSecretExpiresAt,omitempty"`
}

// NewSubscription is what a client asks for. [CheckWebhookURL] holds for URL.
type NewSubscription struct {
	URL    string
	Events []EventType
	Secret Secret
}

// SubscriptionChange is what a client wants to be different; nil leaves a thing as it is.
// [CheckWebhookURL] holds for URL.
type SubscriptionChange struct {
	URL      *string
	Events   []EventType
	IsActive *bool
}

// MaxSecretOverlap is for how long a replaced secret can stay good.
const MaxSecretOverlap = 7 * 24 * time.Hour

// JobTeardown cancels what is left to deliver to a deleted subscription, its subject.
const JobTeardown JobKind = "teardown"

// MaxSubscriptions is how many subscriptions a store can have.
const MaxSubscriptions = 100

// CheckWebhookURL returns what is wrong with the address of a receiver, as the end of a
// sentence about it: https only, with a host, without userinfo and fragment, at most
// 2,048 characters (spec, Limits; contract §4).
func CheckWebhookURL(raw string) error {
	if len(raw) > 2048 {
		return errors.New("must be at most 2048 characters long")
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
		return errors.New("must have a port from 1 to 65535, or none")
	}
	return nil
}

// RetrySchedule holds the delays after the first, second, … failed attempt. A delivery
// has one attempt more than its schedule has delays.
type RetrySchedule []time.Duration

// DefaultRetrySchedule is the spec's (Retry policy).
func DefaultRetrySchedule() RetrySchedule {
	return RetrySchedule{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
}

// ParseRetrySchedule reads comma-separated positive durations: "30s,5m,30m,2h,6h".
func ParseRetrySchedule(s string) (RetrySchedule, error) {
	var schedule RetrySchedule
	for part := range strings.SplitSeq(s, ",") {
		delay, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || delay <= 0 {
			return nil, fmt.Errorf("%q is not a positive duration", part)
		}
		schedule = append(schedule, delay)
	}
	if len(schedule) > 20 {
		return nil, errors.New("more than 20 retries")
	}
	return schedule, nil
}

// Attempts returns how many attempts a delivery has when all of them fail.
func (s RetrySchedule) Attempts() int { return len(s) + 1 }

// Delay returns how long to wait after the failed attempt of that place in the schedule,
// counted from 1; false when it was the last.
func (s RetrySchedule) Delay(attempt int) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s) {
		return 0, false
	}
	return s[attempt-1], true
}

// SlowResponse is the response time from which a receiver counts as slow, so that its
// deliveries leave the fast lane.
const SlowResponse = time.Second
