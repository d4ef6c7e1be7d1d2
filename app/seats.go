package app

import (
	"slices"
	"time"
)

// SeatsOfDay is the occupancy of a store's seats over one day.
type SeatsOfDay struct {
	Date     string       `json:"date"`     // YYYY-MM-DD in the store's time zone
	Timezone string       `json:"timezone"` // IANA name of the store's time zone
	Seats    int          `json:"seats"`
	Peak     int          `json:"peak"`  // maximum number of seats taken at the same time
	Taken    []SeatsTaken `json:"taken"` // the first entry is the start of the day; the others are changes
}

// SeatsTaken is the number of seats that are taken from a time until the next entry.
type SeatsTaken struct {
	From  Time `json:"from"`
	Seats int  `json:"seats"`
}

// SeatsOver returns the occupancy from one time (inclusive) to another (exclusive): an entry for the start and an entry
// for each change.
func SeatsOver(parties []Seated, from, to time.Time) []SeatsTaken {
	times := []time.Time{from}
	for _, p := range parties {
		for _, at := range []time.Time{p.Start, p.End} {
			if at.After(from) && at.Before(to) {
				times = append(times, at)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	var taken []SeatsTaken
	for _, at := range times {
		seats := 0
		for _, p := range parties {
			if !p.Start.After(at) && p.End.After(at) {
				seats += p.PartySize
			}
		}
		if len(taken) == 0 || taken[len(taken)-1].Seats != seats {
			taken = append(taken, SeatsTaken{At(at), seats})
		}
	}
	return taken
}
