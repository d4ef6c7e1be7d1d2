package app

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"
)

// FulfillmentTypes lists the fulfillment types.
var FulfillmentTypes = [...]FulfillmentType{FulfillmentDelivery, FulfillmentPickup, FulfillmentDineIn}

// Weekday is a day of the week in opening hours.
type Weekday string

// Weekdays lists the days of a week, in the order of [time.Weekday].
var Weekdays = [...]Weekday{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// OpeningHours are the weekly opening hours of a store by fulfillment type, in the store's time zone
// (docs/behaviour.md#opening-hours). A type without any span is always open. Otherwise, a weekday without spans is
// closed.
type OpeningHours map[FulfillmentType]WeekHours

// WeekHours are the spans of one fulfillment type by weekday.
type WeekHours map[Weekday][]OpeningSpan

// OpeningSpan is a period of the wall clock. It includes its start and excludes its end. It belongs to the day on which
// it begins, also after midnight.
type OpeningSpan struct {
	From ClockTime `json:"from"` // HH:MM
	To   ClockTime `json:"to"`   // HH:MM or 24:00; a time that is not after from is on the next day
}

// ClockTime is a time of the wall clock, HH:MM. 24:00 is the end of a day.
type ClockTime string

// Closure is a period of days on which no span begins. A fulfillment type that is always open is closed from the
// beginning of the first day to the end of the last day.
type Closure struct {
	From   string            `json:"from"` // first day, YYYY-MM-DD
	To     string            `json:"to"`   // last day
	Reason string            `json:"reason,omitempty"`
	Types  []FulfillmentType `json:"types,omitempty"` // absent = all types
}

// closes reports whether a closure applies to a fulfillment type on a day.
func (c Closure) closes(of FulfillmentType, day string) bool {
	return c.From <= day && day <= c.To && (len(c.Types) == 0 || slices.Contains(c.Types, of))
}

const minutesPerDay = 24 * 60

// minutes returns the minutes since midnight. The clock time must be valid.
func (c ClockTime) minutes() int {
	hours, _ := strconv.Atoi(string(c[:2]))
	minutes, _ := strconv.Atoi(string(c[3:]))
	return hours*60 + minutes
}

// daySpan is a span in minutes since the beginning of its day. to is at most two days.
type daySpan struct{ from, to int }

func (s OpeningSpan) daySpan() daySpan {
	span := daySpan{s.From.minutes(), s.To.minutes()}
	if span.to <= span.from {
		span.to += minutesPerDay
	}
	return span
}

// of returns the sorted spans of a fulfillment type by [time.Weekday].
func (o OpeningHours) of(t FulfillmentType) (week [7][]daySpan) {
	always := true
	for day, name := range Weekdays {
		for _, span := range o[t][name] {
			week[day], always = append(week[day], span.daySpan()), false
		}
		slices.SortFunc(week[day], func(a, b daySpan) int { return cmp.Compare(a.from, b.from) })
	}
	if always {
		for day := range week {
			week[day] = []daySpan{{0, minutesPerDay}}
		}
	}
	return week
}

// check returns the spans that overlap an earlier span of the same fulfillment type.
func (o OpeningHours) check() (faults []Detail) {
	for _, of := range FulfillmentTypes {
		type placed struct {
			daySpan
			place string
		}
		var spans []placed
		for day, name := range Weekdays {
			for i, span := range o[of][name] {
				s := span.daySpan()
				s.from, s.to = s.from+day*minutesPerDay, s.to+day*minutesPerDay
				spans = append(spans, placed{s, fmt.Sprintf("%s[%d]", name, i)})
			}
		}
		if len(spans) == 0 {
			continue
		}
		slices.SortStableFunc(spans, func(a, b placed) int { return cmp.Compare(a.from, b.from) })
		next := spans[0] // of the following week
		next.from += len(Weekdays) * minutesPerDay
		spans = append(spans, next)
		for i, span := range spans[1:] {
			if before := spans[i]; before.to > span.from && before.place != span.place {
				path := fmt.Sprintf("openingHours.%s.%s", of, span.place)
				faults = append(faults, Detail{Path: path, Message: "overlaps " + before.place})
			}
		}
	}
	return faults
}

// maxOpeningSearch is the period in which the next opening is searched.
const maxOpeningSearch = 366 * 24 * time.Hour

// OpenState reports whether a store takes orders.
type OpenState struct {
	OpenNow    bool  `json:"openNow"`    // by the opening hours and closures, and ordering is not paused
	NextOpenAt *Time `json:"nextOpenAt"` // null if open now, or unknown within 366 days
}

// Hours determine when a store takes orders.
type Hours struct {
	Zone        *time.Location
	Opening     OpeningHours
	Closures    []Closure
	PausedUntil time.Time // zero = not paused
}

// Paused reports whether ordering is paused at a time.
func (h Hours) Paused(at time.Time) bool { return at.Before(h.PausedUntil) }

// State returns whether the store takes orders of one of the types at a time, and otherwise the next time at which it
// does.
func (h Hours) State(at time.Time, types ...FulfillmentType) OpenState {
	from := at
	if h.Paused(at) {
		from = h.PausedUntil
	}
	var next time.Time
	for _, of := range types {
		opens, ok := h.nextOpen(of, from, at.Add(maxOpeningSearch))
		if ok && (next.IsZero() || opens.Before(next)) {
			next = opens
		}
	}
	switch {
	case next.IsZero():
		return OpenState{}
	case next.Equal(at):
		return OpenState{OpenNow: true}
	}
	opening := At(next)
	return OpenState{NextOpenAt: &opening}
}

// nextOpen returns the first time, not before from, at which the wall clock of the store is in a span of a type. It
// returns false if there is none before limit.
func (h Hours) nextOpen(of FulfillmentType, from, limit time.Time) (time.Time, bool) {
	for opens := range h.openings(of, from, limit) {
		return opens, true
	}
	return time.Time{}, false
}

// openUntil returns the end of the time in which the store is open for a type without a break, from a time on; that
// time itself if it is closed then. The end is at most limit.
func (h Hours) openUntil(of FulfillmentType, from, limit time.Time) time.Time {
	for opens, closes := range h.openings(of, from, limit) {
		if opens.After(from) {
			break
		}
		from = later(from, closes)
	}
	return from
}

// openings returns the periods between from and limit in which the wall clock of the store is in a span of a type, in
// ascending order. Periods can touch.
func (h Hours) openings(of FulfillmentType, from, limit time.Time) iter.Seq2[time.Time, time.Time] {
	week := h.Opening.of(of)
	return func(yield func(opens, closes time.Time) bool) {
		for at := from; at.Before(limit); {
			_, end := at.In(h.Zone).ZoneBounds()
			if end.IsZero() || end.After(limit) {
				end = limit
			}
			if !h.openingsBetween(of, week, at, end, yield) {
				return
			}
			at = end
		}
	}
}

// openingsBetween is openings for a period without a change of the clocks, in which the wall clock and UTC differ by a
// constant. It returns false if yield did.
func (h Hours) openingsBetween(
	of FulfillmentType, week [7][]daySpan, from, to time.Time, yield func(opens, closes time.Time) bool,
) bool {
	_, seconds := from.In(h.Zone).Zone()
	ahead := time.Duration(seconds) * time.Second
	wall, end := from.UTC().Add(ahead), to.UTC().Add(ahead)
	yesterday := wall.AddDate(0, 0, -1) // its last span can reach into the day of wall
	first := time.Date(yesterday.Year(), yesterday.Month(), yesterday.Day(), 0, 0, 0, 0, time.UTC)
	for day := first; day.Before(end); day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		if slices.ContainsFunc(h.Closures, func(c Closure) bool { return c.closes(of, date) }) {
			continue
		}
		for _, span := range week[day.Weekday()] {
			opens := later(day.Add(time.Duration(span.from)*time.Minute), wall)
			closes := earlier(day.Add(time.Duration(span.to)*time.Minute), end)
			if opens.Before(closes) && !yield(opens.Add(-ahead), closes.Add(-ahead)) {
				return false
			}
		}
	}
	return true
}
