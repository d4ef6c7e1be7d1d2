package app

import (
	"sort"
	"time"
)

// BusinessDay returns the business day of a time in a store's time zone, as midnight in UTC. Times before the hour
// cutoff belong to the previous day.
func BusinessDay(at time.Time, zone *time.Location, cutoff int) time.Time {
	local := at.In(zone)
	year, month, date := local.Date()
	if local.Hour() < cutoff {
		date--
	}
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

// DayIn returns the start (inclusive) and the end (exclusive) of a calendar day (YYYY-MM-DD) in a time zone. A start
// before the year 1 in UTC is returned as the zero time.
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

// startOfDay returns the first moment of a business day. If the clocks skip that moment, it is the next one that
// exists; if they repeat it, it is the first.
func startOfDay(day time.Time, zone *time.Location, cutoff int) time.Time {
	from := day.Add(-15 * time.Hour) // before the day begins in any time zone
	seconds := sort.Search(72*60*60, func(i int) bool {
		return !BusinessDay(from.Add(time.Duration(i)*time.Second), zone, cutoff).Before(day)
	})
	return from.Add(time.Duration(seconds) * time.Second)
}
