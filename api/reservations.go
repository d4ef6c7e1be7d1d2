package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations of reservations.
var (
	createReservation = handle("createReservation", (*Server).createReservation,
		app.CodeSlotFull, app.CodeOutsideBookingWindow, app.CodeStoreClosed, app.CodeConflict)
	listReservations  = handle("listReservations", (*Server).reservations)
	getReservation    = handle("getReservation", (*Server).reservation)
	updateReservation = handle("updateReservation", (*Server).changeReservation,
		app.CodeInvalidTransition, app.CodeSlotFull, app.CodeOutsideBookingWindow, app.CodeStoreClosed,
		app.CodeConflict)
	eraseReservation        = handle("eraseReservation", (*Server).eraseReservation, app.CodeConflict)
	updateReservationStatus = handle("updateReservationStatus", (*Server).changeReservationStatus,
		app.CodeInvalidTransition)
)

type reservationOut struct {
	app.Reservation
	AllowedTransitions []app.ReservationStatus `json:"allowedTransitions"`
}

func reservationFor(c *call, r app.Reservation) reservationOut {
	out := reservationOut{Reservation: r}
	if c.principal.Can(app.WriteReservations) == nil {
		out.AllowedTransitions = r.Transitions(c.now)
	}
	return out
}

type createReservationIn struct {
	StoreID         app.StoreID       `json:"storeId" validate:"omitempty,id"`
	CustomerID      app.CustomerID    `json:"customerId" validate:"omitempty,id"`
	Customer        *guestIn          `json:"customer"`
	PartySize       int               `json:"partySize" validate:"required,partysize"`
	StartAt         *app.Time         `json:"startAt" validate:"required"`
	DurationMinutes *int              `json:"durationMinutes" validate:"omitempty,stay"`
	Notes           string            `json:"notes" validate:"reservationnote"`
	TableLabel      string            `json:"tableLabel" validate:"omitempty,notblank,tablelabel"`
	ExternalID      string            `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata        map[string]string `json:"metadata" validate:"metadata"`
}

func (in createReservationIn) check() []app.Detail {
	return checkGuest(in.CustomerID, in.Customer)
}

func (in createReservationIn) reservation() app.NewReservation {
	wanted := app.NewReservation{
		CustomerID: in.CustomerID, PartySize: in.PartySize, StartAt: *in.StartAt, Notes: in.Notes,
		TableLabel: in.TableLabel, ExternalID: in.ExternalID, Metadata: in.Metadata,
	}
	if in.Customer != nil {
		wanted.Guest = app.ReservationCustomer{
			Name: in.Customer.Name, Email: in.Customer.Email, Phone: in.Customer.Phone,
		}
	}
	patch(&wanted.Minutes, in.DurationMinutes)
	return wanted
}

func (s *Server) createReservation(ctx context.Context, c *call, in createReservationIn) (reservationOut, error) {
	wanted := in.reservation()
	wanted.By = c.actor()
	made, err := s.db.Reserve(ctx, c.now, c.principal.StoreID, wanted, c.once)
	return reservationFor(c, made), err
}

type reservationsIn struct {
	storeParam
	Status       []app.ReservationStatus `query:"status" validate:"max=10,dive,enum"`
	From         *app.Time               `query:"from"`
	To           *app.Time               `query:"to"`
	UpdatedSince *app.Time               `query:"updatedSince"`
	Date         string                  `query:"date" validate:"omitempty,date"`
	Overlaps     string                  `query:"overlapsDate" validate:"omitempty,date"`
	CustomerID   app.CustomerID          `query:"customerId" validate:"omitempty,id"`
	ExternalID   string                  `query:"externalId" validate:"externalid"`
	Query        string                  `query:"q" validate:"search"`
	pageParams
}

func (in reservationsIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) reservations(
	ctx context.Context, c *call, in reservationsIn,
) (list[reservationOut, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[reservationOut, cursorMeta]{}, err
	}
	filter := app.ReservationFilter{
		Statuses: in.Status, From: in.From, To: in.To, Date: in.Date, Overlaps: in.Overlaps, CustomerID: in.CustomerID,
		UpdatedSince: in.UpdatedSince, ExternalID: in.ExternalID, Query: in.Query,
	}
	found, more, err := s.db.Reservations(ctx, c.principal.StoreID, filter, timeCursor(position), in.page())
	rows := make([]reservationOut, len(found))
	for i, r := range found {
		rows[i] = reservationFor(c, r)
	}
	return listPage(s, c, rows, in.Limit, more, func(r reservationOut) string {
		return timePosition(r.StartAt, string(r.ID))
	}), err
}

type reservationIn struct {
	ID app.ReservationID `path:"id"`
}

func (s *Server) reservation(ctx context.Context, c *call, in reservationIn) (reservationOut, error) {
	r, err := s.db.Reservation(ctx, c.principal.StoreID, in.ID)
	return reservationFor(c, r), err
}

// eraseReservation replaces the personal data of a reservation.
func (s *Server) eraseReservation(ctx context.Context, c *call, in reservationIn) (nothing, error) {
	return nothing{}, s.db.EraseReservation(ctx, c.now, c.principal.StoreID, c.actor(), in.ID)
}

type changeReservationIn struct {
	ID              app.ReservationID `path:"id"`
	IfMatch         etag              `header:"If-Match"`
	PartySize       *int              `json:"partySize" validate:"omitempty,partysize"`
	StartAt         *app.Time         `json:"startAt"`
	DurationMinutes *int              `json:"durationMinutes" validate:"omitempty,stay"`
	Notes           nullable[string]  `json:"notes" validate:"omitempty,reservationnote"`
	TableLabel      nullable[string]  `json:"tableLabel" validate:"omitempty,notblank,tablelabel"`
	ExternalID      nullable[string]  `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata        metadataPatch     `json:"metadata" validate:"metadatapatch"`
}

// apply applies the merge patch to a reservation.
func (in changeReservationIn) apply(r *app.Reservation) error {
	patch(&r.PartySize, in.PartySize)
	patch(&r.StartAt, in.StartAt)
	patch(&r.Minutes, in.DurationMinutes)
	r.EndAt = app.At(r.StartAt.Add(time.Duration(r.Minutes) * time.Minute))
	patchOrClear(&r.Notes, in.Notes)
	patchOrClear(&r.TableLabel, in.TableLabel)
	patchOrClear(&r.ExternalID, in.ExternalID)
	r.Metadata = patchEach(r.Metadata, in.Metadata, sameText)
	if faults := checkMetadata(r.Metadata); faults != nil {
		return app.InvalidAll(faults)
	}
	return nil
}

func (s *Server) changeReservation(ctx context.Context, c *call, in changeReservationIn) (reservationOut, error) {
	r, err := s.db.ChangeReservation(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.IfMatch.version(),
		in.apply)
	return reservationFor(c, r), err
}

type changeReservationStatusIn struct {
	ID                 app.ReservationID     `path:"id"`
	IfMatch            etag                  `header:"If-Match"`
	Status             app.ReservationStatus `json:"status" validate:"required,enum"`
	CancellationReason string                `json:"cancellationReason" validate:"omitempty,notblank,reason"`
}

func (in changeReservationStatusIn) check() []app.Detail {
	if in.Status != app.ReservationCancelled && in.CancellationReason != "" {
		return []app.Detail{{Path: "cancellationReason", Message: "is only allowed for CANCELLED"}}
	}
	return nil
}

func (s *Server) changeReservationStatus(
	ctx context.Context, c *call, in changeReservationStatusIn,
) (reservationOut, error) {
	change := app.ReservationStatusChange{To: in.Status, Reason: in.CancellationReason, By: c.actor()}
	r, err := s.db.ChangeReservationStatus(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change)
	return reservationFor(c, r), err
}
