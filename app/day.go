package app

import (
	"sort"
	"time"
)

// BusinessDay returns the day to which a moment counts in a store's zone, as its midnight in
// UTC: what happens before the hour of the cutoff counts to the day before.
func BusinessDay(at time.Time, zone *time.Location, cutoff int) time.Time {
	local := at.In(zone)
	year, month, date := local.Date()
	if local.Hour() < cutoff {
		date--
	}
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

// DayIn returns when a day of the calendar begins in a zone, and when the next does. What of
// the first day of all lies before the year 1 in UTC is left out.
func DayIn(zone *time.Location, date string) (from, to time.Time, err error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return from, to, err
	}
	from, to = startOfDay(day, zone, 0), startOfDay(day.AddDate(0, 0, 1), zone, 0)
	if from.Year() < 1 {
		from = time.Time{}
	}
	return from, to, nil
}

// startOfDay returns the first moment of a business day: where clocks leap over it, what
// follows; where it comes twice, the first.
func startOfDay(day time.Time, zone *time.Location, cutoff int) time.Time {
	from := day.Add(-15 * time.Hour) // earlier than anywhere
	seconds := sort.Search(72*60*60, func(i int) bool {
		return !BusinessDay(from.Add(time.Duration(i)*time.Second), zone, cutoff).Before(day)
	})
	return from.Add(time.Duration(seconds) * time.Second)
}
