package app

import "time"

// DeliveryStats counts the attempts of a subscription in a period, without tests.
type DeliveryStats struct {
	From        Time          `json:"from"`
	To          Time          `json:"to"`
	Granularity Granularity   `json:"granularity"`
	Buckets     []StatsBucket `json:"buckets"` // sorted by time, including buckets without attempts
	Totals      StatsCounts   `json:"totals"`
	RetryingNow int           `json:"retryingNow"` // deliveries that currently wait for a retry
}

// StatsBucket is one hour or day in UTC, cut to the requested period.
type StatsBucket struct {
	Start Time `json:"start"`
	StatsCounts
}

// StatsCounts counts attempts by outcome. p50Ms and p99Ms are percentiles of the response time; they are null if there
// was no attempt.
type StatsCounts struct {
	Delivered  int    `json:"delivered"`
	Failed     int    `json:"failed"`     // attempts that were not delivered
	DeadLetter int    `json:"deadLetter"` // failed attempts that were the last of their schedule
	P50Ms      *int64 `json:"p50Ms"`
	P99Ms      *int64 `json:"p99Ms"`
}

// Granularity is the length of a statistics bucket.
type Granularity string

const (
	ByHour Granularity = "hour"
	ByDay  Granularity = "day"
)

// Duration returns the length of a bucket.
func (g Granularity) Duration() time.Duration {
	if g == ByDay {
		return 24 * time.Hour
	}
	return time.Hour
}

// MaxStatsSpan is the longest period of [DeliveryStats].
const MaxStatsSpan = 90 * 24 * time.Hour
