package app

import (
	"cmp"
	"slices"
	"time"
)

// ReservationStatus is where a reservation stands (contract §5).
type ReservationStatus string

const (
	ReservationPending   ReservationStatus = "PENDING"
	ReservationConfirmed ReservationStatus = "CONFIRMED"
	ReservationCancelled ReservationStatus = "CANCELLED"
	ReservationCompleted ReservationStatus = "COMPLETED"
	ReservationNoShow    ReservationStatus = "NO_SHOW"
)

// reservationTransitions is what can become of a reservation. PENDING and CONFIRMED hold
// seats; the others are final.
var reservationTransitions = map[ReservationStatus][]ReservationStatus{
	ReservationPending:   {ReservationConfirmed, ReservationCancelled},
	ReservationConfirmed: {ReservationCancelled, ReservationCompleted, ReservationNoShow},
}

// Transitions returns the statuses that a reservation can take next, never nil.
func (s ReservationStatus) Transitions() []ReservationStatus {
	return append([]ReservationStatus{}, reservationTransitions[s]...)
}

// Bounds of a reservation.
const (
	MaxPartySize          = 500
	MinReservationMinutes = 15
	MaxReservationMinutes = 24 * 60
)

// Reservation is a reservation as clients and subscribers see it (contract §5).
type Reservation struct {
	ID          ReservationID       `json:"id"`
	StoreID     StoreID             `json:"storeId"`
	Status      ReservationStatus   `json:"status"`
	Customer    ReservationCustomer `json:"customer"`
	PartySize   int                 `json:"partySize"`
	StartAt     Time                `json:"startAt"`
	EndAt       Time                `json:"endAt"`    // not included
	Timezone    string              `json:"timezone"` // IANA name of the store's
	Notes       string              `json:"notes"`
	ConfirmedBy *ReservationActor   `json:"confirmedBy,omitempty"` // once it was confirmed
	ConfirmedAt *Time               `json:"confirmedAt,omitempty"`
	// of a cancelled one; "" = none was given
	CancellationReason *string `json:"cancellationReason,omitzero"`
	Version            int64   `json:"version"`
	CreatedAt          Time    `json:"createdAt"`
	UpdatedAt          Time    `json:"updatedAt"`
}

// ReservationCustomer is who comes, as given at the time.
type ReservationCustomer struct {
	ID    *CustomerID `json:"id"` // null for whoever is no customer of the store
	Name  string      `json:"name"`
	Email string      `json:"email"`
	Phone string      `json:"phone"`
}

// ReservationActor is who confirmed a reservation.
type ReservationActor struct {
	Realm Realm  `json:"realm"`
	ID    string `json:"id"` // of the user or the API key
}

// NewReservation is what somebody asks for when reserving.
type NewReservation struct {
	CustomerID CustomerID // a known customer, or "" and
	Guest      ReservationCustomer
	PartySize  int
	StartAt    Time
	Minutes    int // 0 = the store's usual
	Notes      string
}

// ReservationStatusChange is what somebody wants to make of a reservation.
type ReservationStatusChange struct {
	To     ReservationStatus
	Reason string // of a cancellation, optional
	By     Actor
}

// Moved returns the reservation after a change of its status; the same status changes
// nothing. It returns INVALID_TRANSITION for a status that cannot come next.
func (r Reservation) Moved(change ReservationStatusChange, now Time) (Reservation, error) {
	if change.To == r.Status {
		return r, nil
	}
	if allowed := r.Status.Transitions(); !slices.Contains(allowed, change.To) {
		return r, InvalidTransition(r.Status, change.To, allowed)
	}
	r.Status, r.Version, r.UpdatedAt = change.To, r.Version+1, now
	switch change.To {
	case ReservationConfirmed:
		r.ConfirmedBy, r.ConfirmedAt = &ReservationActor{change.By.Realm, change.By.ID}, &now
	case ReservationCancelled:
		r.CancellationReason = &change.Reason
	}
	return r, nil
}

// CheckBookingWindow returns OUTSIDE_BOOKING_WINDOW when a reservation that begins at start
// must not be made at now: too late before it, or too many days in the store's zone. It holds
// for everybody, whoever makes the reservation.
func (s Settings) CheckBookingWindow(now, start time.Time) error {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return err
	}
	earliest := now.Add(time.Duration(s.BookingLeadMinutes) * time.Minute)
	latest := now.In(zone).AddDate(0, 0, s.BookingMaxDays)
	if start.Before(earliest) || start.After(latest) {
		e := Invalid("startAt", "must lie between "+At(earliest).String()+" and "+At(latest).String())
		e.Code, e.Message = CodeOutsideBookingWindow, e.Details[0].Path+" "+e.Details[0].Message
		return e
	}
	return nil
}

// Seated is who holds seats from Start on, until End.
type Seated struct {
	Start, End time.Time
	PartySize  int
}

// PeakCovers returns how many guests there are at most at once. Of parties that all overlap
// some time, it is within that time: parties that are there together at all are so in it.
func PeakCovers(parties []Seated) int {
	type step struct {
		at     time.Time
		guests int
	}
	steps := make([]step, 0, 2*len(parties))
	for _, p := range parties {
		steps = append(steps, step{p.Start, p.PartySize}, step{p.End, -p.PartySize})
	}
	slices.SortFunc(steps, func(a, b step) int { // who leaves makes room for who comes
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.guests, b.guests))
	})
	peak, guests := 0, 0
	for _, s := range steps {
		guests += s.guests
		peak = max(peak, guests)
	}
	return peak
}

// ReservationFilter narrows a list of reservations; zero values narrow nothing.
type ReservationFilter struct {
	Statuses   []ReservationStatus // any of them
	From       *Time               // begins at that time or later
	To         *Time               // begins before that time
	Date       string              // YYYY-MM-DD: begins on that day in the store's zone
	Overlaps   string              // YYYY-MM-DD: begins or goes on that day in the store's zone
	CustomerID CustomerID
	Query      string // how the name, the last name, the e-mail address or the phone number begins, in any case
}
