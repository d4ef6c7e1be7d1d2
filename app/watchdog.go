package app

import "time"

// JobWatchdog is the kind of a job that watches a failing subscription. Its subject is the subscription's id.
const JobWatchdog JobKind = "watchdog"

// WatchdogPolicy determines when a failing subscription is deactivated (docs/behaviour.md#watchdog).
type WatchdogPolicy struct {
	Day  time.Duration `json:"day"`  // length of a day; shorter than 24 h in tests
	Days int           `json:"days"` // number of days with failed attempts after which the subscription is deactivated
}

// Watch is the state of a streak of failures. The first day of the streak begins at its first failed attempt.
type Watch struct {
	Since time.Time // time of the first failed attempt
	Until time.Time // end of the last evaluated day; Since if no day was evaluated
	Days  int       // number of evaluated days with a failed attempt
}

// WatchdogTick is the result of evaluating a streak of failures.
type WatchdogTick struct {
	Watch      Watch
	Next       time.Time // end of the current day
	Warn       bool      // a day was counted that requires a warning
	Deactivate bool      // the last day of the policy was counted
}

// Tick evaluates the days of a streak that have ended since the last evaluation. A day with a failed attempt counts. A
// day without any attempt neither counts nor resets the count. (A day with a success ends the streak.) The function
// failure returns the time of the first failed attempt at or after a time, or false if there is none. Tick returns only
// the errors of failure.
func (p WatchdogPolicy) Tick(
	w Watch, now time.Time, failure func(from time.Time) (time.Time, bool, error),
) (WatchdogTick, error) {
	tick := WatchdogTick{Watch: w, Next: p.dayOf(w.Since, now).Add(p.Day)}
	today := p.dayOf(w.Since, now)
	for tick.Watch.Until.Before(today) {
		at, failed, err := failure(tick.Watch.Until)
		if err != nil {
			return WatchdogTick{}, err
		}
		if !failed || !at.Before(today) {
			tick.Watch.Until = today
			break
		}
		tick.Watch.Until = p.dayOf(w.Since, at).Add(p.Day)
		tick.Watch.Days++
		tick.Warn = tick.Warn || p.Warns(tick.Watch.Days)
		if tick.Watch.Days >= p.Days {
			return WatchdogTick{Watch: tick.Watch, Deactivate: true}, nil
		}
	}
	return tick, nil
}

// dayOf returns the start of the day that contains at. The first day begins at since.
func (p WatchdogPolicy) dayOf(since, at time.Time) time.Time {
	return since.Add(max(0, at.Sub(since)) / p.Day * p.Day)
}

// Warns reports whether a warning is sent after the given number of counted days: after every odd number, and on the
// last day before deactivation. With seven days these are 1, 3, 5 and 6.
func (p WatchdogPolicy) Warns(day int) bool {
	return day >= 1 && day < p.Days && (day%2 == 1 || day == p.Days-1)
}

// Watched is the result of one tick for the watchdog's workflow.
type Watched struct {
	Ended    WatchEnd      `json:"ended,omitempty"`  // "" = the watchdog continues
	Days     int           `json:"days"`             // counted days of the current streak
	Failures int64         `json:"failures"`         // failed attempts of the current streak
	Since    time.Time     `json:"since"`            // first failed attempt of the current streak
	Warned   bool          `json:"warned,omitempty"` // this tick enqueued a warning
	NextIn   time.Duration `json:"nextIn,omitempty"` // time until the next tick
}

// Streak returns the content of a warning. days is the number of days of the policy.
func (w Watched) Streak(days int) FailureStreak {
	return FailureStreak{Day: w.Days, Of: days, Failures: int(w.Failures)}
}

// WatchEnd is the reason why a watchdog ended.
type WatchEnd string

const (
	WatchHealthy     WatchEnd = "healthy"     // the last attempt succeeded
	WatchDeactivated WatchEnd = "deactivated" // the watchdog deactivated the subscription
	WatchInactive    WatchEnd = "inactive"    // a user deactivated the subscription
	WatchDeleted     WatchEnd = "deleted"     // a user deleted the subscription
)
