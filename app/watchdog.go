package app

import "time"

// JobWatchdog watches a receiver that fails. Its subject is the subscription.
const JobWatchdog JobKind = "watchdog"

// WatchdogPolicy says when a receiver that fails is given up (contract §4, Watchdog).
type WatchdogPolicy struct {
	Day  time.Duration `json:"day"`  // how long a day is
	Days int           `json:"days"` // with failed attempts, after which the subscription is deactivated
}

// Watch is what is known of one streak of failures.
type Watch struct {
	Since time.Time // its first failed attempt, at which its first day begins
	Until time.Time // the end of the last day that was looked at; Since when none was
	Days  int       // of these days those with a failed attempt
}

// WatchdogTick is what follows from looking at a streak.
type WatchdogTick struct {
	Watch      Watch
	Next       time.Time // the end of the day that is on now
	Warn       bool      // a day was counted after which people are warned
	Deactivate bool      // enough days were counted
}

// Tick looks at the days of a streak that have ended and were not looked at before. A day
// with a failed attempt counts; one without any attempt neither counts nor resets, and one
// with a success would have ended the streak. failure returns the time of the first failed
// attempt at or after a time, false if there is none; its error is returned.
func (p WatchdogPolicy) Tick(w Watch, now time.Time, failure func(from time.Time) (time.Time, bool, error)) (WatchdogTick, error) {
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

// dayOf returns the beginning of the day in which at lies, of days that begin at since.
func (p WatchdogPolicy) dayOf(since, at time.Time) time.Time {
	return since.Add(max(0, at.Sub(since)) / p.Day * p.Day)
}

// Warns reports whether people are warned after that many days: after every other one
// from the first on, and after the one before the last. Of seven: 1, 3, 5 and 6.
func (p WatchdogPolicy) Warns(day int) bool {
	return day >= 1 && day < p.Days && (day%2 == 1 || day == p.Days-1)
}

// Watched is what a watchdog's workflow learns of a tick.
type Watched struct {
	Ended    WatchEnd      `json:"ended,omitempty"`  // "" = it goes on
	Days     int           `json:"days"`             // counted in the streak that is on
	Failures int64         `json:"failures"`         // failed attempts in it
	Since    time.Time     `json:"since"`            // its first failed attempt
	Warned   bool          `json:"warned,omitempty"` // people have been told of it by this tick
	NextIn   time.Duration `json:"nextIn,omitempty"` // until the next tick
}

// Trouble returns what people are told, where so many days deactivate.
func (w Watched) Trouble(days int) WebhookTrouble {
	return WebhookTrouble{Day: w.Days, Of: days, Failures: int(w.Failures)}
}

// WatchEnd is why a watchdog has nothing more to do.
type WatchEnd string

const (
	WatchHealthy     WatchEnd = "healthy"     // the last attempt succeeded
	WatchDeactivated WatchEnd = "deactivated" // by this watchdog, after too many days
	WatchInactive    WatchEnd = "inactive"    // by somebody else
	WatchDeleted     WatchEnd = "deleted"
)
