package app

import (
	"cmp"
	"slices"
	"time"
)

// ReservationStatus is the status of a reservation (docs/behaviour.md#reservations).
type ReservationStatus string

const (
	ReservationPending   ReservationStatus = "PENDING"
	ReservationConfirmed ReservationStatus = "CONFIRMED"
	ReservationCancelled ReservationStatus = "CANCELLED"
	ReservationCompleted ReservationStatus = "COMPLETED"
	ReservationNoShow    ReservationStatus = "NO_SHOW"
)

// reservationTransitions maps each status to the possible next ones. PENDING and CONFIRMED reservations occupy seats;
// the other statuses are final.
var reservationTransitions = map[ReservationStatus][]ReservationStatus{
	ReservationPending:   {ReservationConfirmed, ReservationCancelled},
	ReservationConfirmed: {ReservationCancelled, ReservationCompleted, ReservationNoShow},
}

// Transitions returns the statuses that a reservation can have next, never nil.
func (s ReservationStatus) Transitions() []ReservationStatus {
	return append([]ReservationStatus{}, reservationTransitions[s]...)
}

// Limits of a reservation.
const (
	MaxPartySize          = 500
	MinReservationMinutes = 15
	MaxReservationMinutes = 24 * 60
)

// Reservation is a table reservation as seen by clients and subscribers (docs/behaviour.md#reservations).
type Reservation struct {
	ID          ReservationID       `json:"id"`
	StoreID     StoreID             `json:"storeId"`
	Status      ReservationStatus   `json:"status"`
	Customer    ReservationCustomer `json:"customer"`
	PartySize   int                 `json:"partySize"`
	StartAt     Time                `json:"startAt"`
	EndAt       Time                `json:"endAt"` // exclusive
	Minutes     int                 `json:"durationMinutes"`
	Timezone    string              `json:"timezone"` // IANA name of the store's time zone
	Notes       string              `json:"notes"`
	TableLabel  string              `json:"tableLabel"`            // empty until a table is assigned
	ConfirmedBy *ReservationActor   `json:"confirmedBy,omitempty"` // absent until the reservation is confirmed
	ConfirmedAt *Time               `json:"confirmedAt,omitempty"`
	// only for a cancelled reservation; empty if no reason was given
	CancellationReason *string `json:"cancellationReason,omitzero"`
	ExternalID         string  `json:"externalId,omitempty"`
	// Customers do not see it.
	Metadata  map[string]string `json:"metadata,omitzero"`
	Version   int64             `json:"version"`
	CreatedAt Time              `json:"createdAt"`
	UpdatedAt Time              `json:"updatedAt"`
}

// Own returns the reservation as its customer may see it: without the references of integrations.
func (r Reservation) Own() Reservation {
	r.ExternalID, r.Metadata = "", nil
	return r
}

// ReservationCustomer is a snapshot of the guest, taken when the reservation is made.
type ReservationCustomer struct {
	ID    *CustomerID `json:"id"` // null if the guest is not a customer of the store
	Name  string      `json:"name"`
	Email string      `json:"email"`
	Phone string      `json:"phone"`
}

// ReservationActor is the user or API key that confirmed a reservation.
type ReservationActor struct {
	Realm Realm  `json:"realm"`
	ID    string `json:"id"` // of the user or the API key
}

// NewReservation is the input for making a reservation.
type NewReservation struct {
	CustomerID CustomerID // a known customer; "" = Guest
	Guest      ReservationCustomer
	PartySize  int
	StartAt    Time
	Minutes    int // duration; 0 = the store's default
	Notes      string
	TableLabel string
	ExternalID string
	Metadata   map[string]string
	By         Actor
}

// ReservationStatusChange is a requested change of a reservation's status.
type ReservationStatusChange struct {
	To     ReservationStatus
	Reason string // optional; only for a cancellation
	By     Actor
}

// Transitions returns the statuses that the reservation can have next at a time, never nil. It cannot be completed or
// missed before it begins.
func (r Reservation) Transitions(now time.Time) []ReservationStatus {
	return slices.DeleteFunc(r.Status.Transitions(), func(to ReservationStatus) bool {
		return (to == ReservationCompleted || to == ReservationNoShow) && now.Before(r.StartAt.Time)
	})
}

// Moved returns the reservation after a change of its status. A change to the current status returns it unchanged. It
// returns INVALID_TRANSITION if the reservation cannot have the status next, or not yet.
func (r Reservation) Moved(change ReservationStatusChange, now Time) (Reservation, error) {
	if change.To == r.Status {
		return r, nil
	}
	if allowed := r.Transitions(now.Time); !slices.Contains(allowed, change.To) {
		e := InvalidTransition(r.Status, change.To, allowed)
		if slices.Contains(r.Status.Transitions(), change.To) {
			e.Message += " before its start, " + r.StartAt.String()
		}
		return r, e
	}
	r.Status, r.Version, r.UpdatedAt = change.To, r.Version+1, r.UpdatedAt.OrLater(now)
	switch change.To {
	case ReservationConfirmed:
		r.ConfirmedBy, r.ConfirmedAt = &ReservationActor{change.By.Realm, change.By.ID}, &now
	case ReservationCancelled:
		r.CancellationReason = &change.Reason
	}
	return r, nil
}

// CheckEditable returns INVALID_TRANSITION if the reservation has ended: its time, party and notes are then final.
func (r Reservation) CheckEditable() error {
	if r.Status == ReservationPending || r.Status == ReservationConfirmed {
		return nil
	}
	e := InvalidTransition(r.Status, r.Status, r.Status.Transitions())
	e.Message = "a reservation in status " + string(r.Status) + " cannot be edited"
	return e
}

// Within reports whether the reservation takes no seat that the other one does not take.
func (r Reservation) Within(other Reservation) bool {
	return r.PartySize <= other.PartySize && !r.StartAt.Before(other.StartAt.Time) && !r.EndAt.After(other.EndAt.Time)
}

// Seated is a party that occupies seats from Start (inclusive) to End (exclusive).
type Seated struct {
	Start, End time.Time
	PartySize  int
}

// PeakCovers returns the maximum number of guests present at the same time. If all parties overlap a given period, the
// maximum occurs within that period, since intervals that overlap pairwise have a common point.
func PeakCovers(parties []Seated) int {
	type step struct {
		at     time.Time
		guests int
	}
	steps := make([]step, 0, 2*len(parties))
	for _, p := range parties {
		steps = append(steps, step{p.Start, p.PartySize}, step{p.End, -p.PartySize})
	}
	slices.SortFunc(steps, func(a, b step) int { // a party that leaves frees its seats for one that arrives then
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.guests, b.guests))
	})
	peak, guests := 0, 0
	for _, s := range steps {
		guests += s.guests
		peak = max(peak, guests)
	}
	return peak
}

// ReservationFilter narrows a list of reservations. A zero value does not narrow it.
type ReservationFilter struct {
	Statuses []ReservationStatus // any of these
	From     *Time               // begins at this time or later
	To       *Time               // begins before this time
	// UpdatedSince is the time of the oldest change.
	UpdatedSince *Time
	Date         string // YYYY-MM-DD: begins on this day in the store's time zone
	Overlaps     string // YYYY-MM-DD: overlaps this day in the store's time zone
	CustomerID   CustomerID
	ExternalID   string
	Query        string // prefix of the guest's name, last name, email or phone number; case-insensitive
}
