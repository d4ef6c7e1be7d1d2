package app

import (
	"slices"
	"time"
)

// SeatsOfDay is how many of a store's seats are taken over a day.
type SeatsOfDay struct {
	Date     string       `json:"date"`     // YYYY-MM-DD in the store's zone
	Timezone string       `json:"timezone"` // IANA name of the store's
	Seats    int          `json:"seats"`
	Peak     int          `json:"peak"`  // the most that are taken at once
	Taken    []SeatsTaken `json:"taken"` // the first is at the day's beginning, then each change
}

// SeatsTaken is how many seats are taken from a time on, until the next.
type SeatsTaken struct {
	From  Time `json:"from"`
	Seats int  `json:"seats"`
}

// SeatsOver returns how many seats parties take from one time on, until another (not
// included): at the beginning, then whenever it changes.
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
