package app

import (
	"time"
)

// maxWalkInAge is how long ago a reservation may begin that a user makes for guests who have come without one.
const maxWalkInAge = 15 * time.Minute

// SlotMinutes is the time between the starts of two slots.
const SlotMinutes = 15

// BookingRules determine the times that a caller can reserve (docs/behaviour.md#reservations).
type BookingRules struct {
	hours            Hours // without a pause, which concerns orders
	earliest, latest time.Time
	exempt           bool // from the opening hours
}

// Booking returns the rules for a caller at a time. API keys are bound by the lead time and the opening hours; users
// can register guests who are there already, at any hour.
func (s Settings) Booking(now time.Time, by Realm) (BookingRules, error) {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return BookingRules{}, err
	}
	rules := BookingRules{
		hours:    Hours{Zone: zone, Opening: s.OpeningHours, Closures: s.Closures},
		earliest: now.Add(time.Duration(s.BookingLeadMinutes) * time.Minute),
		latest:   now.In(zone).AddDate(0, 0, s.BookingMaxDays),
		exempt:   by != RealmAPIKey,
	}
	if rules.exempt {
		rules.earliest = now.Add(-maxWalkInAge)
	}
	return rules, nil
}

// CheckStart returns OUTSIDE_BOOKING_WINDOW if no reservation can begin at a time.
func (r BookingRules) CheckStart(start time.Time) error {
	if r.inWindow(start) {
		return nil
	}
	e := Invalid("startAt", "must be between "+At(r.earliest).String()+" and "+At(r.latest).String())
	e.Code, e.Message = CodeOutsideBookingWindow, e.Details[0].Path+" "+e.Details[0].Message
	return e
}

func (r BookingRules) inWindow(start time.Time) bool {
	return !start.Before(r.earliest) && !start.After(r.latest)
}

// CheckOpen returns STORE_CLOSED if the store is closed for DINE_IN at some time from start to end, and the caller is
// bound by the opening hours. Its detail nextOpenAt is the end of that time.
func (r BookingRules) CheckOpen(start, end time.Time) error {
	if r.exempt {
		return nil
	}
	closes := r.hours.openUntil(FulfillmentDineIn, start, end)
	if !closes.Before(end) {
		return nil
	}
	next, ok := r.hours.nextOpen(FulfillmentDineIn, closes, closes.Add(maxOpeningSearch))
	if !ok {
		return Errorf(CodeStoreClosed, "the store has no opening hours for guests within 366 days")
	}
	return storeClosed(At(next), "the store is closed at %s, within the reservation", At(closes))
}

// Slot is a time at which a reservation can begin.
type Slot struct {
	StartAt   Time `json:"startAt"`
	SeatsLeft int  `json:"seatsLeft"` // free during the whole reservation
}

// SlotQuery selects slots.
type SlotQuery struct {
	Date      string // YYYY-MM-DD in the store's time zone
	PartySize int
	Minutes   int           // duration; 0 = the store's default
	Except    ReservationID // whose seats count as free; "" = none
}

// Day returns the period of a day (YYYY-MM-DD) in which slots can begin; false if it is outside of the booking window.
func (r BookingRules) Day(date string) (from, to time.Time, ok bool, err error) {
	from, to, err = DayIn(r.hours.Zone, date)
	return from, to, err == nil && !to.Before(r.earliest) && !from.After(r.latest), err
}

// Slots returns the slots between two times for a stay of a party, with the seats that other parties leave. A slot is
// within the opening hours for every caller. The effort is linear in the number of other parties.
func (r BookingRules) Slots(from, to time.Time, stay time.Duration, partySize, seats int, others []Seated) []Slot {
	slots := []Slot{}
	peaks := peakWindow{taken: SeatsOver(others, from, to.Add(stay))}
	for start := from; start.Before(to); start = start.Add(SlotMinutes * time.Minute) {
		end := start.Add(stay)
		left := seats - peaks.advance(start, end)
		if left >= partySize && r.inWindow(start) && !r.hours.openUntil(FulfillmentDineIn, start, end).Before(end) {
			slots = append(slots, Slot{At(start), left})
		}
	}
	return slots
}

// peakWindow returns the largest occupancy in a period that moves forward.
type peakWindow struct {
	taken []SeatsTaken
	next  int   // entry of taken that begins at the end of the period, or later
	peaks []int // entries of taken in the period that no later one reaches; their seats descend
}

// advance moves the period and returns its largest occupancy. Neither start nor end may be before the previous one.
func (w *peakWindow) advance(start, end time.Time) int {
	for ; w.next < len(w.taken) && w.taken[w.next].From.Before(end); w.next++ {
		for last := len(w.peaks) - 1; last >= 0 && w.taken[w.peaks[last]].Seats <= w.taken[w.next].Seats; last-- {
			w.peaks = w.peaks[:last]
		}
		w.peaks = append(w.peaks, w.next)
	}
	for first := w.peaks[0]; first+1 < len(w.taken) && !w.taken[first+1].From.After(start); first = w.peaks[0] {
		w.peaks = w.peaks[1:]
	}
	return w.taken[w.peaks[0]].Seats
}
