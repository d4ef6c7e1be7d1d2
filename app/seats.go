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
	type change struct {
		at    time.Time
		seats int
	}
	changes := []change{{at: from}}
	for _, p := range parties {
		if p.Start.Before(to) && p.End.After(from) {
			changes = append(changes, change{later(p.Start, from), p.PartySize}, change{p.End, -p.PartySize})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	var taken []SeatsTaken
	seats := 0
	for i, c := range changes {
		if !c.at.Before(to) {
			break
		}
		seats += c.seats
		if i+1 < len(changes) && changes[i+1].at.Equal(c.at) {
			continue
		}
		if len(taken) == 0 || taken[len(taken)-1].Seats != seats {
			taken = append(taken, SeatsTaken{At(c.at), seats})
		}
	}
	return taken
}
